//! Shows lines with their numbers, up to a limit.

use std::collections::VecDeque;

use regex::Regex;

use super::selection::Selection;
use crate::numbers::thousands;

/// Only the matches in a longer line are shown, with the text around them.
const LONG_LINE: usize = 2_000;

/// Number of bytes shown on each side of a match in a long line: about two lines of text.
const AROUND: usize = 200;

/// The end of a long selection that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    First,
    Last,
}

/// Returns the beginning of a text, up to `limit` characters.
pub(super) fn beginning(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => {
            let rest = thousands(text[end..].chars().count());
            format!("{}\n[... {rest} characters more; ask for lines or a pattern]", &text[..end])
        }
    }
}

/// Returns the selected lines of `text` with their numbers, up to `limit` characters. Reads no further than it shows.
pub(super) fn numbered(text: &str, selection: &Selection, limit: usize, regex: Option<&Regex>, end: End) -> String {
    let entry = |index: usize, line: &str, left: usize| match regex {
        Some(regex) if line.len() > LONG_LINE => format!("{}: {}\n", index + 1, excerpts(line, regex, left)),
        _ => format!("{}: {line}\n", index + 1),
    };
    match end {
        End::First => first(text, selection, limit, entry),
        End::Last => last(text, selection, limit, entry),
    }
}

fn first(text: &str, selection: &Selection, limit: usize, entry: impl Fn(usize, &str, usize) -> String) -> String {
    let mut out = String::new();
    let mut left = limit;
    let mut wanted = selection.iter().peekable();
    for (index, line) in text.lines().enumerate() {
        let Some(next) = wanted.peek() else { break };
        if *next != index {
            continue;
        }
        wanted.next();
        let entry = entry(index, line, left);
        let size = entry.chars().count();
        if size > left {
            out.extend(entry.chars().take(left));
            out.push_str("\n[... more; ask for fewer lines, or for a pattern]");
            break;
        }
        left -= size;
        out.push_str(&entry);
    }
    out
}

fn last(text: &str, selection: &Selection, limit: usize, entry: impl Fn(usize, &str, usize) -> String) -> String {
    let mut out = VecDeque::new();
    let mut left = limit;
    let mut wanted = selection.iter().rev().peekable();
    let total = text.lines().count();
    for (index, line) in (0..total).rev().zip(text.lines().rev()) {
        let Some(next) = wanted.peek() else { break };
        if *next != index {
            continue;
        }
        wanted.next();
        let entry = entry(index, line, left);
        let size = entry.chars().count();
        if size > left {
            out.push_front(entry.chars().skip(size - left).collect());
            out.push_front("[... more before; ask for fewer lines, or for a pattern]\n".to_owned());
            break;
        }
        left -= size;
        out.push_front(entry);
    }
    out.into_iter().collect()
}

/// Returns the text around the matches in a long line, such as a JSON result or a message of a transcript; the line
/// itself if nothing in it matches. Stops once `limit` bytes are found.
fn excerpts(line: &str, regex: &Regex, limit: usize) -> String {
    let mut out = String::new();
    let mut shown = 0;
    for found in regex.find_iter(line) {
        let start = line.floor_char_boundary(found.start().saturating_sub(AROUND)).max(shown);
        let end = line.ceil_char_boundary(found.end().saturating_add(AROUND).min(line.len())).max(start);
        if start > shown {
            out.push_str("[...]");
        }
        out.push_str(&line[start..end]);
        shown = end;
        if out.len() > limit {
            break;
        }
    }
    match shown {
        0 => line.to_owned(),
        shown if shown < line.len() => out + "[...]",
        _ => out,
    }
}
