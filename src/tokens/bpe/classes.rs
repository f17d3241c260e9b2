//! The classes of 64 bytes as bit masks, for [`Window`](super::window::Window).
//!
//! Each byte is classified without a branch, as one bit in each of eight words. Characters outside ASCII are classified
//! one by one, except for those that their first byte determines.

use super::class::{ASCII, LETTER, LOWER, NEWLINE, NUMBER, OTHER, SPACE, UPPER, class_of};
use super::encoding::Encoding;

/// Number of bytes that are classified at once: one for each bit of a word.
pub(super) const WIDTH: usize = 64;
/// Number of bytes whose classes one step collects.
const ROW: usize = 8;

// The words of a window, by the position of their byte in a lane. Two words share spaces with one other character each.
const UPPERS: usize = 0;
const LOWERS: usize = 1;
const NUMBERS: usize = 2;
const OTHERS: usize = 3;
const SPACES: usize = 4;
/// Newlines, and the slash that may follow them in `o200k_base`.
pub(super) const NEWLINES_AND_SLASHES: usize = 5;
/// The space that may precede other characters, and the apostrophe that begins a contraction.
pub(super) const BLANKS_AND_APOSTROPHES: usize = 6;
/// Letters that follow the apostrophe of a contraction.
pub(super) const CONTRACTED: usize = 7;
const WORDS: usize = 8;

/// A combination that no other byte has. It marks the first byte of three-byte letters without case, such as most of
/// Chinese and Korean. These letters are classified without reading the other bytes.
const CASELESS_LEAD: u64 = bit(true, LOWERS) | bit(true, SPACES);

/// For each byte, its bit in the byte of each word that it belongs to. Outside ASCII, only [`CASELESS_LEAD`] has bits.
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
    // A lead byte stands for 4,096 code points. The first one begins fewer.
    let mut lead = 1;
    while lead < 16 {
        let mut code_point = lead << 12;
        while code_point >> 12 == lead && kind_of(class_of(code_point)) == CASELESS {
            code_point += 1;
        }
        if code_point >> 12 > lead {
            lanes[0xE0 | lead] = CASELESS_LEAD;
        }
        lead += 1;
    }
    lanes
}

const fn bit(set: bool, word: usize) -> u64 {
    (set as u64) << (8 * word)
}

/// The classes of 64 bytes. A byte without a class is not decided here, for example after the end of the text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Classes {
    pub(super) words: [u64; WORDS],
    /// The bytes among `lower` that may be among capitals too: letters without case, and marks on a letter.
    pub(super) either: u64,
    /// All but the last byte of each other character outside ASCII.
    pub(super) inner: u64,
}

impl Classes {
    /// Returns the classes of `bytes`, up to the first character of four bytes.
    pub(super) fn of(encoding: Encoding, bytes: &[u8; WIDTH]) -> Self {
        let mut classes = ascii_classes(bytes);
        let beyond = !classes.class_bits();
        if beyond != 0 {
            classes.add_beyond_ascii(encoding, bytes, beyond);
        }
        classes
    }

    /// Returns the classes from the byte at `offset` on.
    pub(super) fn from(&self, offset: usize) -> Self {
        let words = self.words.map(|word| word >> offset);
        Self { words, either: self.either >> offset, inner: self.inner >> offset }
    }

    /// Returns the bytes that have a class.
    #[inline]
    pub(super) fn class_bits(&self) -> u64 {
        let [uppers, lowers, numbers, others, spaces, ..] = self.words;
        uppers | lowers | numbers | others | spaces
    }

