//! What stands behind the note about removed messages: a summary, and lines of the messages.

/// What a summary stands behind, so that the next one tells it from lines that are kept.
const SUMMARY: &str = "Summary of them:";

/// What the lines behind a summary stand behind.
pub const LINES: &str = "Lines of them with what the summary leaves out:";

/// The body of a note: a summary, and texts with lines of the messages; what is empty is left out.
pub fn body(summary: &str, lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().copied().filter(|text| !text.is_empty()).collect();
    match (summary.is_empty(), lines.is_empty()) {
        (true, _) => lines.join("\n"),
        (false, true) => format!("{SUMMARY}\n{summary}"),
        (false, false) => format!("{SUMMARY}\n{summary}\n\n{LINES}\n{}", lines.join("\n")),
    }
}

/// The summary in the body of a note, and the lines in it; each empty where there is none.
pub fn parts(body: &str) -> (&str, &str) {
    let Some(summary) = body.trim_start().strip_prefix(SUMMARY) else { return ("", body.trim()) };
    let heading = summary
        .match_indices(LINES)
        .find(|(at, _)| summary[..*at].ends_with('\n') && summary[at + LINES.len()..].starts_with('\n'));
    match heading {
        Some((at, _)) => (summary[..at].trim(), summary[at + LINES.len()..].trim()),
        None => (summary.trim(), ""),
    }
}
