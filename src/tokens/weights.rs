//! What a byte costs after another: the table behind [`Estimate`](super::Estimate).
//!
//! A tokenizer starts a token where the text changes: at a word, a capital, a digit after a letter, a sign after a space.
//! So a table over pairs of neighbouring bytes, a few dozen classes of them, says most of what it does, and reading it
//! costs one look-up for each byte. The weights were fitted (non-negative least absolute deviations) on the prompt sizes
//! that Anthropic reported for 2,781 requests of coding agents, and on 60 kinds of text, from 20 languages to base64,
//! whose tokens in `o200k_base` were taken times 1.28, the ratio between the two on agent text. They are then raised by
//! 4 %, which takes the total from 5 % low to 1 % low: what a provider adds to a request unseen is in the total,
//! and in no text. `docs/decisions` has the method and the errors.

use Bytes::{Of, To};
use Group::{Blank, Capital, Consonant, Digit, Inside, Lead, LineEnd, Rare, Sign, Vowel};

/// What a weight is counted in: tokens times this.
pub(super) const UNIT: u64 = 1_000;

/// The class of each byte.
pub(super) static CLASSES: [u8; 256] = classes();

/// What a byte costs, by the class of the byte before it and its own: see [`pair`].
pub(super) static WEIGHTS: [u16; PAIRS] = weights();

/// The class that a text is taken to begin after: a line end.
pub(super) const BEGINNING: u8 = CLASSES[b'\n' as usize];

/// Where the weight of two classes is.
#[inline]
pub(super) const fn pair(before: u8, class: u8) -> usize {
    // The mask is what the compiler needs to see that no pair is outside the table.
    ((before as usize) << CLASS_BITS | class as usize) & (PAIRS - 1)
}

/// What each byte costs where one byte is repeated for long. The published vocabularies have tokens of 8 letters, of 3
/// digits and of 16 to 128 signs or blanks; these are their counts in `o200k_base`, times 1.28, rounded up.
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

/// What stands before a byte, in the columns of the table.
#[derive(Clone, Copy)]
enum Group {
    Vowel,
    Consonant,
    Rare,
    Capital,
    Digit,
    Blank,
    LineEnd,
    Sign,
    /// The later bytes of a character beyond ASCII.
    Inside,
    /// The first byte of one, and control characters.
    Lead,
}

