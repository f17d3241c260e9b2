//! Splits a text into pieces as the published patterns do.
//!
//! Each alternative of a pattern is one function here, which gives the result of its backtracking directly. So a piece
//! costs O(its length), and no text is too long. The patterns, without the `|` at the ends of lines:
//!
//! ```text
//! o200k_base
//!   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//!   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//!   \p{N}{1,3}
//!    ?[^\s\p{L}\p{N}]+[\r\n/]*
//!   \s*[\r\n]+
//!   \s+(?!\S)
//!   \s+
//! cl100k_base
//!   '(?i:[sdmt]|ll|ve|re)
//!   [^\r\n\p{L}\p{N}]?+\p{L}++
//!   \p{N}{1,3}+
//!    ?[^\s\p{L}\p{N}]++[\r\n]*+
//!   \s++$
//!   \s*[\r\n]
//!   \s+(?!\S)
//!   \s
//! ```

use super::class::{LETTER, LOWER, NEWLINE, NUMBER, OTHER, SPACE, UPPER, class_at, run};
use super::encoding::Encoding;
use super::window::Window;

/// Both patterns take at most this many digits in one piece.
const NUMBERS_A_PIECE: usize = 3;

/// The smallest byte that begins a character of four bytes.
const FOUR_BYTES: u8 = 0xF0;

/// The consecutive pieces of a text. See [`Encoding::pieces`].
#[derive(Debug, Clone)]
pub struct Pieces<'text> {
    encoding: Encoding,
    text: &'text str,
    at: usize,
    splitter: Splitter,
}

impl<'text> Pieces<'text> {
    pub(super) fn new(encoding: Encoding, text: &'text str) -> Self {
        Self { encoding, text, at: 0, splitter: Splitter::new() }
    }
}

impl<'text> Iterator for Pieces<'text> {
    type Item = &'text str;

    fn next(&mut self) -> Option<&'text str> {
        if self.at == self.text.len() {
            return None;
        }
        let start = self.at;
        self.at = self.splitter.piece_end(self.encoding, self.text.as_bytes(), start);
        Some(&self.text[start..self.at])
    }
}

/// Finds the ends of pieces in the order of one text.
#[derive(Debug, Clone)]
pub(super) struct Splitter {
    window: Window,
    /// Ends that the window found and that were not returned yet, as bytes from `base`.
    ends: u64,
    base: usize,
}

impl Splitter {
    pub(super) fn new() -> Self {
        Self { window: Window::empty(), ends: 0, base: 0 }
    }

    /// Returns the end of the piece that begins at `at`: 0 at first, then the previous end. `text` must be UTF-8.
    #[inline]
    fn piece_end(&mut self, encoding: Encoding, text: &[u8], at: usize) -> usize {
        if self.ends == 0 {
            self.base = at;
            self.ends = self.ends_after(encoding, text, at);
            if self.ends == 0 {
                return piece_end(encoding, text, at);
            }
        }
        let end = self.base + self.ends.trailing_zeros() as usize;
        self.ends &= self.ends - 1;
        end
    }

    /// Returns the ends of the next pieces, the first of which begins at `at`: bit `n` is set if one ends `n` bytes
    /// after `at`. No bit is set if [`piece_end`] must be called. `text` must be UTF-8.
    #[inline]
    pub(super) fn ends_after(&mut self, encoding: Encoding, text: &[u8], at: usize) -> u64 {
        let first = text[at];
        let decisive = if first == b' ' { text.get(at + 1).copied().unwrap_or(first) } else { first };
        // A window finds few ends among emoji.
        if decisive < FOUR_BYTES { self.window.ends(encoding, text, at) } else { 0 }
    }
}

impl Encoding {
    /// Returns the pieces into which the published pattern splits `text`. No token spans two of them.
    pub fn pieces(self, text: &str) -> Pieces<'_> {
        Pieces::new(self, text)
    }
}

/// Returns the end of the piece that begins at `at`. `text` must be UTF-8.
// Not inlined, so that the code for ASCII is small enough to be inlined.
#[inline(never)]
pub(super) fn piece_end(encoding: Encoding, text: &[u8], at: usize) -> usize {
    match encoding {
        Encoding::O200kBase => o200k_end(text, at),
        Encoding::Cl100kBase => cl100k_end(text, at),
    }
}

#[inline]
fn o200k_end(text: &[u8], at: usize) -> usize {
    let (class, length) = class_at(text, at);
    if class & NUMBER != 0 {
        return numbers_end(text, at);
    }
    if let Some(end) = o200k_word_end(text, at, class, length) {
        return contraction_end(text, end).unwrap_or(end);
    }
    if let Some(end) = others_end(text, at, class) {
        return tail_end(text, end, Slash::InTail);
    }
    spaces_end(text, at, TextEnd::Ordinary)
}

