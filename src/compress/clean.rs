//! Removes text that nobody reads: escape sequences, overwritten progress bars, long encoded data.
//!
//! Line numbers do not change.

use std::borrow::Cow;
use std::fmt::Write;

use regex::Regex;

use crate::numbers::thousands;
use crate::shared::Lazy;

/// Encoded data of at least this many characters is described instead of shown. Hashes, keys and tokens that a model
/// may need to repeat are shorter.
const LONG_DATA: usize = 256;

/// ECMA-48 control sequences and operating system commands (colours, cursor movement, titles, links).
static ESCAPES: Lazy<Regex> = Lazy::new(|| {
    Regex::new(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[PX^_][^\x1b\n]*(?:\x1b\\)?|[ -/]*[0-~])|[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
        .expect("a fixed pattern compiles")
});

/// Returns `text` as a terminal would show it. Borrowed if there is nothing to change. O(length).
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if has_control(text.as_bytes()) {
        text = Cow::Owned(ESCAPES.replace_all(&text, "").into_owned());
    }
    if text.contains('\r') {
        text = Cow::Owned(overwritten(&text));
    }
    match without_data(&text) {
        Some(shorter) => Cow::Owned(shorter),
        None => text,
    }
}

fn has_control(bytes: &[u8]) -> bool {
    /// Bytes that are checked at once without a branch for each byte, which is several times faster.
    const BLOCK: usize = 1_024;
    let is_control = |byte: u8| byte < b' ' && !matches!(byte, b'\n' | b'\t' | b'\r');
    bytes.chunks(BLOCK).any(|block| block.iter().fold(false, |found, byte| found | is_control(*byte)))
}

/// Returns each line from its last carriage return on. A carriage return at the end of a line is part of the line end.
fn overwritten(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (body, end) = match line.strip_suffix('\n') {
            Some(body) => (body.trim_end_matches('\r'), "\n"),
            None => (line.trim_end_matches('\r'), ""),
        };
        out.push_str(body.rsplit('\r').next().unwrap_or(body));
        out.push_str(end);
    }
    out
}

/// Returns the text with a description of each long run of base64 or hexadecimal digits; `None` if there is none.
fn without_data(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out: Option<String> = None;
    let (mut copied, mut at) = (0, 0);
    // A run of LONG_DATA bytes always contains a multiple of LONG_DATA, so checking those positions finds every run.
    while at + LONG_DATA <= bytes.len() {
        let probe = at + LONG_DATA - 1;
        let Some(break_at) = (at..=probe).rev().find(|i| !is_data(bytes[*i])) else {
            let end = probe + bytes[probe..].iter().take_while(|byte| is_data(**byte)).count();
            let start = at + end_of_escape(&bytes[..at], &bytes[at..end]);
            if let Some(name) = name_of_data(&bytes[start..end]) {
                let out = out.get_or_insert_default();
                out.push_str(&text[copied..start]);
                // Writing to a string cannot fail.
                let _ = write!(out, "[{name}, {} characters]", thousands(end - start));
                copied = end;
            }
            at = end;
            continue;
        };
        at = break_at + 1;
    }
    let mut out = out?;
    out.push_str(&text[copied..]);
    Some(out)
}

/// Returns the length of the part of `run` that belongs to an escape begun at the end of `before`, such as `\n` or
/// `\u00e9` in JSON.
fn end_of_escape(before: &[u8], run: &[u8]) -> usize {
    let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
    match run {
        _ if backslashes % 2 == 0 => 0,
        [b'u', ..] => 5,
        _ => 1,
    }
}

fn is_data(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

/// Names the kind of data. `None` for a long word, a rule of dashes or a path, which are not data.
fn name_of_data(run: &[u8]) -> Option<&'static str> {
    let count = |is: fn(&u8) -> bool| run.iter().filter(|byte| is(byte)).count();
    let (digits, lower, upper) =
        (count(u8::is_ascii_digit), count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase));
    // Random data has every class of digit. Text that people write without spaces does not.
    if run.iter().all(u8::is_ascii_hexdigit) {
        return (digits * 4 > run.len() && digits < run.len()).then_some("hexadecimal data");
    }
    let share = run.len() / 20;
    (digits > share && lower > share && upper > share).then_some("base64 data")
}