enum Bytes {
    Of(&'static [u8]),
    To(u8, u8),
}

/// A class of bytes.
struct Row {
    bytes: Bytes,
    group: Group,
    /// Its weight after each group, in their order.
    after: [u16; 10],
    /// Its weight after a byte of the same class.
    same: u16,
}

/// Control characters and what no UTF-8 text has: the class of every byte that no row names. A token each.
const CONTROL: Row = Row { bytes: Of(b""), group: Lead, after: [1_000; 10], same: 1_000 };

#[rustfmt::skip]
const ROWS: [Row; 36] = [
    Row { bytes: Of(b"aeiou"), group: Vowel, after: [28, 92, 0, 441, 528, 485, 610, 598, 0, 309], same: 28 },
    Row { bytes: Of(b"bcdfghlmnprst"), group: Consonant, after: [0, 138, 0, 398, 923, 324, 230, 778, 0, 310], same: 138 },
    Row { bytes: Of(b"jkqvwxyz"), group: Rare, after: [308, 813, 1515, 1331, 1465, 1211, 1644, 800, 1678, 1598], same: 1515 }, // letters that few English words have
    Row { bytes: To(b'A', b'Z'), group: Capital, after: [1137, 1228, 835, 957, 1273, 249, 1066, 783, 1082, 957], same: 385 },
    Row { bytes: To(b'0', b'9'), group: Digit, after: [1577, 1700, 2050, 1772, 375, 1673, 1083, 980, 1426, 1405], same: 375 },
    Row { bytes: Of(b" "), group: Blank, after: [108, 330, 0, 293, 858, 521, 938, 0, 396, 383], same: 87 },
    Row { bytes: Of(b"\n\r"), group: LineEnd, after: [692, 656, 898, 1319, 1567, 648, 903, 545, 900, 903], same: 0 },
    Row { bytes: Of(b"\t"), group: Blank, after: [1301, 1503, 1458, 1480, 1421, 1525, 1597, 1031, 1086, 1378], same: 0 },
    Row { bytes: Of(b"_"), group: Sign, after: [2500, 1162, 2264, 857, 1734, 1534, 1700, 1561, 1671, 1674], same: 0 },
    Row { bytes: Of(b"-"), group: Sign, after: [1395, 1216, 1418, 1210, 1293, 916, 1276, 2500, 1584, 1447], same: 245 },
    Row { bytes: Of(b"="), group: Sign, after: [1291, 1179, 1261, 1347, 1235, 1124, 1354, 1012, 1224, 1225], same: 0 },
    Row { bytes: Of(b"*"), group: Sign, after: [0, 0, 172, 158, 195, 433, 62, 335, 94, 161], same: 0 },
    Row { bytes: Of(b"#"), group: Sign, after: [227, 409, 218, 241, 213, 4, 0, 560, 88, 218], same: 0 },
    Row { bytes: Of(b"~+"), group: Sign, after: [1223, 1795, 1178, 1267, 1203, 1354, 1264, 337, 1205, 1203], same: 337 },
    Row { bytes: Of(b"."), group: Sign, after: [1116, 1365, 1374, 1503, 1081, 1468, 2314, 1138, 1310, 1408], same: 29 },
    Row { bytes: Of(b",:;!?"), group: Sign, after: [1401, 1274, 779, 715, 772, 717, 778, 104, 1259, 866], same: 104 },
    Row { bytes: Of(b"/"), group: Sign, after: [1333, 1141, 472, 784, 779, 861, 0, 1545, 706, 846], same: 724 },
    Row { bytes: Of(b"\\"), group: Sign, after: [478, 0, 455, 609, 387, 0, 705, 288, 494, 380], same: 288 },
    Row { bytes: Of(b"\"'`"), group: Sign, after: [1809, 520, 484, 1090, 200, 1360, 236, 976, 811, 832], same: 976 },
    Row { bytes: Of(b"([{<"), group: Sign, after: [1267, 469, 708, 395, 720, 1650, 1200, 0, 764, 548], same: 0 },
    Row { bytes: Of(b")]}>"), group: Sign, after: [1388, 931, 713, 796, 1847, 1062, 539, 0, 949, 914], same: 0 },
    Row { bytes: Of(b"@$%^&|"), group: Sign, after: [1189, 1732, 1222, 1266, 1302, 835, 1184, 95, 1235, 1118], same: 95 },
    Row { bytes: To(0x80, 0xBF), group: Inside, after: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0], same: 0 }, // inside a character beyond ASCII
    Row { bytes: Of(b"\xC2"), group: Lead, after: [1822, 1848, 1814, 1814, 1759, 1807, 1824, 1815, 1833, 1815], same: 1815 }, // Latin-1 signs
    Row { bytes: To(0xC3, 0xCD), group: Lead, after: [2089, 2103, 2297, 2159, 2099, 1946, 2089, 2094, 2022, 2100], same: 2100 }, // Latin letters with accents
    Row { bytes: To(0xCE, 0xCF), group: Lead, after: [467, 469, 469, 469, 469, 372, 487, 497, 517, 469], same: 469 }, // Greek
    Row { bytes: To(0xD0, 0xD3), group: Lead, after: [519, 519, 520, 533, 519, 696, 432, 613, 320, 519], same: 519 }, // Cyrillic
    Row { bytes: To(0xD4, 0xDF), group: Lead, after: [479, 474, 478, 477, 477, 251, 581, 554, 530, 478], same: 478 }, // Armenian, Hebrew, Arabic
    Row { bytes: Of(b"\xE0"), group: Lead, after: [448, 447, 448, 449, 450, 0, 613, 569, 610, 448], same: 448 }, // Indic scripts, Thai
    Row { bytes: Of(b"\xE1"), group: Lead, after: [15, 0, 95, 102, 168, 165, 237, 195, 527, 168], same: 168 }, // Georgian, Khmer, Vietnamese
    Row { bytes: Of(b"\xE2"), group: Lead, after: [502, 716, 501, 497, 0, 908, 434, 455, 341, 484], same: 484 }, // typographic signs, lines of boxes
    Row { bytes: Of(b"\xE3"), group: Lead, after: [919, 926, 915, 914, 917, 953, 917, 921, 852, 915], same: 915 }, // kana, CJK punctuation
    Row { bytes: To(0xE4, 0xE9), group: Lead, after: [1364, 1364, 1364, 1330, 1366, 1461, 1335, 1419, 1266, 1363], same: 1363 }, // CJK ideographs
    Row { bytes: To(0xEA, 0xED), group: Lead, after: [925, 933, 926, 939, 932, 958, 917, 937, 868, 926], same: 926 }, // Hangul
    Row { bytes: To(0xEE, 0xEF), group: Lead, after: [1313, 1313, 1313, 1313, 1313, 1313, 1313, 1313, 1313, 1313], same: 1313 }, // full-width forms, private use
    Row { bytes: To(0xF0, 0xF7), group: Lead, after: [2483, 2467, 2483, 2483, 2483, 2487, 2483, 2488, 2490, 2483], same: 2483 }, // emoji and the like
];

const fn row(class: usize) -> &'static Row {
    if class < ROWS.len() { &ROWS[class] } else { &CONTROL }
}

#[allow(clippy::cast_possible_truncation)] // There are fewer than 64 rows.
const fn classes() -> [u8; 256] {
    let mut classes = [ROWS.len() as u8; 256];
    let mut class = 0;
    while class < ROWS.len() {
        match ROWS[class].bytes {
            Of(bytes) => {
                let mut at = 0;
                while at < bytes.len() {
                    classes[bytes[at] as usize] = class as u8;
                    at += 1;
                }
            }
            To(first, last) => {
                let mut byte = first;
                while byte <= last {
                    classes[byte as usize] = class as u8;
                    byte += 1;
                }
            }
        }
        class += 1;
    }
    classes
}

#[allow(clippy::cast_possible_truncation)] // There are fewer than 64 rows.
const fn weights() -> [u16; PAIRS] {
    let mut weights = [0; PAIRS];
    let mut before = 0;
    while before <= ROWS.len() {
        let mut class = 0;
        while class <= ROWS.len() {
            let weight = if class == before { row(class).same } else { row(class).after[row(before).group as usize] };
            weights[pair(before as u8, class as u8)] = weight;
            class += 1;
        }
        before += 1;
    }
    weights
}