#[inline]
fn cl100k_end(text: &[u8], at: usize) -> usize {
    if let Some(end) = contraction_end(text, at) {
        return end;
    }
    let (class, length) = class_at(text, at);
    if class & NUMBER != 0 {
        return numbers_end(text, at);
    }
    let letters = if may_lead_word(class) { at + length } else { at };
    let end = run(text, letters, LETTER);
    if end > letters {
        return end;
    }
    if let Some(end) = others_end(text, at, class) {
        return tail_end(text, end, Slash::NotInTail);
    }
    spaces_end(text, at, TextEnd::TakesSpaces)
}

/// True for `[^\r\n\p{L}\p{N}]`.
#[inline]
fn may_lead_word(class: u8) -> bool {
    class & (OTHER | SPACE) != 0 && class & NEWLINE == 0
}

/// Matches the first two alternatives of `o200k_base`, without the contraction.
#[inline]
fn o200k_word_end(text: &[u8], at: usize, class: u8, length: usize) -> Option<usize> {
    let leads = may_lead_word(class);
    let body = if leads { at + length } else { at };

    // The capitals are greedy. If no small letter follows, they give back up to the last character that can be either,
    // and it becomes the small letters.
    let mut capitals_end = body;
    let mut last_either = None;
    loop {
        let (class, length) = class_at(text, capitals_end);
        if class & UPPER == 0 {
            if class & LOWER != 0 {
                return Some(run(text, capitals_end + length, LOWER));
            }
            break;
        }
        capitals_end += length;
        if class & LOWER != 0 {
            last_either = Some(capitals_end);
        }
    }
    if last_either.is_some() {
        return last_either;
    }

    // A mark may precede a word, but is also a word by itself. The first alternative tries that before the second one
    // tries the mark as the leading character.
    if leads && class & LOWER != 0 {
        return Some(body);
    }
    (capitals_end > body).then_some(capitals_end)
}

/// Matches `'(?i:[sdmt]|ll|ve|re)`.
#[inline]
fn contraction_end(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'\'') {
        return None;
    }
    let letter = |distance: usize| text.get(at + distance).map(u8::to_ascii_lowercase);
    match (letter(1)?, letter(2)) {
        (b's' | b't' | b'm' | b'd', _) => Some(at + 2),
        // The last is U+017F, the long s. It equals an s without regard to case, and is the only such letter outside
        // ASCII.
        (b'r' | b'v', Some(b'e')) | (b'l', Some(b'l')) | (0xC5, Some(0xBF)) => Some(at + 3),
        _ => None,
    }
}

/// Matches `\p{N}{1,3}`. The first character must be a number.
#[inline]
fn numbers_end(text: &[u8], mut at: usize) -> usize {
    for _ in 0..NUMBERS_A_PIECE {
        let (class, length) = class_at(text, at);
        if class & NUMBER == 0 {
            break;
        }
        at += length;
    }
    at
}

/// Matches ` ?[^\s\p{L}\p{N}]+`.
#[inline]
fn others_end(text: &[u8], at: usize, class: u8) -> Option<usize> {
    if class & OTHER != 0 {
        return Some(run(text, at, OTHER));
    }
    if text[at] != b' ' {
        return None;
    }
    let end = run(text, at + 1, OTHER);
    (end > at + 1).then_some(end)
}

/// Permission for a slash among the newlines.
#[derive(Clone, Copy, PartialEq)]
enum Slash {
    InTail,
    NotInTail,
}

/// Matches `[\r\n/]*` or `[\r\n]*`.
#[inline]
fn tail_end(text: &[u8], mut at: usize, slash: Slash) -> usize {
    while let Some(&byte) = text.get(at)
        && (matches!(byte, b'\r' | b'\n') || byte == b'/' && slash == Slash::InTail)
    {
        at += 1;
    }
    at
}

/// The effect of the end of the text on the spaces before it.
#[derive(Clone, Copy, PartialEq)]
enum TextEnd {
    /// The last newline among the spaces still ends a piece.
    Ordinary,
    /// The spaces are one piece: `\s++$`.
    TakesSpaces,
}

/// Matches the alternatives for white space. A greedy run gives back until the rest of its alternative matches: up to
/// its last newline, or otherwise by one character if something other than space follows.
#[inline]
fn spaces_end(text: &[u8], at: usize, text_end: TextEnd) -> usize {
    let mut end = at;
    let mut last_start = at;
    let mut last_newline = None;
    loop {
        let (class, length) = class_at(text, end);
        if class & SPACE == 0 {
            break;
        }
        last_start = end;
        end += length;
        if class & NEWLINE != 0 {
            last_newline = Some(end);
        }
    }
    if end == text.len() && text_end == TextEnd::TakesSpaces {
        return end;
    }
    if let Some(newline) = last_newline {
        return newline;
    }
    if end == text.len() || last_start == at {
        return end;
    }
    last_start
}
