//! The cost of a byte after another: the table behind [`Estimate`](super::Estimate).
//!
//! A tokenizer starts a token where the text changes: at a word, a capital, a digit after a letter, a sign after a
//! space. So a table over pairs of adjacent bytes, in a few dozen classes, predicts most of its work, with one look-up
//! for each byte. The weights were fitted (non-negative least absolute deviations) to the prompt sizes that Anthropic
//! reported for 2,781 requests of coding agents, and to 62 kinds of text, from 20 languages to base64. The tokens of
//! those texts in `o200k_base` were multiplied by 1.28, the ratio between the two on agent text. The weights are then
//! raised by 3.5 %, which changes the total from 4.5 % low to 1 % low, because a provider's hidden additions are in the
//! total and in no text. `docs/decisions` has the method and the errors.

use super::letters::{LetterFrequency, following};

use ByteClass::{Blank, Capital, Consonant, Digit, Inside, Lead, LineEnd, Rare, Sign, Vowel};
use Bytes::{Of, To};

/// The unit of a weight: this many are a token.
pub(super) const UNIT: u64 = 1_000;

/// The class of each byte.
pub(super) static CLASSES: [u8; 256] = classes();

/// The cost of a byte, by its class and the class of the byte before it: see [`pair`].
pub(super) static WEIGHTS: [u16; PAIRS] = weights();

/// The class before the beginning of a text: a line end.
pub(super) const BEGINNING: u8 = CLASSES[b'\n' as usize];

/// Returns the index of the weight of two classes.
#[inline]
pub(super) const fn pair(before: u8, class: u8) -> usize {
    // The mask shows the compiler that no pair is outside the table.
    ((before as usize) << CLASS_BITS | class as usize) & (PAIRS - 1)
}

/// Returns the cost of each byte in a long run of one byte. The published vocabularies have tokens of 8 letters, of 3
/// digits and of 16 to 128 signs or blanks. The costs are their counts in `o200k_base`, times 1.28, rounded up.
pub(super) const fn in_a_run(byte: u8) -> u64 {
    match byte {
        b'0'..=b'9' => 430,
        b' ' => 10,
        b'\n' | b'\r' | b'\t' => 80,
        b'_' | b'-' | b'=' | b'*' | b'#' | b'.' | b'/' | b'+' | b'~' | b'%' => 40,
        _ if byte.is_ascii_graphic() => 320,
        _ => 1_000,
    }
}

const CLASS_BITS: u32 = 6;
const PAIRS: usize = 1 << (2 * CLASS_BITS);

/// The class of the previous byte: the columns of the table.
#[derive(Clone, Copy)]
enum ByteClass {
    Vowel,
    Consonant,
    Rare,
    Capital,
    Digit,
    Blank,
    LineEnd,
    Sign,
    /// The later bytes of a character outside ASCII.
    Inside,
    /// The first byte of a character outside ASCII, and control characters.
    Lead,
}

