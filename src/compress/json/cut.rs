//! Shortens long strings, both JSON source and decoded text.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use crate::compress::failure_words::failure_words;
use crate::compress::gap::push_errors;
use crate::numbers::thousands;

/// The end of a cut string, after `... ` and the number of missing bytes.
pub(super) const BYTES_MARK: &str = " more bytes";

/// A string with more bytes is cut. Paths, names, links and sentences are shorter; bodies of text are longer.
const LONGEST: usize = 240;

/// Number of bytes kept at the beginning of a cut string.
const FRONT: usize = 120;

/// Number of bytes kept before and after a word that reports a failure.
const BEFORE_ALARM: usize = 40;
const BEHIND_ALARM: usize = 100;

/// Number of failures of one string that are shown. The others are counted.
const MOST_ALARMS: usize = 3;

/// Returns a string, cut if it is long: its beginning, the failures in it, and the number of missing bytes. `inside` is
/// the source between the quotes of a JSON string, or other text without control characters. O(length) if it is long.
pub(in crate::compress) fn shortened(inside: &str) -> Cow<'_, str> {
    if inside.len() <= LONGEST {
        return Cow::Borrowed(inside);
    }
    let mut windows: Vec<Range<usize>> = std::iter::once(0..whole_before(inside, FRONT)).collect();
    let (mut shown, mut counted) = (0, 0);
    for at in failure_words(inside) {
        let last = windows.len() - 1;
        if windows[last].end > at + BEFORE_ALARM / 2 {
            continue;
        }
        if shown == MOST_ALARMS {
            counted += 1;
            continue;
        }
        shown += 1;
        let start = whole_before(inside, at.saturating_sub(BEFORE_ALARM));
        let end = whole_before(inside, (at + BEHIND_ALARM).min(inside.len()));
        if start <= windows[last].end {
            windows[last].end = end;
        } else {
            windows.push(start..end);
        }
    }
    let mut out = String::with_capacity(LONGEST);
    let mut kept = 0;
    for window in windows {
        if window.start > 0 {
            out.push_str(" ... ");
        }
        kept += window.len();
        out.push_str(&inside[window]);
    }
    // Writing to a string cannot fail.
    let _ = write!(out, "... {}{BYTES_MARK}", thousands(inside.len() - kept));
    push_errors(&mut out, counted);
    if out.len() < inside.len() { Cow::Owned(out) } else { Cow::Borrowed(inside) }
}

/// Returns the last place at or before `at` that is not inside a character, an escape or a pair of escapes.
fn whole_before(text: &str, at: usize) -> usize {
    let mut at = text.floor_char_boundary(at);
    loop {
        let before = escape_around(text.as_bytes(), at);
        match before {
            Some(start) => at = start,
            None => return at,
        }
    }
}

/// Returns the start of the escape around `at`, if there is one.
fn escape_around(bytes: &[u8], at: usize) -> Option<usize> {
    /// Two escapes of six bytes form a character outside the basic plane.
    const LONGEST_ESCAPE: usize = 12;
    if at == bytes.len() {
        return None;
    }
    let last = (at.saturating_sub(LONGEST_ESCAPE)..at).rev().find(|place| bytes[*place] == b'\\')?;
    let run = bytes[..=last].iter().rev().take_while(|byte| **byte == b'\\').count();
    // In a run of even length, the last backslash is escaped itself.
    if run % 2 == 0 {
        return None;
    }
    let length = match bytes[last + 1..] {
        [b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B', ..] => LONGEST_ESCAPE,
        [b'u', ..] => LONGEST_ESCAPE / 2,
        _ => 2,
    };
    (last + length > at).then_some(last)
}

/// Returns `json` without the spaces between its values. O(length).
pub(in crate::compress) fn compact(json: &str) -> Cow<'_, str> {
    if !json.contains([' ', '\n', '\r', '\t']) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    let (mut rest, mut inside) = (json, false);
    while !rest.is_empty() {
        // Up to the next quote: text outside a string, or inside one with its escapes.
        let end = if inside { end_of_string(rest.as_bytes()) } else { rest.find('"').unwrap_or(rest.len()) };
        if inside {
            out.push_str(&rest[..end]);
        } else {
            out.extend(rest[..end].split([' ', '\n', '\r', '\t']));
        }
        rest = &rest[end..];
        if let Some(behind) = rest.strip_prefix('"') {
            out.push('"');
            rest = behind;
            inside = !inside;
        }
    }
    Cow::Owned(out)
}

/// Returns the end of the string that `bytes` continue.
fn end_of_string(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}
