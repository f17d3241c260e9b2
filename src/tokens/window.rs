//! Where ASCII pieces end, for 64 bytes at once.
//!
//! Pieces have four bytes on average, and a scanner that goes from byte to byte mispredicts a branch or two in each:
//! half of the time of a count. Here each byte is classified without a branch, one bit in each of eight words; a few
//! dozen operations on whole words then find every boundary, and the next piece is the next bit.
//!
//! Only what ASCII decides is decided here. The rest, and the end of the text, is left to the scanner in `split`.

use super::class::{ASCII, BEYOND_ASCII, LOWER, NEWLINE, NUMBER, OTHER, SPACE, UPPER};
use super::encoding::Encoding;

/// Bytes in a window: one for each bit of a word.
const WIDTH: usize = 64;
/// Bytes of which one step of [`Window::read`] gathers the classes.
const ROW: usize = 8;

// The words of a window, by the place of their byte in a lane. Two hold one character for spaces and one for others.
const UPPERS: usize = 0;
const LOWERS: usize = 1;
const NUMBERS: usize = 2;
const OTHERS: usize = 3;
const SPACES: usize = 4;
/// Newlines, and the slash that may follow them in `o200k_base`.
const NEWLINES_AND_SLASHES: usize = 5;
/// The space that may lead others, and the apostrophe that begins a contraction.
const BLANKS_AND_APOSTROPHES: usize = 6;
/// Letters that follow the apostrophe of a contraction.
const CONTRACTED: usize = 7;
const WORDS: usize = 8;

/// For each byte a bit in the byte of each word that it belongs to; none for bytes beyond ASCII.
static LANES: [u64; 256] = lanes();

const fn lanes() -> [u64; 256] {
    let mut lanes = [0; 256];
    let mut byte: u8 = 0;
    while byte.is_ascii() {
        let class = ASCII[byte as usize];
        lanes[byte as usize] = bit(class & UPPER != 0, UPPERS)
            | bit(class & LOWER != 0, LOWERS)
            | bit(class & NUMBER != 0, NUMBERS)
            | bit(class & OTHER != 0, OTHERS)
            | bit(class & SPACE != 0, SPACES)
            | bit(class & NEWLINE != 0 || byte == b'/', NEWLINES_AND_SLASHES)
            | bit(byte == b' ' || byte == b'\'', BLANKS_AND_APOSTROPHES)
            | bit(matches!(byte.to_ascii_lowercase(), b's' | b't' | b'm' | b'd' | b'r' | b'v' | b'l'), CONTRACTED);
        byte += 1;
    }
    lanes
}

const fn bit(set: bool, word: usize) -> u64 {
    (set as u64) << (8 * word)
}

/// The classes of the bytes from `start` on. Bytes past the end of the text count as beyond ASCII.
#[derive(Debug, Clone)]
pub(super) struct Window {
    start: usize,
    words: [u64; WORDS],
}

impl Window {
    /// A window that holds nothing yet.
    pub(super) fn empty() -> Self {
        Self { start: 0, words: [0; WORDS] }
    }

    /// The ends of the pieces from `at` on, where a piece begins: bit `n` is set where one ends `n` bytes after `at`.
    /// No bit where the first is not decided.
    pub(super) fn ends(&mut self, encoding: Encoding, text: &[u8], at: usize) -> u64 {
        let offset = at.wrapping_sub(self.start);
        if offset < WIDTH / 2 && offset != 0 {
            let ends = boundaries(encoding, self.words.map(|word| word >> offset));
            if ends != 0 {
                return ends;
            }
        }
        self.read(text, at);
        boundaries(encoding, self.words)
    }

    fn read(&mut self, text: &[u8], start: usize) {
        self.start = start;
        if let Some(bytes) = text[start..].first_chunk::<WIDTH>() {
            self.classify(bytes);
        } else {
            let mut bytes = [BEYOND_ASCII; WIDTH];
            bytes[..text.len() - start].copy_from_slice(&text[start..]);
            self.classify(&bytes);
        }
    }

    #[inline]
    fn classify(&mut self, bytes: &[u8; WIDTH]) {
        let (rows, _) = bytes.as_chunks::<ROW>();
        let mut lanes = [[0_u8; WORDS]; WIDTH / ROW];
        for (lanes, row) in lanes.iter_mut().zip(rows) {
            let mut gathered = 0;
            for (place, &byte) in row.iter().enumerate() {
                gathered |= LANES[usize::from(byte)] << place;
            }
            *lanes = gathered.to_le_bytes();
        }
        for (place, word) in self.words.iter_mut().enumerate() {
            *word = u64::from_le_bytes(lanes.map(|lane| lane[place]));
        }
    }
}

/// The characters after those of `word`.
#[inline]
fn after(word: u64) -> u64 {
    word << 1
}

/// The characters before those of `word`.
#[inline]
fn before(word: u64) -> u64 {
    word >> 1
}

/// Where a piece ends and the next begins, given that one begins at bit 0.
#[inline]
fn boundaries(encoding: Encoding, words: [u64; WORDS]) -> u64 {
    let [uppers, lowers, numbers, others, spaces, ..] = words;
    let letters = uppers | lowers;
    let newlines = words[NEWLINES_AND_SLASHES] & spaces;
    let gaps = spaces & !newlines;
    let blanks = words[BLANKS_AND_APOSTROPHES] & spaces;
    let apostrophes = words[BLANKS_AND_APOSTROPHES] & others;
    let ascii = letters | numbers | others | spaces;

    // ` ?[^\s\p{L}\p{N}]+` takes the space before it; alone and without the space, an other may lead a word.
    let other_starts = others & !after(others | blanks);
    // `[\r\n]*` after it takes all newlines: the carry of an addition runs through them.
    let tail = newlines & !newlines.wrapping_add(newlines & after(others));

    // What this cannot decide: contractions, also with a letter that is not ASCII or not in sight, and in
    // `o200k_base` a slash after the newlines of a tail.
    let contracts = apostrophes & !before(ascii & !words[CONTRACTED]);
    let undecided = match encoding {
        Encoding::O200kBase => contracts & after(letters) | words[NEWLINES_AND_SLASHES] & others & after(tail),
        Encoding::Cl100kBase => contracts & other_starts,
    };
    let known = (ascii & !undecided).trailing_ones();

    // A word takes one character before it: a space that is no newline, or a single other.
    let mut starts = letters & !after(letters | gaps | other_starts);
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

#[inline]
fn low_bits(count: u32) -> u64 {
    if count < u64::BITS { (1 << count) - 1 } else { u64::MAX }
}
