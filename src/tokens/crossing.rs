//! Where a token may reach from inside one character into another. Shared with the build script, which finds the places
//! and sets a bit for the bytes around each.

/// Bits of the table: 16 KB. Either encoding sets few of them.
pub(crate) const CROSSING_BITS: usize = 1 << HASH_BITS;
const HASH_BITS: u32 = 17;
/// Multiplier of the hash: 2^32 divided by the golden ratio.
const HASH: u32 = 0x9E37_79B9;

/// The bit that says whether a token begins inside a character and goes on to the next: the last byte of the one and the
/// first two of the other.
#[inline]
pub(crate) fn leaving_bit([last, first, second]: [u8; 3]) -> usize {
    bit([last, first, second, b'>'])
}

/// The bit that says whether a token comes from before a character and ends inside it: the two bytes before it, and its
/// first. The earlier of the two is 0 where the other is a character by itself.
#[inline]
pub(crate) fn entering_bit([earlier, before, first]: [u8; 3]) -> usize {
    bit([earlier, before, first, b'<'])
}

#[inline]
fn bit(key: [u8; 4]) -> usize {
    (u32::from_le_bytes(key).wrapping_mul(HASH) >> (u32::BITS - HASH_BITS)) as usize
}

/// Whether a byte of UTF-8 goes on with a character.
#[inline]
pub(crate) const fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
