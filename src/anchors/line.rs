//! Removes the line numbers that tools print.

/// A longer number is an id or a time, not a line number.
const MOST_DIGITS: usize = 7;

/// The arrow that file readers print between a line number and its line.
const ARROW: &[u8] = "→".as_bytes();

/// Returns a line without the line number that a tool printed before it: `  12→`, `12:`, or a number and a tab. O(1)
/// except for the space before the number.
///
/// A number, a colon and another digit are a time of day or a place, not a line number.
pub fn strip_line_number(line: &str) -> &str {
    &line[prefix(line.as_bytes())..]
}

/// Returns the length of the line number at the beginning of `bytes`, with its separator, or 0. A separator is an arrow, the
/// tab of `cat -n` (also escaped, as in JSON) or the colon of `grep -n`.
pub(super) fn prefix(bytes: &[u8]) -> usize {
    let indent = bytes.iter().take_while(|byte| **byte == b' ').count();
    let digits = bytes[indent..].iter().take(MOST_DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
    let number = indent + digits;
    let rest = &bytes[number..];
    let mark = match rest {
        _ if digits == 0 || digits > MOST_DIGITS => 0,
        [b':', after, ..] if after.is_ascii_digit() => 0,
        [b':' | b'\t', ..] => 1,
        [b'\\', b't', ..] => 2,
        _ if rest.starts_with(ARROW) => ARROW.len(),
        _ => 0,
    };
    if mark == 0 { 0 } else { number + mark }
}
