//! Lines of a text, and slices of lines that are too long to be kept or left out as a whole.

use memchr::memmem;

/// Returns the end of a slice of about `size` bytes from `start`, in a line that ends at `end`. The end is after a
/// sentence. If none ends in the second half, it is after a comma, a semicolon or a space there. O(size).
pub fn end_of_slice(text: &str, start: usize, end: usize, size: usize) -> usize {
    let window = text.ceil_char_boundary((start + size).min(end));
    if window == end {
        return end;
    }
    let half = text.ceil_char_boundary(start + size / 2);
    let second = &text[half..window];
    let sentence = [". ", "! ", "? ", "; "].iter().filter_map(|mark| second.rfind(mark)).max().map(|at| at + 2);
    let word = || second.rfind([',', ';', ' ']).map(|at| at + 1);
    sentence.or_else(word).map_or(window, |at| half + at)
}

/// Returns the lines of `text` with their line ends, like `split_inclusive`, but faster for short lines. O(length).
pub fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    let rest = (!text.is_empty() && !text.ends_with('\n')).then_some(text.len());
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1).chain(rest);
    ends.scan(0, |start, end| Some(&text[std::mem::replace(start, end)..end]))
}

/// True for a character at which some reader begins a new line.
pub fn ends_line(character: char) -> bool {
    matches!(character, '\n' | '\u{b}'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Bytes that are compared together.
const BLOCK: usize = 256;

/// True if another character than `\n` ends a line in the text. O(length).
pub fn has_other_line_ends(text: &str) -> bool {
    // A block is looked through to its end, so that the processor compares many bytes at once.
    let is_end = |byte: &u8| u8::from(matches!(byte, 0xb..=0xd | 0x1c..=0x1e));
    let narrow = |block: &[u8]| block.iter().fold(0, |found, byte| found | is_end(byte)) != 0;
    let wide =
        || ["\u{85}", "\u{2028}", "\u{2029}"].iter().any(|end| memmem::find(text.as_bytes(), end.as_bytes()).is_some());
    text.as_bytes().chunks(BLOCK).any(narrow) || !text.is_ascii() && wide()
}

/// Returns the sentences of a line, without surrounding space. A full stop inside a name or a number ends none.
/// O(length).
pub fn sentences(line: &str) -> impl Iterator<Item = &str> {
    sentences_with_space(line.trim()).map(str::trim_end)
}

/// Returns the sentences of a line with the space after each, so that together they are the line.
pub fn sentences_with_space(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = end_of_sentence(rest);
        let space = rest[end..].len() - rest[end..].trim_start().len();
        let (sentence, others) = rest.split_at(end + space);
        rest = others;
        Some(sentence)
    })
}

/// Returns the end of the first sentence, or the length if there is only one.
fn end_of_sentence(text: &str) -> usize {
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        match character {
            '。' | '！' | '？' => return end,
            '.' | '!' | '?' if text[end..].starts_with(' ') => {
                let next = text[end..].trim_start().chars().next();
                // The number of a list item, or an abbreviation such as "e.g.".
                let is_number = text[..at].bytes().all(|byte| byte.is_ascii_digit());
                if !is_number && !next.is_some_and(char::is_lowercase) {
                    return end;
                }
            }
            _ => {}
        }
    }
    text.len()
}
