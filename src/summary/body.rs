//! The text of the note about removed messages: a summary, and lines of the messages.

use std::borrow::Cow;

use crate::digest::{ACCOUNT, continued, looks_like_heading, split_account};
use crate::store::MARK;
use crate::text::ends_line;

/// The beginning of a line with words of the user.
pub(super) const USER: &str = "• User:";

/// The line before a summary. It distinguishes the summary from kept lines when the next summary is written.
const SUMMARY: &str = "Summary of them:";

/// The line before the lines after a summary.
pub const LINES: &str = "Lines from these messages that the summary leaves out:";

/// The beginning of a quoted line.
const QUOTED: &str = "> ";

/// Beginnings of ullage's own lines.
const OURS: [&str; 5] = [MARK, SUMMARY, LINES, ACCOUNT, USER];

/// Returns the body of a note: a summary or an account, and digests of the messages. Empty parts are left out.
pub fn body(summary: &str, digests: &[&str]) -> String {
    let lines = joined(digests.iter().copied());
    if summary.starts_with(ACCOUNT) {
        return [summary, &lines].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    }
    let summary = without_heading(summary);
    match (summary.is_empty(), lines.is_empty()) {
        (true, _) => lines,
        (false, true) => format!("{SUMMARY}\n{summary}"),
        (false, false) => format!("{SUMMARY}\n{summary}\n\n{LINES}\n{lines}"),
    }
}

/// Joins the digests of one plan. Empty ones are left out.
pub fn joined<'a>(digests: impl Iterator<Item = &'a str>) -> String {
    let mut all = String::new();
    for digest in digests.filter(|digest| !digest.is_empty()) {
        if all.is_empty() {
            all.push_str(digest);
        } else {
            let lines = continued(digest, &all);
            all = format!("{all}\n{lines}");
        }
    }
    all
}

/// Returns a summary in which no line can be taken for its end.
fn without_heading(summary: &str) -> Cow<'_, str> {
    if !summary.contains(LINES) {
        return Cow::Borrowed(summary);
    }
    let line = |line: &str| if line.trim() == LINES { format!("{QUOTED}{line}") } else { line.to_owned() };
    Cow::Owned(summary.lines().map(line).collect::<Vec<_>>().join("\n"))
}

/// Returns the answer of a summarizer, with every line quoted that could pass for one of ullage: a note, a heading, the
/// beginning of an account, or words of the user. O(length).
pub fn quoted(answer: &str) -> String {
    let line = |line: &str| {
        let bare = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '[');
        let begins = |ours: &&str| bare.starts_with(ours) || line.trim_start().starts_with(ours);
        let is_ours = OURS.iter().any(begins) || looks_like_heading(line);
        if is_ours && !line.starts_with(QUOTED) { format!("{QUOTED}{line}") } else { line.to_owned() }
    };
    answer.replace("\r\n", "\n").split(ends_line).map(line).collect::<Vec<_>>().join("\n")
}

/// Splits the body of a note into its summary or account, and its lines. Either may be empty.
pub fn parts(body: &str) -> (&str, &str) {
    let body = body.trim();
    if body.starts_with(ACCOUNT) {
        return split_account(body);
    }
    let Some(summary) = body.strip_prefix(SUMMARY) else { return ("", body) };
    let heading = summary
        .match_indices(LINES)
        .find(|(at, _)| summary[..*at].ends_with('\n') && summary[at + LINES.len()..].starts_with('\n'));
    match heading {
        Some((at, _)) => (summary[..at].trim(), summary[at + LINES.len()..].trim()),
        None => (summary.trim(), ""),
    }
}
