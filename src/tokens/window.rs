//! Where pieces end, for 64 bytes at once.
//!
//! Pieces have four bytes on average, and a scanner that goes from byte to byte mispredicts a branch or two in each:
//! half of the time of a count. Here each byte is classified without a branch, one bit in each of eight words; a few
//! dozen operations on whole words then find every boundary, and the next piece is the next bit.
//!
//! Characters beyond ASCII are classified one by one, but for those whose first byte tells. What white space, numbers or marks beyond ASCII decide, and the end
//! of the text, is left to the scanner in `split`.

use super::class::{ASCII, BEYOND_ASCII, LETTER, LOWER, NEWLINE, NUMBER, OTHER, SPACE, UPPER, class_of};
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

/// What no byte has, and so says that it begins characters of three bytes, which are all letters without case: most of
/// Chinese and Korean, which is classified without a look at the other bytes.
const CASELESS_LEAD: u64 = bit(true, LOWERS) | bit(true, SPACES);

/// For each byte a bit in the byte of each word that it belongs to. Of bytes beyond ASCII, only [`CASELESS_LEAD`] has any.
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
    // A lead stands for 4096 code points; that of the first ones begins fewer.
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

/// The classes of the bytes from `start` on. A byte without one is not decided here: it is past the end of the text, say.
#[derive(Debug, Clone)]
pub(super) struct Window {
    start: usize,
    classes: Classes,
}

#[derive(Debug, Clone, Copy, Default)]
struct Classes {
    words: [u64; WORDS],
    /// Of the lower ones, those that may stand among capitals too: letters without case, and the marks on a letter.
    either: u64,
    /// All but the last byte of each other beyond ASCII.
    inner: u64,
}

impl Classes {
    fn from(&self, offset: usize) -> Self {
        let words = self.words.map(|word| word >> offset);
        Self { words, either: self.either >> offset, inner: self.inner >> offset }
    }

    /// The bytes that have a class.
    #[inline]
    fn known(&self) -> u64 {
        let [uppers, lowers, numbers, others, spaces, ..] = self.words;
        uppers | lowers | numbers | others | spaces
    }
}

// What a character beyond ASCII is here. What the scanner decides is of the first kind.
const SCANNED: u8 = 0;
const CAPITAL: u8 = 1;
const SMALL: u8 = 2;
const CASELESS: u8 = 3;
const MARK: u8 = 4;
const NEITHER: u8 = 5;
/// A power of two, so that an index is known to be below it.
const KINDS: usize = 8;

/// The kind of every character of two bytes: half of the time of Cyrillic, Greek, Arabic and Hebrew was to ask for it.
static TWO_BYTES: [u8; 0x800] = {
    let mut kinds = [SCANNED; 0x800];
    let mut code_point = 0x80;
    while code_point < kinds.len() {
        // The long s is an s where case does not matter: it may be of a contraction.
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
        self.classes = ascii_classes(bytes);
        let beyond = !self.classes.known();
        if beyond != 0 {
            self.classify_beyond_ascii(encoding, bytes, beyond);
        }
    }

    /// Adds the classes of the characters beyond ASCII, whose bytes are `rest`, up to the first of four bytes.
    fn classify_beyond_ascii(&mut self, encoding: Encoding, bytes: &[u8; WIDTH], mut rest: u64) {
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
                // Padding, what does not end in the window, and what the scanner is faster with.
                break;
            };
            let character = low_bits(length) << at;
            rest &= !character;
            kinds[usize::from(kind) % KINDS] |= character;
            inner |= character & character >> 1;
        }

        let [_, capitals, small, caseless, marks, mut other, ..] = kinds;
        let [uppers, lowers, _, others, ..] = &mut self.classes.words;
        *uppers |= capitals;
        *lowers |= small | caseless;
        let mut either = caseless | self.classes.either;
        match encoding {
            Encoding::O200kBase => {
                // Marks on a letter are of its word: the carry runs through them. What others do is not decided here.
                let on_letters = marks & !marks.wrapping_add(marks & after(*uppers | *lowers));
                *lowers |= on_letters;
                either |= on_letters;
            }
            Encoding::Cl100kBase => other |= marks,
        }
        *others |= other;
        self.classes.either = either;
        self.classes.inner = inner & other;
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
    // Of the last two, not all bytes are in the window.
    let whole = leads & low_bits(u64::BITS - 2);
    let either = whole | whole << 1 | whole << 2;
    words[LOWERS] = words[LOWERS] & !leads | either;
    words[SPACES] &= !leads;
    Classes { words, either, inner: 0 }
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
fn boundaries(encoding: Encoding, classes: &Classes) -> u64 {
    let Classes { words, either, inner } = *classes;
    let [uppers, lowers, numbers, others, spaces, ..] = words;
    let letters = uppers | lowers;
    let newlines = words[NEWLINES_AND_SLASHES] & spaces;
    let gaps = spaces & !newlines;
    let blanks = words[BLANKS_AND_APOSTROPHES] & spaces;
    let apostrophes = words[BLANKS_AND_APOSTROPHES] & others;
    let known_bytes = classes.known();

    // ` ?[^\s\p{L}\p{N}]+` takes the space before it; alone and without the space, an other may lead a word.
    let other_starts = others & !after(others | blanks);
    // Its last byte, where it has several: the carry runs through the inner ones.
    let leads = other_starts & !inner | (other_starts & inner).wrapping_add(inner) & !inner;
    // `[\r\n]*` after it takes all newlines: the carry of an addition runs through them.
    let tail = newlines & !newlines.wrapping_add(newlines & after(others));

    // What this cannot decide: contractions, also with a letter that has no class; in `o200k_base` a slash after the
    // newlines of a tail, and a capital after what may be one or not.
    let contracts = apostrophes & !before(known_bytes & !words[CONTRACTED]);
    let undecided = match encoding {
        Encoding::O200kBase => {
            let slashes = words[NEWLINES_AND_SLASHES] & others;
            contracts & after(letters) | slashes & after(tail) | uppers & after(either)
        }
        Encoding::Cl100kBase => contracts & other_starts,
    };
    let known = (known_bytes & !undecided).trailing_ones();

    // A word takes one character before it: a space that is no newline, or a single other.
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

#[inline]
fn low_bits(count: u32) -> u64 {
    if count < u64::BITS { (1 << count) - 1 } else { u64::MAX }
}
