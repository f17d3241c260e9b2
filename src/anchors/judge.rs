//! Decides if a word is an anchor.

use std::ops::Range;

use super::scan::{ByteClasses, DIGIT, DOT, HYPHEN, LOWER, SLASH, UNDERSCORE, UPPER, Word, class_of, classes_of};
use super::{Anchor, AnchorKind, LONGEST_ANCHOR};

/// Numbers with fewer digits are mostly counts, and repeat by chance.
const LEAST_DIGITS: usize = 3;
/// Git abbreviates hashes to seven digits, so fewer hexadecimal digits are not a hash.
const LEAST_HEX: usize = 7;
/// The fewest hexadecimal digits of an address, after `0x`.
const LEAST_ADDRESS: usize = 3;
/// A shorter word of letters and digits is a size, a version or a time.
const LEAST_ID: usize = 6;
/// The longest unit after a number: `bytes`.
const LONGEST_UNIT: usize = 5;
/// The longest file extension: `markdown`.
const LONGEST_EXTENSION: usize = 8;
/// The least length in bytes of a name with an underscore. `a_b` is a formula.
const LEAST_NAME: usize = 4;
/// The least length in bytes of a name with capitals inside. `dT` is the rest of a pattern.
const LEAST_HUMPED: usize = 3;
/// Positions of the hyphens in a UUID, and its length.
const UUID_HYPHENS: [usize; 4] = [8, 13, 18, 23];
const UUID_LENGTH: usize = 36;

/// Gives the anchors in a word to `each`, in order.
pub(super) fn judge(text: &str, word: Word, each: &mut impl FnMut(Anchor)) {
    // Most words have only small letters, and need no further check.
    if word.seen & !LOWER == 0 {
        return;
    }
    let mut judged = AnchorJudge { text, seen: word.seen, each };
    match word.seen {
        seen if seen & SLASH != 0 => judged.path(word.range),
        seen if seen & HYPHEN != 0 => judged.hyphened(word.range),
        seen if seen & DOT != 0 => judged.dotted(word.range),
        seen => judged.single(word.range, seen),
    }
}

/// Loops over bytes instead of searching in strings: words are short, and starting a search costs more than the loop.
struct AnchorJudge<'a, F> {
    text: &'a str,
    /// The classes of the bytes in the whole word.
    seen: ByteClasses,
    each: &'a mut F,
}

impl<F: FnMut(Anchor)> AnchorJudge<'_, F> {
    fn give(&mut self, range: Range<usize>, kind: AnchorKind) {
        if range.len() <= LONGEST_ANCHOR {
            (self.each)(Anchor { range, kind });
        }
    }

    /// Trims bytes of these classes from the start and from the end of a word: punctuation of the sentence.
    fn trimmed(&self, range: Range<usize>, start: ByteClasses, end: ByteClasses) -> Range<usize> {
        let Range { start: mut from, end: mut to } = range;
        let is_of = |at: usize, classes: ByteClasses| class_of(self.text.as_bytes()[at]) & classes != 0;
        while from < to && is_of(to - 1, end) {
            to -= 1;
        }
        while from < to && is_of(from, start) {
            from += 1;
        }
        from..to
    }

    /// Judges each piece between two separators of a word.
    fn pieces(&mut self, range: Range<usize>, separator: u8, judge: fn(&mut Self, Range<usize>)) {
        let mut start = range.start;
        for at in range.clone() {
            if self.text.as_bytes()[at] == separator {
                judge(self, start..at);
                start = at + 1;
            }
        }
        judge(self, start..range.end);
    }

    /// Judges a word with a slash.
    fn path(&mut self, range: Range<usize>) {
        let range = self.trimmed(range, HYPHEN, SLASH | DOT | HYPHEN);
        let word = &self.text[range.clone()];
        let range = if word.starts_with("//") || word.starts_with("...") {
            // The rest of a URL after its scheme, or a path whose beginning was left out.
            self.trimmed(range, SLASH | DOT, 0)
        } else {
            range
        };
        let word = &self.text[range.clone()];
        if let Some(name) = self.searched_file_length(word) {
            self.path(range.start..range.start + name);
            self.hyphened(range.start + name..range.end);
        } else if is_path(word) {
            self.give(range, AnchorKind::Path);
        } else {
            self.pieces(range, b'/', Self::hyphened);
        }
    }

    /// Judges a word that may have hyphens.
    fn hyphened(&mut self, range: Range<usize>) {
        let range = self.trimmed(range, HYPHEN, HYPHEN | DOT);
        let word = &self.text[range.clone()];
        if !word.bytes().any(|byte| byte == b'-') {
            self.dotted(range);
        } else if is_uuid(word) {
            self.give(range, AnchorKind::Id);
        } else if let Some(name) = self.searched_file_length(word) {
            self.hyphened(range.start..range.start + name);
            self.hyphened(range.start + name..range.end);
        } else if self.seen & DOT != 0 && has_extension(word) {
            self.give(range, AnchorKind::Path);
        } else {
            self.pieces(range, b'-', Self::dotted);
        }
    }

    /// Judges a word that may have dots.
    fn dotted(&mut self, range: Range<usize>) {
        let range = self.trimmed(range, DOT, DOT);
        let word = &self.text[range.clone()];
        let seen = classes_of(word);
        if seen & DOT == 0 {
            self.single(range, seen);
        } else if word.as_bytes().windows(2).any(|pair| pair == b"..") {
            let mut start = range.start;
            for piece in word.split("..") {
                self.dotted(start..start + piece.len());
                start += piece.len() + 2;
            }
        } else if word.as_bytes()[0].is_ascii_digit() {
            if is_number(word) {
                self.give(range, AnchorKind::Number);
            } else if word.bytes().any(|byte| byte.is_ascii_alphabetic()) {
                self.pieces(range, b'.', Self::dotted);
            }
        } else if word.as_bytes().split(|byte| *byte == b'.').any(|name| name.len() > 1 && !name[0].is_ascii_digit()) {
            self.give(range, AnchorKind::Dotted);
        }
    }

    /// Returns the length of a file name that is followed by a hyphen and a line number, as in the output of `grep -C`:
    /// `lib.rs-120-text`.
    fn searched_file_length(&self, word: &str) -> Option<usize> {
        if self.seen & DOT == 0 || self.seen & HYPHEN == 0 || word.len() > 2 * LONGEST_ANCHOR {
            return None; // A longer word is data; each hyphen is looked back from.
        }
        let bytes = word.as_bytes();
        let is_number = |start: usize| {
            let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            digits > 0 && matches!(bytes.get(start + digits), None | Some(b'-'))
        };
        (0..bytes.len()).find(|at| bytes[*at] == b'-' && is_number(at + 1) && has_extension(&word[..*at]))
    }

    /// Judges a word of letters, digits and underscores.
    fn single(&mut self, range: Range<usize>, seen: ByteClasses) {
        // A piece may be a plain word.
        if seen & !LOWER != 0
            && let Some(kind) = single(&self.text[range.clone()], seen)
        {
            self.give(range, kind);
        }
    }
}

