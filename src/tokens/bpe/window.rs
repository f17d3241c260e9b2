//! Finds the ends of pieces in 64 bytes at once.
//!
//! Pieces have four bytes on average. A scanner that goes byte by byte mispredicts a branch or two in each, which takes
//! half of the time of a count. Here a few dozen operations on whole words of [`Classes`] find every boundary, and the
//! next piece is the next bit. The scanner in `split` decides the end of the text, and cases with white space, numbers
//! or marks outside ASCII.

use super::class::BEYOND_ASCII;
use super::classes::{BLANKS_AND_APOSTROPHES, CONTRACTED, Classes, NEWLINES_AND_SLASHES, WIDTH, after, low_bits};
use super::encoding::Encoding;

/// The classes of the bytes from `start` on.
#[derive(Debug, Clone)]
pub(super) struct Window {
    start: usize,
    classes: Classes,
}

impl Window {
    /// Returns an empty window.
    pub(super) fn empty() -> Self {
        Self { start: 0, classes: Classes::default() }
    }

    /// Returns the ends of the pieces from `at` on, where a piece begins: bit `n` is set if one ends `n` bytes after
    /// `at`. No bit is set if the first end is not decided here.
    pub(super) fn ends(&mut self, encoding: Encoding, text: &[u8], at: usize) -> u64 {
        let offset = at.wrapping_sub(self.start);
        if offset < WIDTH / 2 && offset != 0 {
            let ends = boundaries(encoding, &self.classes.from(offset));
            if ends != 0 {
                return ends;
            }
        }
        self.read(encoding, text, at);
        boundaries(encoding, &self.classes)
    }

    fn read(&mut self, encoding: Encoding, text: &[u8], start: usize) {
        self.start = start;
        let mut padded = [BEYOND_ASCII; WIDTH];
        let bytes = text[start..].first_chunk::<WIDTH>().unwrap_or_else(|| {
            padded[..text.len() - start].copy_from_slice(&text[start..]);
            &padded
        });
        self.classes = Classes::of(encoding, bytes);
    }
}

/// Returns the positions before those of `word`.
#[inline]
fn before(word: u64) -> u64 {
    word >> 1
}

/// Returns the ends of pieces, given that one begins at bit 0.
#[inline]
fn boundaries(encoding: Encoding, classes: &Classes) -> u64 {
    let Classes { words, either, inner } = *classes;
    let [uppers, lowers, numbers, others, spaces, ..] = words;
    let letters = uppers | lowers;
    let newlines = words[NEWLINES_AND_SLASHES] & spaces;
    let gaps = spaces & !newlines;
    let blanks = words[BLANKS_AND_APOSTROPHES] & spaces;
    let apostrophes = words[BLANKS_AND_APOSTROPHES] & others;
    let known_bytes = classes.class_bits();

    // ` ?[^\s\p{L}\p{N}]+` includes the space before it. A single other character without the space may precede a word.
    let other_starts = others & !after(others | blanks);
    // The last byte of a character of several bytes: the carry runs through the inner ones.
    let leads = other_starts & !inner | (other_starts & inner).wrapping_add(inner) & !inner;
    // `[\r\n]*` after it takes all newlines: the carry of an addition runs through them.
    let tail = newlines & !newlines.wrapping_add(newlines & after(others));

    // The scanner decides contractions, even with a letter that has no class. In `o200k_base` it also decides a slash
    // after the newlines of a tail, and a capital after a character that may be a capital.
    let contracts = apostrophes & !before(known_bytes & !words[CONTRACTED]);
    let undecided = match encoding {
        Encoding::O200kBase => {
            let slashes = words[NEWLINES_AND_SLASHES] & others;
            contracts & after(letters) | slashes & after(tail) | uppers & after(either)
        }
        Encoding::Cl100kBase => contracts & other_starts,
    };
    let known = (known_bytes & !undecided).trailing_ones();

    // A word takes one character before it: a space other than a newline, or another single character.
    let mut starts = letters & !after(letters | gaps | leads);
    if encoding == Encoding::O200kBase {
        starts |= uppers & after(lowers);
    }
    starts |= other_starts;
    starts |= by_threes(numbers);

    // `\s*[\r\n]+` takes white space up to its last newline. If several spaces follow, the last one belongs to the next
    // piece: `\s+(?!\S)`.
    let mut after_lines = gaps & after(newlines & !tail);
    let mut early_lines = after_lines.wrapping_add(gaps) & newlines & after(gaps);
    while early_lines != 0 {
        // A line of only spaces, which is rare: the newline before it was not the last.
        let line = early_lines.trailing_zeros();
        let gap_start = u64::BITS - (!gaps & ((1 << line) - 1)).leading_zeros();
        after_lines &= !(1 << gap_start);
        early_lines &= early_lines - 1;
    }
    starts |= spaces & !after(spaces) & !tail;
    starts |= gaps & after(tail);
    starts |= after_lines;
    starts |= gaps & after(gaps) & before(letters | numbers | others);

    // White space that continues into unknown bytes may have its last newline there.
    let known_bits = low_bits(known);
    let decided = known - (spaces | !known_bits).leading_ones().saturating_sub(u64::BITS - known);
    starts & known_bits & (low_bits(decided) << 1)
}

/// Matches `\p{N}{1,3}`: finds the start of each piece in a run. The starts spread to twice as many in each step.
#[inline]
fn by_threes(numbers: u64) -> u64 {
    let mut starts = numbers & !after(numbers);
    let mut reach = numbers & numbers << 1 & numbers << 2;
    for distance in [3, 6, 12, 24, 48] {
        starts |= starts << distance & reach;
        reach &= reach << distance;
    }
    starts
}
