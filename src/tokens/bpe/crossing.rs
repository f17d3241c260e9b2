//! The pairs of characters that a token may span. The build script shares this code. It visits every token, and sets a
//! bit for each two adjacent characters in it; either character may be incomplete.

/// Number of bits in the table: 64 KB. `o200k_base` sets one in 23.
pub(crate) const CROSSING_BITS: usize = 1 << HASH_BITS;
const HASH_BITS: u32 = 19;
/// Multiplier of the hash: 2^64 divided by the golden ratio.
const HASH: u64 = 0x9E37_79B9_7F4A_7C15;

/// A character as a number: its bytes, the last one lowest. Each byte of an incomplete character is a number by itself.
#[derive(Clone, Copy)]
pub(crate) struct Character(pub(crate) u32);

impl Character {
    /// Returns the character at `at`, and its end. If the character is incomplete, it is its first byte.
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

/// Returns the bit that tells if a token contains both characters.
#[inline]
pub(crate) fn whole_bit(left: Character, right: Character) -> usize {
    let pair = u64::from(left.0) << u32::BITS | u64::from(right.0);
    (pair.wrapping_mul(HASH) >> (u64::BITS - HASH_BITS)) as usize
}

/// Returns the bit that tells if a token begins inside the left character. Only the last byte of that counts, with a
/// mark that no character has.
#[inline]
pub(crate) fn leaving_bit(left: Character, right: Character) -> usize {
    whole_bit(Character(left.0 & 0xFF | 0x100), right)
}

/// Returns the bit that tells if a token ends inside the right character. Its first two bytes count, or the first of
/// two.
#[inline]
pub(crate) fn entering_bit(left: Character, right: Character) -> usize {
    whole_bit(left, Character(if right.0 >> 24 == 0 { right.0 >> 8 } else { right.0 >> 16 }))
}
