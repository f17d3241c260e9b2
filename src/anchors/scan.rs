//! Finds the words of a text. An anchor is always one word.

use std::ops::Range;

use super::line;

/// The classes of the bytes in a word, as bits.
pub(super) type ByteClasses = u8;

/// Small letters, and letters that are neither large nor small.
pub(super) const LOWER: ByteClasses = 1;
/// Large letters.
pub(super) const UPPER: ByteClasses = 1 << 1;
/// The ten digits.
pub(super) const DIGIT: ByteClasses = 1 << 2;
/// Underscores.
pub(super) const UNDERSCORE: ByteClasses = 1 << 3;
/// Dots.
pub(super) const DOT: ByteClasses = 1 << 4;
/// Slashes.
pub(super) const SLASH: ByteClasses = 1 << 5;
/// Hyphens.
pub(super) const HYPHEN: ByteClasses = 1 << 6;
/// Bytes that end a run of the others: separators of words, and bytes of a character outside ASCII, which may or may not
/// be part of a word.
const STOP: ByteClasses = 1 << 7;

/// The class of each byte.
const CLASS: [ByteClasses; 256] = classes();

const ESCAPE: u8 = 0x1b;

/// A word: its range, and the classes of its bytes.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub range: Range<usize>,
    pub seen: ByteClasses,
}

const fn classes() -> [ByteClasses; 256] {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    loop {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'.' => DOT,
            b'/' => SLASH,
            b'-' => HYPHEN,
            _ => STOP,
        };
        if byte == u8::MAX {
            return classes;
        }
        byte += 1;
    }
}

/// Returns the class of a byte.
pub(super) fn class_of(byte: u8) -> ByteClasses {
    CLASS[usize::from(byte)]
}

/// Returns the classes of the bytes in a word that was cut out of another.
pub(super) fn classes_of(word: &str) -> ByteClasses {
    let seen = word.bytes().fold(0, |seen, byte| seen | class_of(byte));
    if seen & STOP == 0 {
        return seen;
    }
    word.chars().filter(|letter| !letter.is_ascii()).fold(seen & !STOP, |seen, letter| seen | case(letter))
}

/// Calls `each` with each word of `text`, in order.
pub(super) fn scan(text: &str, mut each: impl FnMut(Word)) {
    let bytes = text.as_bytes();
    let mut at = line::prefix(bytes);
    while at < bytes.len() {
        if class_of(bytes[at]) == STOP && bytes[at].is_ascii() {
            at += gap(&bytes[at..]);
            continue;
        }
        let (end, seen) = word_end(text, at);
        if end == at {
            at += character(text, at).map_or(1, char::len_utf8);
            continue;
        }
        // In `~/src`, the tilde is part of the path.
        let start = if bytes[at] == b'/' && at > 0 && bytes[at - 1] == b'~' { at - 1 } else { at };
        each(Word { range: start..end, seen });
        at = end;
    }
}

/// Returns the end of the word at `start` and its classes. The end is `start` if no word begins there.
fn word_end(text: &str, start: usize) -> (usize, ByteClasses) {
    let bytes = text.as_bytes();
    let (mut at, mut word) = (start, 0);
    loop {
        let rest = &bytes[at..];
        let run = rest.iter().position(|byte| {
            word |= class_of(*byte);
            word & STOP != 0
        });
        word &= !STOP;
        at += run.unwrap_or(rest.len());
        if bytes.get(at).is_none_or(u8::is_ascii) {
            break;
        }
        let Some(letter) = character(text, at).filter(|letter| is_letter(*letter)) else { break };
        // Text in a script without spaces and capitals touches the names in it, so a name ends or begins here.
        let before = text[start..at].chars().next_back();
        if before.is_some_and(|before| before.is_alphanumeric() && has_case(before) != has_case(letter)) {
            break;
        }
        word |= case(letter);
        at += letter.len_utf8();
        if !has_case(letter) && bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) {
            break;
        }
    }
    (at, word)
}

fn character(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

/// True if a character outside ASCII is part of a word. Combining accents are.
fn is_letter(character: char) -> bool {
    character.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&character)
}

/// True if a letter belongs to a script with capital and small letters. Combining accents count as such letters.
fn has_case(letter: char) -> bool {
    letter.is_ascii() || letter.is_lowercase() || letter.is_uppercase() || !letter.is_alphanumeric()
}

fn case(letter: char) -> ByteClasses {
    if letter.is_uppercase() { UPPER } else { LOWER }
}

/// Returns the length of the separators at the start of `bytes`, at least one byte.
fn gap(bytes: &[u8]) -> usize {
    match bytes {
        [b'\n', line @ ..] => 1 + line::prefix(line),
        [b'\\', ..] => escaped(bytes),
        [ESCAPE, rest @ ..] => 1 + colour(rest),
        _ => 1,
    }
}

/// Returns the length of a colour sequence after its escape character: the parameters and the final letter.
fn colour(bytes: &[u8]) -> usize {
    let Some(sequence) = bytes.strip_prefix(b"[") else { return 0 };
    let parameters = sequence.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b'?')).count();
    let letter = usize::from(sequence.get(parameters).is_some_and(u8::is_ascii_alphabetic));
    1 + parameters + letter
}

/// Returns the length of an escape in a string, at any depth of escaping. The letter after the backslashes is not part
/// of a word.
fn escaped(bytes: &[u8]) -> usize {
    let slashes = bytes.iter().take_while(|byte| **byte == b'\\').count();
    let rest = &bytes[slashes..];
    let escape = match rest.first() {
        Some(b'n') => 1 + line::prefix(&rest[1..]),
        Some(b't' | b'r' | b'b' | b'f') => 1,
        Some(b'x') => hexadecimal(rest, 2),
        Some(b'u') => hexadecimal(rest, 4),
        _ => 0,
    };
    slashes + escape
}

/// Returns the length of a character written as a letter and this many hexadecimal digits. If the character begins a
/// colour sequence, the sequence is included.
fn hexadecimal(bytes: &[u8], digits: usize) -> usize {
    match bytes.get(1..=digits).filter(|code| code.iter().all(u8::is_ascii_hexdigit)) {
        Some(code) if code.ends_with(b"1b") => 1 + digits + colour(&bytes[1 + digits..]),
        Some(_) => 1 + digits,
        None => 0,
    }
}
