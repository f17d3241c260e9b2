//! The merges of an encoding: pairs of tokens, and the rank of each.
//!
//! A token is identified by its rank, and only one pair of tokens ever merges to it. Merging its own bytes ends with
//! that pair, and the same bytes inside a longer piece are merged in the same order. So the table has one entry for
//! each token, a single word, and looking up neither hashes nor compares the bytes of a piece. The build script writes
//! the pairs. The table is built on first use, in less than 10 ms.

use std::fmt;
use std::sync::OnceLock;

use super::crossing::{CROSSING_BITS, Character, entering_bit, leaving_bit, whole_bit};
use super::encoding::Encoding;
use crate::shared::once;

/// The rank of two tokens that do not merge. It is larger than every rank, so the smallest rank is the best merge.
pub(super) const NO_TOKEN: u32 = u32::MAX;

static O200K_BASE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.merges"));
static CL100K_BASE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.merges"));

static O200K_CROSSINGS: &Crossings = include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.crossings"));
static CL100K_CROSSINGS: &Crossings = include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.crossings"));
type Crossings = [u8; CROSSING_BITS / 8];

static O200K_ALONE: &Alone = include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.alone"));
static CL100K_ALONE: &Alone = include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.alone"));
/// Two bits for each code point of up to three bytes.
type Alone = [u8; (1 << 16) / 4];

/// Maximum length of a token in bytes. The build script checks it.
pub(super) const LONGEST_TOKEN: usize = 128;

/// Bytes of a token's entry from the build script: the rank of the right part above that of the left. For a single
/// byte, the right part is [`NO_RIGHT`] and the left part is the byte.
const MERGE_BYTES: usize = 5;
const RANK_BITS: u32 = 18;
const RANK_MASK: u64 = (1 << RANK_BITS) - 1;
const NO_RIGHT: u64 = RANK_MASK;

/// Number of slots in the table: 2 MB. A power of two, of which `o200k_base` fills three quarters. The filter avoids
/// misses.
const SLOT_BITS: u32 = 18;
const SLOTS: usize = 1 << SLOT_BITS;

/// Number of bits in the filter before the table, as a power of two: 256 KB. `o200k_base` sets one bit in eleven.
const FILTER_BITS: u32 = 21;
const FILTER_WORDS: usize = 1 << (FILTER_BITS - 6);

/// Number of pairs of bytes.
const BYTE_PAIRS: usize = 1 << 16;

const _: () = assert!(O200K_BASE.len() / MERGE_BYTES < SLOTS && CL100K_BASE.len() / MERGE_BYTES < SLOTS);

/// Multiplier of the hash: 2^64 divided by the golden ratio.
const HASH: u64 = 0x9E37_79B9_7F4A_7C15;

/// The tokens of one encoding.
pub(super) struct Vocabulary {
    /// Each a pair of tokens above the rank of the token that they merge to; 0 if the slot is empty.
    slots: Box<[u64; SLOTS]>,
    /// One bit for each hash of a pair. It fits into the second-level cache, and answers most look-ups, because few
    /// adjacent tokens merge.
    filter: Box<[u64; FILTER_WORDS]>,
    /// The rank of every two bytes, with which every merge begins.
    byte_pairs: Box<[u32; BYTE_PAIRS]>,
    /// The rank of every byte.
    bytes: [u32; 256],
    /// The length of each token in bytes, by rank.
    lengths: Box<[u8]>,
    merges: &'static [[u8; MERGE_BYTES]],
    crossings: &'static Crossings,
    alone: &'static Alone,
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Vocabulary").finish_non_exhaustive()
    }
}