enum Bytes {
    Of(&'static [u8]),
    To(u8, u8),
}

/// A class of bytes.
struct Row {
    bytes: Bytes,
    group: ByteClass,
    /// Its weight after each group, in order.
    after: [u16; 10],
    /// Its weight after a byte of the same class.
    same: u16,
}

/// Control characters and bytes that UTF-8 does not have: the class of every byte that no row names. Each is a token.
const CONTROL: Row = Row { bytes: Of(b""), group: Lead, after: [1_000; 10], same: 1_000 };

#[rustfmt::skip]
const ROWS: [Row; 36] = [
    Row { bytes: Of(b"aeiou"), group: Vowel, after: [0, 150, 0, 305, 665, 1032, 1734, 664, 298, 539], same: 0 },
    Row { bytes: Of(b"bcdfghlmnprst"), group: Consonant, after: [0, 57, 0, 244, 605, 209, 1428, 810, 6, 373], same: 57 },
    Row { bytes: Of(b"jkqvwxyz"), group: Rare, after: [0, 326, 270, 819, 622, 725, 1058, 796, 692, 590], same: 270 }, // letters that few English words have
    Row { bytes: To(b'A', b'Z'), group: Capital, after: [1045, 1402, 1289, 1045, 1401, 261, 995, 900, 1071, 1045], same: 321 },
    Row { bytes: To(b'0', b'9'), group: Digit, after: [1488, 1654, 2256, 2061, 384, 1325, 798, 1111, 1407, 1387], same: 384 },
    Row { bytes: Of(b" "), group: Blank, after: [382, 512, 223, 238, 1145, 471, 926, 0, 381, 476], same: 111 },
    Row { bytes: Of(b"\n\r"), group: LineEnd, after: [2048, 1495, 1551, 1471, 1827, 1163, 1436, 788, 1144, 1436], same: 0 },
    Row { bytes: Of(b"\t"), group: Blank, after: [1080, 1103, 1279, 1279, 1237, 1113, 1544, 1265, 1209, 1234], same: 0 },
    Row { bytes: Of(b"_"), group: Sign, after: [2324, 1043, 2190, 359, 1479, 1266, 1449, 1262, 1422, 1422], same: 0 },
    Row { bytes: Of(b"-"), group: Sign, after: [771, 1068, 1305, 881, 1104, 388, 573, 2456, 1220, 1085], same: 186 },
    Row { bytes: Of(b"="), group: Sign, after: [711, 1044, 817, 748, 779, 607, 993, 470, 769, 771], same: 0 },
    Row { bytes: Of(b"*"), group: Sign, after: [0, 0, 73, 68, 52, 369, 3, 152, 0, 80], same: 0 },
    Row { bytes: Of(b"#"), group: Sign, after: [166, 198, 158, 182, 153, 0, 0, 512, 50, 158], same: 0 },
    Row { bytes: Of(b"~+"), group: Sign, after: [858, 1437, 843, 864, 811, 689, 882, 170, 822, 820], same: 170 },
    Row { bytes: Of(b"."), group: Sign, after: [1022, 1062, 1706, 1566, 745, 1351, 1511, 1172, 1176, 1257], same: 0 },
    Row { bytes: Of(b",:;!?"), group: Sign, after: [1558, 1285, 1059, 1095, 893, 629, 893, 388, 1400, 1022], same: 388 },
    Row { bytes: Of(b"/"), group: Sign, after: [1195, 1323, 1043, 773, 1000, 754, 0, 1607, 524, 913], same: 0 },
    Row { bytes: Of(b"\\"), group: Sign, after: [165, 0, 240, 268, 448, 0, 379, 330, 395, 247], same: 330 },
    Row { bytes: Of(b"\"'`"), group: Sign, after: [1500, 197, 367, 985, 168, 1118, 0, 974, 708, 669], same: 974 },
    Row { bytes: Of(b"([{<"), group: Sign, after: [1445, 695, 948, 584, 806, 1251, 1193, 115, 936, 636], same: 115 },
    Row { bytes: Of(b")]}>"), group: Sign, after: [927, 566, 633, 988, 1570, 544, 267, 0, 809, 700], same: 0 },
    Row { bytes: Of(b"@$%^&|"), group: Sign, after: [1010, 1437, 1085, 1175, 1112, 624, 1080, 0, 1075, 955], same: 0 },
    Row { bytes: To(0x80, 0xBF), group: Inside, after: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0], same: 0 }, // inside a character beyond ASCII
    Row { bytes: Of(b"\xC2"), group: Lead, after: [1439, 1467, 1433, 1425, 1379, 1419, 1437, 1429, 1450, 1431], same: 1431 }, // Latin-1 signs
    Row { bytes: To(0xC3, 0xCD), group: Lead, after: [1772, 1597, 1814, 1706, 1701, 1582, 1691, 1702, 1749, 1702], same: 1702 }, // Latin letters with accents
    Row { bytes: To(0xCE, 0xCF), group: Lead, after: [471, 472, 472, 471, 472, 379, 484, 506, 517, 472], same: 472 }, // Greek
    Row { bytes: To(0xD0, 0xD3), group: Lead, after: [558, 558, 559, 575, 558, 763, 458, 675, 315, 558], same: 558 }, // Cyrillic
    Row { bytes: To(0xD4, 0xDF), group: Lead, after: [485, 481, 485, 484, 484, 244, 583, 586, 530, 485], same: 485 }, // Armenian, Hebrew, Arabic
    Row { bytes: Of(b"\xE0"), group: Lead, after: [440, 439, 440, 441, 442, 0, 593, 561, 606, 440], same: 440 }, // Indic scripts, Thai
    Row { bytes: Of(b"\xE1"), group: Lead, after: [170, 0, 202, 213, 236, 223, 294, 267, 516, 236], same: 236 }, // Georgian, Khmer, Vietnamese
    Row { bytes: Of(b"\xE2"), group: Lead, after: [425, 701, 423, 420, 0, 669, 240, 385, 374, 404], same: 404 }, // typographic signs, lines of boxes
    Row { bytes: Of(b"\xE3"), group: Lead, after: [894, 898, 891, 885, 892, 938, 896, 892, 839, 892], same: 892 }, // kana, CJK punctuation
    Row { bytes: To(0xE4, 0xE9), group: Lead, after: [1412, 1412, 1413, 1377, 1415, 1509, 1373, 1510, 1286, 1412], same: 1412 }, // CJK ideographs
    Row { bytes: To(0xEA, 0xED), group: Lead, after: [933, 935, 933, 960, 939, 967, 909, 952, 874, 933], same: 933 }, // Hangul
    Row { bytes: To(0xEE, 0xEF), group: Lead, after: [1313, 1313, 1313, 1313, 1313, 1313, 1313, 1313, 1313, 1313], same: 1313 }, // full-width forms, private use
    Row { bytes: To(0xF0, 0xF7), group: Lead, after: [2324, 2308, 2324, 2324, 2324, 2333, 2324, 2324, 2330, 2324], same: 2324 }, // emoji and the like
];

