//! Line numbers of tools.

/// More digits than this number no line: they are an id or a time.
const MOST_DIGITS: usize = 7;

/// Separators of a line number from its line: the arrow of file readers, the tab of `cat -n` (also as JSON writes it) and the
/// colon of `grep -n`.
const ARROW: &[u8] = "→".as_bytes();
const TABS: [&[u8]; 2] = [b"\t", b"\\t"];
const COLON: &[u8] = b":";

/// A line without the number of a tool before it: `  12→`, `12:`, or a number and a tab. O(1) except for the
/// space before the number.
///
/// A colon and a further digit are a time of day or a place, not the number of a line.
pub fn strip_line_number(line: &str) -> &str {
    &line[prefix(line.as_bytes())..]
}

/// The length of the number before the line that `bytes` begin with.
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
