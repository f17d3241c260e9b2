//! Finds the ends of pieces, for 64 bytes at once.
//!
//! Pieces have four bytes on average, and a scanner that goes from byte to byte mispredicts a branch or two in each:
//! half of the time of a count. Here a few dozen operations on whole words of [`Classes`] find every boundary, and the
//! next piece is the next bit. What white space, numbers or marks beyond ASCII decide, and the end of the text, is left
//! to the scanner in `split`.

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
    /// A window that holds nothing yet.
    pub(super) fn empty() -> Self {
        Self { start: 0, classes: Classes::default() }
    }

    /// The ends of the pieces from `at` on, where a piece begins: bit `n` is set where one ends `n` bytes after `at`.
    /// No bit where the first is not decided.
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

/// The characters before those of `word`.
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

    // ` ?[^\s\p{L}\p{N}]+` takes the space before it; alone and without the space, an other may lead a word.
    let other_starts = others & !after(others | blanks);
    // Its last byte, where it has several: the carry runs through the inner ones.
    let leads = other_starts & !inner | (other_starts & inner).wrapping_add(inner) & !inner;
    // `[\r\n]*` after it takes all newlines: the carry of an addition runs through them.
    let tail = newlines & !newlines.wrapping_add(newlines & after(others));

    // Cases that the scanner decides: contractions, also with a letter that has no class; in `o200k_base` a slash after
    // the newlines of a tail, and a capital after a character that may or may not be one.
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

    // `\s*[\r\n]+` takes white space up to its last newline. Of more than one space after that, the last belongs to
    // what follows: `\s+(?!\S)`.
    let mut after_lines = gaps & after(newlines & !tail);
    let mut early_lines = after_lines.wrapping_add(gaps) & newlines & after(gaps);
    while early_lines != 0 {
        // Rare, a line of nothing but spaces: the newline before it was not the last.
        let line = early_lines.trailing_zeros();
        let gap_start = u64::BITS - (!gaps & ((1 << line) - 1)).leading_zeros();
        after_lines &= !(1 << gap_start);
        early_lines &= early_lines - 1;
    }
    starts |= spaces & !after(spaces) & !tail;
    starts |= gaps & after(tail);
    starts |= after_lines;
    starts |= gaps & after(gaps) & before(letters | numbers | others);

    // White space that goes on to what is not known may have its last newline there.
    let known_bits = low_bits(known);
    let decided = known - (spaces | !known_bits).leading_ones().saturating_sub(u64::BITS - known);
    starts & known_bits & (low_bits(decided) << 1)
}

/// `\p{N}{1,3}`: where each piece of a run begins. The starts spread to twice as many in each step.
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