fn single(word: &str, seen: ByteClasses) -> Option<AnchorKind> {
    let digits = if seen & DIGIT == 0 { 0 } else { word.bytes().filter(u8::is_ascii_digit).count() };
    if seen & (LOWER | UPPER) == 0 {
        return (digits >= LEAST_DIGITS).then_some(AnchorKind::Number);
    }
    if let Some(address) = word.strip_prefix("0x") {
        return (address.len() >= LEAST_ADDRESS && is_hex(address)).then_some(AnchorKind::Id);
    }
    if seen & UNDERSCORE != 0 {
        return (word.len() >= LEAST_NAME).then_some(AnchorKind::Name);
    }
    if digits > 0 && word.len() >= LEAST_HEX && is_hex(word) {
        return Some(AnchorKind::Id);
    }
    if digits > 0 && is_number(word) {
        return Some(AnchorKind::Number);
    }
    if seen & UPPER != 0 && seen & LOWER != 0 && word.len() >= LEAST_HUMPED && has_humps(word) {
        return Some(AnchorKind::Name);
    }
    (digits >= LEAST_DIGITS && word.len() >= LEAST_ID).then_some(AnchorKind::Id)
}

/// True if a word has capital letters inside, as names do: after a small letter or a digit, or several before small
/// letters (`HTTPServer`). The plural `URLs` is a word of prose.
fn has_humps(word: &str) -> bool {
    // Most words have no capital after their first letter.
    if word.is_ascii() && !word.as_bytes()[1..].iter().any(u8::is_ascii_uppercase) {
        return false;
    }
    let (mut before, mut large) = (None, 0);
    let mut letters = word.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_uppercase() {
            if before.is_some_and(|before: char| !before.is_uppercase()) {
                return true;
            }
            large += 1;
        } else {
            if large > 1 && letter.is_lowercase() && letters.peek().is_some_and(|next| next.is_lowercase()) {
                return true;
            }
            large = 0;
        }
        before = Some(letter);
    }
    false
}

/// True if a word that begins with a digit is a number: digits, dots and perhaps a unit.
fn is_number(word: &str) -> bool {
    let unit = word.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    let number = &word.as_bytes()[..word.len() - unit];
    unit <= LONGEST_UNIT
        && number.iter().filter(|byte| byte.is_ascii_digit()).count() >= LEAST_DIGITS
        && number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// True if a word with a slash is a path, and not a fraction, a date or the end of an element.
fn is_path(word: &str) -> bool {
    let named = |parts: &str, least: usize| {
        parts.split('/').any(|part| part.len() >= least && part.chars().any(char::is_alphabetic))
    };
    if let Some(below) = ["./", "../", "~/"].into_iter().find_map(|start| word.strip_prefix(start)) {
        return named(below, 1);
    }
    match word.strip_prefix('/') {
        Some(below) => named(below, 2) && (below.contains('/') || has_extension(below)),
        None => word.contains('/') && named(word, 2),
    }
}

/// True if a word ends in a dot and a file extension.
fn has_extension(word: &str) -> bool {
    let bytes = word.as_bytes();
    let name = bytes.iter().rev().take(LONGEST_EXTENSION + 1).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    name > 0
        && name <= LONGEST_EXTENSION
        && name < bytes.len()
        && bytes[bytes.len() - name].is_ascii_alphabetic()
        && bytes[bytes.len() - name - 1] == b'.'
        && word[..bytes.len() - name - 1].ends_with(char::is_alphanumeric)
}

fn is_uuid(word: &str) -> bool {
    word.len() == UUID_LENGTH
        && word
            .bytes()
            .enumerate()
            .all(|(at, byte)| if UUID_HYPHENS.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
