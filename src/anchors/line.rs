//! Removes the line numbers that tools print.

/// A longer number is an id or a time, not a line number.
const MOST_DIGITS: usize = 7;

/// The separators between a line number and its line: the arrow of file readers, the tab of `cat -n` (also escaped, as
/// in JSON) and the colon of `grep -n`.
const ARROW: &[u8] = "→".as_bytes();
const TABS: [&[u8]; 2] = [b"\t", b"\\t"];
const COLON: &[u8] = b":";

/// Returns a line without the line number that a tool printed before it: `  12→`, `12:`, or a number and a tab. O(1)
/// except for the space before the number.
///
/// A number, a colon and another digit are a time of day or a place, not a line number.
pub fn strip_line_number(line: &str) -> &str {
    &line[prefix(line.as_bytes())..]
}

/// Returns the length of the line number at the beginning of `bytes`, or 0.
pub(super) fn prefix(bytes: &[u8]) -> usize {
    let indent = bytes.iter().take_while(|byte| **byte == b' ').count();
    let digits = bytes[indent..].iter().take(MOST_DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
    let number = indent + digits;
    let rest = &bytes[number..];
    let mark = if digits == 0 || digits > MOST_DIGITS {
        None
    } else if rest.starts_with(COLON) {
        (!rest.get(COLON.len()).is_some_and(u8::is_ascii_digit)).then_some(COLON)
    } else {
        TABS.into_iter().chain([ARROW]).find(|mark| rest.starts_with(mark))
    };
    mark.map_or(0, |mark| number + mark.len())
}