/// The additional cost of a small letter that seldom or hardly ever follows the one before it.
const SEVERED: (u16, u16) = (627, 1_506);

/// Number of the first classes, each of which is one small letter.
const LETTERS: usize = 26;

/// Returns the row of a class. The row of control characters is the last.
const fn row_of_class(class: usize) -> usize {
    if class >= LETTERS {
        return class - LETTERS;
    }
    let mut row = 0;
    while row < ROWS.len() {
        if let Of(bytes) = ROWS[row].bytes {
            let mut at = 0;
            while at < bytes.len() {
                if bytes[at] as usize == b'a' as usize + class {
                    return row;
                }
                at += 1;
            }
        }
        row += 1;
    }
    row
}

const fn row(index: usize) -> &'static Row {
    if index < ROWS.len() { &ROWS[index] } else { &CONTROL }
}

#[allow(clippy::cast_possible_truncation)] // There are at most 64 classes.
const fn classes() -> [u8; 256] {
    let mut classes = [(LETTERS + ROWS.len()) as u8; 256];
    let mut row = 0;
    while row < ROWS.len() {
        let class = (LETTERS + row) as u8;
        match ROWS[row].bytes {
            Of(bytes) => {
                let mut at = 0;
                while at < bytes.len() {
                    classes[bytes[at] as usize] = class;
                    at += 1;
                }
            }
            To(first, last) => {
                let mut byte = first;
                while byte <= last {
                    classes[byte as usize] = class;
                    byte += 1;
                }
            }
        }
        row += 1;
    }
    let mut letter = 0;
    while letter < LETTERS {
        classes[b'a' as usize + letter] = letter as u8;
        letter += 1;
    }
    classes
}

#[allow(clippy::cast_possible_truncation)] // There are at most 64 classes.
const fn weights() -> [u16; PAIRS] {
    let mut weights = [0; PAIRS];
    let mut before = 0;
    while before <= LETTERS + ROWS.len() {
        let mut class = 0;
        while class <= LETTERS + ROWS.len() {
            let (left, right) = (row_of_class(before), row_of_class(class));
            let base = if left == right { row(right).same } else { row(right).after[row(left).group as usize] };
            weights[pair(before as u8, class as u8)] = base + severed(before, class);
            class += 1;
        }
        before += 1;
    }
    weights
}

#[allow(clippy::cast_possible_truncation)] // They are below 26.
const fn severed(before: usize, class: usize) -> u16 {
    if before >= LETTERS || class >= LETTERS {
        return 0;
    }
    match following(b'a' + before as u8, b'a' + class as u8) {
        LetterFrequency::Often => 0,
        LetterFrequency::Seldom => SEVERED.0,
        LetterFrequency::HardlyEver => SEVERED.1,
    }
}
