//! The pairs of characters that a token may reach across. Shared with the build script, which looks at every token and
//! sets a bit for each two neighbours in it, of which either may be there in part.

/// Bits of the table: 64 KB. `o200k_base` sets one in 23.
pub(crate) const CROSSING_BITS: usize = 1 << HASH_BITS;
const HASH_BITS: u32 = 19;
/// Multiplier of the hash: 2^64 divided by the golden ratio.
const HASH: u64 = 0x9E37_79B9_7F4A_7C15;

/// A character as a number: its bytes, of which the last is the lowest. A byte of one that is not whole is one by itself.
#[derive(Clone, Copy)]
pub(crate) struct Character(pub(crate) u32);

impl Character {
    /// The character at `at`, and where it ends; where it is not whole, its first byte.
    #[inline]
    pub(crate) fn at(text: &[u8], at: usize) -> (Self, usize) {
        match text[at..] {
            [first @ 0xE0..=0xEF, second, third, ..] => (Self(u32::from_be_bytes([0, first, second, third])), at + 3),
            [first @ 0xC0..=0xDF, second, ..] => (Self(u32::from_be_bytes([0, 0, first, second])), at + 2),
            [first @ 0xF0..=0xF7, second, third, fourth, ..] => {
                (Self(u32::from_be_bytes([first, second, third, fourth])), at + 4)
            }
            _ => (Self(text[at].into()), at + 1),
        }
    }
}

/// The bit that says whether a token holds two neighbours.
#[inline]
pub(crate) fn whole_bit(left: Character, right: Character) -> usize {
    let pair = u64::from(left.0) << u32::BITS | u64::from(right.0);
    (pair.wrapping_mul(HASH) >> (u64::BITS - HASH_BITS)) as usize
}

/// The bit that says whether a token begins inside the left one. Of that only the last byte counts, with a mark that no
/// character has.
#[inline]
pub(crate) fn leaving_bit(left: Character, right: Character) -> usize {
    whole_bit(Character(left.0 & 0xFF | 0x100), right)
}

/// The bit that says whether a token ends inside the right one. Of that the first two bytes count, or the first of two.
#[inline]
pub(crate) fn entering_bit(left: Character, right: Character) -> usize {
    whole_bit(left, Character(if right.0 >> 24 == 0 { right.0 >> 8 } else { right.0 >> 16 }))
}
