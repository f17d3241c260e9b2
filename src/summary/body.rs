//! The text behind the note about removed messages: a summary, and lines of the messages.

use std::borrow::Cow;

use crate::digest::{ACCOUNT, continued, looks_like_heading, split_account};
use crate::store::MARK;
use crate::text::ends_line;

/// A line with words of the user begins with it.
pub(super) const USER: &str = "• User:";

/// The line in front of a summary. By it the next summary tells the summary from lines that are kept.
const SUMMARY: &str = "Summary of them:";

/// The line in front of the lines behind a summary.
pub const LINES: &str = "Lines of them with what the summary leaves out:";

/// The beginning of a line that is quoted.
const QUOTED: &str = "> ";

/// Beginnings of ullage's own lines.
const OURS: [&str; 5] = [MARK, SUMMARY, LINES, ACCOUNT, USER];

/// The body of a note: a summary or an account, and digests of the messages; what is empty is left out.
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

/// Digests of one plan as one; what is empty is left out.
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

/// A summary in which no line is taken for the end of the summary.
fn without_heading(summary: &str) -> Cow<'_, str> {
    if !summary.contains(LINES) {
        return Cow::Borrowed(summary);
    }
    let line = |line: &str| if line.trim() == LINES { format!("{QUOTED}{line}") } else { line.to_owned() };
    Cow::Owned(summary.lines().map(line).collect::<Vec<_>>().join("\n"))
}

/// The answer of a summarizer, in which no line passes for one of ours: for a note, for a heading, for the beginning of an
/// account or for what the user said there. Such a line is quoted. O(length).
pub fn quoted(answer: &str) -> String {
    let line = |line: &str| {
        let bare = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '[');
        let begins = |ours: &&str| bare.starts_with(ours) || line.trim_start().starts_with(ours);
        let is_ours = OURS.iter().any(begins) || looks_like_heading(line);
        if is_ours && !line.starts_with(QUOTED) { format!("{QUOTED}{line}") } else { line.to_owned() }
    };
    answer.replace("\r\n", "\n").split(ends_line).map(line).collect::<Vec<_>>().join("\n")
}

/// The summary or the account in the body of a note, and the lines in it; each empty where there is none.
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