    /// Adds the classes of the characters outside ASCII, whose bytes are `rest`, up to the first one of four bytes.
    fn add_beyond_ascii(&mut self, encoding: Encoding, bytes: &[u8; WIDTH], mut rest: u64) {
        let mut kinds = [0; KINDS];
        let mut inner = 0;
        while rest != 0 {
            let at = rest.trailing_zeros() as usize;
            let (kind, length) = if let [first @ 0xC2..=0xDF, second, ..] = bytes[at..] {
                (TWO_BYTES[usize::from(first & 0x1F) << 6 | usize::from(second & 0x3F)], 2)
            } else if let [first @ 0xE0..=0xEF, second, third, ..] = bytes[at..] {
                let code_point =
                    usize::from(first & 0x0F) << 12 | usize::from(second & 0x3F) << 6 | usize::from(third & 0x3F);
                (KIND_OF_CLASS[usize::from(class_of(code_point) & 0x7F)], 3)
            } else {
                // Padding, a character that does not end in the window, or one that the scanner decides faster.
                break;
            };
            let character = low_bits(length) << at;
            rest &= !character;
            kinds[usize::from(kind) % KINDS] |= character;
            inner |= character & character >> 1;
        }

        let [_, capitals, small, caseless, marks, mut other, ..] = kinds;
        let [uppers, lowers, _, others, ..] = &mut self.words;
        *uppers |= capitals;
        *lowers |= small | caseless;
        let mut either = caseless | self.either;
        match encoding {
            Encoding::O200kBase => {
                // Marks on a letter belong to its word: the carry runs through them. Other marks are not decided here.
                let on_letters = marks & !marks.wrapping_add(marks & after(*uppers | *lowers));
                *lowers |= on_letters;
                either |= on_letters;
            }
            Encoding::Cl100kBase => other |= marks,
        }
        *others |= other;
        self.either = either;
        self.inner = inner & other;
    }
}

// The class of a character outside ASCII. Characters that the scanner must decide are `SCANNED`.
const SCANNED: u8 = 0;
const CAPITAL: u8 = 1;
const SMALL: u8 = 2;
const CASELESS: u8 = 3;
const MARK: u8 = 4;
const NEITHER: u8 = 5;
/// A power of two, so that the compiler knows that an index is below it.
const KINDS: usize = 8;

/// The kind of every two-byte character. Looking it up took half of the time for Cyrillic, Greek, Arabic and Hebrew.
static TWO_BYTES: [u8; 0x800] = {
    let mut kinds = [SCANNED; 0x800];
    let mut code_point = 0x80;
    while code_point < kinds.len() {
        // The long s equals an s without regard to case, so it may be part of a contraction.
        if code_point != 0x17F {
            kinds[code_point] = kind_of(class_of(code_point));
        }
        code_point += 1;
    }
    kinds
};

static KIND_OF_CLASS: [u8; 0x80] = {
    let mut kinds = [SCANNED; 0x80];
    let mut class: u8 = 0;
    while class.is_ascii() {
        kinds[class as usize] = kind_of(class);
        class += 1;
    }
    kinds
};

const fn kind_of(class: u8) -> u8 {
    match (class & LETTER != 0, class & UPPER != 0, class & LOWER != 0) {
        (true, true, true) => CASELESS,
        (true, true, false) => CAPITAL,
        (true, false, _) => SMALL,
        (false, true, _) => MARK,
        (false, false, _) if class & OTHER != 0 => NEITHER,
        _ => SCANNED,
    }
}

#[inline]
fn ascii_classes(bytes: &[u8; WIDTH]) -> Classes {
    let (rows, _) = bytes.as_chunks::<ROW>();
    let mut lanes = [[0_u8; WORDS]; WIDTH / ROW];
    for (lanes, row) in lanes.iter_mut().zip(rows) {
        let mut gathered = 0;
        for (place, &byte) in row.iter().enumerate() {
            gathered |= LANES[usize::from(byte)] << place;
        }
        *lanes = gathered.to_le_bytes();
    }
    let mut words = [0; WORDS];
    for (place, word) in words.iter_mut().enumerate() {
        *word = u64::from_le_bytes(lanes.map(|lane| lane[place]));
    }
    let leads = words[LOWERS] & words[SPACES];
    // The bytes of the last two characters may not all be in the window.
    let whole = leads & low_bits(u64::BITS - 2);
    let either = whole | whole << 1 | whole << 2;
    words[LOWERS] = words[LOWERS] & !leads | either;
    words[SPACES] &= !leads;
    Classes { words, either, inner: 0 }
}

/// Returns the positions after those of `word`.
#[inline]
pub(super) fn after(word: u64) -> u64 {
    word << 1
}

/// Returns a word with this many lowest bits set.
#[inline]
pub(super) fn low_bits(count: u32) -> u64 {
    if count < u64::BITS { (1 << count) - 1 } else { u64::MAX }
}