impl Vocabulary {
    /// Returns the vocabulary of `encoding`, built on first use.
    pub(super) fn of(encoding: Encoding) -> &'static Self {
        static O200K: OnceLock<Vocabulary> = OnceLock::new();
        static CL100K: OnceLock<Vocabulary> = OnceLock::new();
        match encoding {
            Encoding::O200kBase => once(&O200K, || Self::new(O200K_BASE, O200K_CROSSINGS, O200K_ALONE)),
            Encoding::Cl100kBase => once(&CL100K, || Self::new(CL100K_BASE, CL100K_CROSSINGS, CL100K_ALONE)),
        }
    }

    fn new(merges: &'static [u8], crossings: &'static Crossings, alone: &'static Alone) -> Self {
        let (merges, _) = merges.as_chunks::<MERGE_BYTES>();
        let mut slots = boxed::<u64, SLOTS>(0);
        let mut filter = boxed::<u64, FILTER_WORDS>(0);
        let mut byte_pairs = boxed::<u32, BYTE_PAIRS>(NO_TOKEN);
        let mut bytes = [NO_TOKEN; 256];
        // The byte of each rank that is a single byte.
        let mut byte_of = [None; 256];
        let mut lengths = vec![1_u8; merges.len()].into_boxed_slice();

        for (&merge, rank) in merges.iter().zip(0_u32..) {
            let pair = pair_of(merge);
            let (left, right) = ((pair & RANK_MASK) as usize, (pair >> RANK_BITS) as usize);
            if pair >> RANK_BITS == NO_RIGHT {
                bytes[left] = rank;
                if let Some(byte) = byte_of.get_mut(rank as usize) {
                    *byte = Some(left);
                }
                continue;
            }
            lengths[rank as usize] = lengths[left] + lengths[right];
            if let (Some(&Some(left)), Some(&Some(right))) = (byte_of.get(left), byte_of.get(right)) {
                byte_pairs[left << 8 | right] = rank;
            }
            let hash = pair.wrapping_mul(HASH);
            let (word, bit) = filter_bit(hash);
            filter[word] |= bit;
            let mut slot = first_slot(hash);
            while slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = pair << RANK_BITS | u64::from(rank);
        }
        Self { slots, filter, byte_pairs, bytes, lengths, merges, crossings, alone }
    }

    /// Returns the bytes and length of those of the first `count` tokens that have at most `longest` bytes, which is at
    /// most 16. The first byte is the lowest. A token of a low rank is common in text.
    pub(super) fn first_tokens(&self, count: usize, longest: usize) -> impl DoubleEndedIterator<Item = (u128, usize)> {
        let mut tokens: Vec<u128> = Vec::with_capacity(count);
        for &merge in &self.merges[..count] {
            let pair = pair_of(merge);
            let (left, right) = ((pair & RANK_MASK) as usize, (pair >> RANK_BITS) as usize);
            tokens.push(if pair >> RANK_BITS == NO_RIGHT {
                left as u128
            } else {
                let right = tokens[right].checked_shl(8 * u32::from(self.lengths[left]));
                tokens[left] | right.unwrap_or(0)
            });
        }
        let lengths = self.lengths[..count].iter().map(|&length| usize::from(length));
        tokens.into_iter().zip(lengths).filter(move |&(_, length)| length <= longest)
    }

    /// Returns the token of a single byte.
    #[inline]
    pub(super) fn of_byte(&self, byte: u8) -> u32 {
        self.bytes[usize::from(byte)]
    }

    /// Returns the token of two bytes, or [`NO_TOKEN`].
    #[inline]
    pub(super) fn of_bytes(&self, first: u8, second: u8) -> u32 {
        self.byte_pairs[usize::from(first) << 8 | usize::from(second)]
    }

    /// Returns the token of a character whose bytes merge one after the other; [`NO_TOKEN`] if they do not.
    #[inline]
    pub(super) fn of_character(&self, bytes: &[u8]) -> u32 {
        match *bytes {
            [byte] => self.of_byte(byte),
            [first, second, ref rest @ ..] => rest.iter().fold(self.of_bytes(first, second), |token, &byte| {
                if token == NO_TOKEN { token } else { self.merged(token, self.of_byte(byte)) }
            }),
            [] => NO_TOKEN,
        }
    }

    /// Returns the token that two tokens merge to, or [`NO_TOKEN`].
    #[inline]
    pub(super) fn merged(&self, left: u32, right: u32) -> u32 {
        let pair = u64::from(right) << RANK_BITS | u64::from(left);
        let hash = pair.wrapping_mul(HASH);
        let (word, bit) = filter_bit(hash);
        if self.filter[word] & bit == 0 {
            return NO_TOKEN;
        }
        let mut slot = first_slot(hash);
        loop {
            let found = self.slots[slot];
            if found >> RANK_BITS == pair {
                return (found & RANK_MASK) as u32;
            }
            if found == 0 {
                return NO_TOKEN;
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// True if a token may contain two adjacent characters, or parts of them. Sometimes true though no token does.
    #[inline]
    pub(super) fn joins(&self, left: Character, right: Character) -> bool {
        // Any two ASCII characters are adjacent in some token.
        ((left.0 | right.0) < 0x80) | self.crossing(whole_bit(left, right)) | self.breaks(left, right)
    }

    /// True if a token may contain two adjacent characters, but one only in part. Sometimes true though no token does.
    #[inline]
    pub(super) fn breaks(&self, left: Character, right: Character) -> bool {
        self.crossing(leaving_bit(left, right)) | self.crossing(entering_bit(left, right))
    }

    /// Returns the number of tokens of a three-byte character by itself.
    #[inline]
    pub(super) fn alone(&self, character: Character) -> usize {
        let Character(bytes) = character;
        let character = (bytes >> 4 & 0xF000 | bytes >> 2 & 0xFC0 | bytes & 0x3F) as usize;
        usize::from(self.alone[character / 4] >> (character % 4 * 2) & 3) + 1
    }

    #[inline]
    fn crossing(&self, bit: usize) -> bool {
        self.crossings[bit / 8] >> (bit % 8) & 1 != 0
    }

    /// Returns the length of a token in bytes.
    #[inline]
    pub(super) fn length(&self, token: u32) -> usize {
        self.lengths[token as usize].into()
    }
}

/// Reads a token's entry from the build script.
#[inline]
fn pair_of(merge: [u8; MERGE_BYTES]) -> u64 {
    let mut word = [0; 8];
    word[..MERGE_BYTES].copy_from_slice(&merge);
    u64::from_le_bytes(word)
}

/// Returns the word of the filter, and the bit in it.
#[inline]
fn filter_bit(hash: u64) -> (usize, u64) {
    let bit = hash >> (u64::BITS - FILTER_BITS);
    ((bit >> 6) as usize, 1 << (bit & 63))
}

#[inline]
fn first_slot(hash: u64) -> usize {
    (hash >> (u64::BITS - SLOT_BITS)) as usize
}

/// Returns an array on the heap, because the stack would be too small for it.
pub(super) fn boxed<T: Clone, const N: usize>(value: T) -> Box<[T; N]> {
    match vec![value; N].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("the vector was made with this length"),
    }
}
