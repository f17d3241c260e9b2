//! The tokens of an encoding and their ranks, found by their bytes.
//!
//! The build script bakes the tokens into one blob. The table over it is built on first use, in less than 10 ms, and never
//! copies a token: a slot says where in the blob the token lies.

use std::fmt;
use std::sync::OnceLock;

use super::encoding::Encoding;

/// The rank of bytes that are no token. Larger than every rank, so that the least rank is the best merge.
pub(super) const NO_TOKEN: u32 = u32::MAX;

static O200K_BASE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.vocabulary"));
static CL100K_BASE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.vocabulary"));

/// No token is longer: the blob gives a length one byte.
pub(super) const LONGEST_TOKEN: usize = 255;

/// Slots in the table. A power of two; `o200k_base` fills 0.38 of them, so that most misses end at the first slot.
const SLOT_BITS: u32 = 19;
const SLOTS: usize = 1 << SLOT_BITS;

/// Bits in the filter before the table, as a power of two: 256 KB, of which `o200k_base` sets one bit in eleven.
const FILTER_BITS: u32 = 21;

// A slot, from the top: 16 bits of hash, 8 of length, 22 of place in the blob, 18 of rank. An empty slot is 0; no
// token has the length 0.
const RANK_BITS: u32 = 18;
const PLACE_BITS: u32 = 22;
const LENGTH_BITS: u32 = 8;
const MARK_BITS: u32 = LENGTH_BITS + 16;

const _: () = assert!(O200K_BASE.len() < 1 << PLACE_BITS && CL100K_BASE.len() < 1 << PLACE_BITS);
const _: () = assert!(RANK_BITS + PLACE_BITS + MARK_BITS == u64::BITS);

/// A token that is longer than this is compared byte by byte; up to it, two words hold all of it.
const TWO_WORDS: usize = 16;

/// Multipliers of the hash: digits of pi, which have no pattern.
const HASH_LOW: u64 = 0x243F_6A88_85A3_08D3;
const HASH_HIGH: u64 = 0x1319_8A2E_0370_7344;

/// The tokens of one encoding.
pub(super) struct Vocabulary {
    blob: &'static [u8],
    slots: Box<[u64]>,
    /// One bit for each hash that a token has. Small enough for the second cache level, where it answers most of the
    /// lookups of bytes that are no token.
    filter: Box<[u64]>,
    /// The rank of every two bytes: most lookups of a merge ask for these.
    pairs: Box<[u32]>,
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Vocabulary").finish_non_exhaustive()
    }
}

impl Vocabulary {
    /// The vocabulary of `encoding`, built when first asked for.
    pub(super) fn of(encoding: Encoding) -> &'static Self {
        static O200K: OnceLock<Vocabulary> = OnceLock::new();
        static CL100K: OnceLock<Vocabulary> = OnceLock::new();
        match encoding {
            Encoding::O200kBase => O200K.get_or_init(|| Self::new(O200K_BASE)),
            Encoding::Cl100kBase => CL100K.get_or_init(|| Self::new(CL100K_BASE)),
        }
    }

    fn new(blob: &'static [u8]) -> Self {
        let mut slots = vec![0; SLOTS].into_boxed_slice();
        let mut pairs = vec![NO_TOKEN; 1 << 16].into_boxed_slice();
        let mut filter = vec![0; 1 << (FILTER_BITS - 6)].into_boxed_slice();
        let mut at = 0;
        let mut rank = 0_u32;
        while at < blob.len() {
            let length = usize::from(blob[at]);
            let place = at + 1;
            let token = &blob[place..place + length];
            if let [first, second] = *token {
                pairs[pair(first, second)] = rank;
            }
            let hash = hash(token);
            let (word, bit) = filter_bit(hash);
            filter[word] |= bit;
            let mut slot = first_slot(hash);
            while slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] =
                mark(hash, length) << (PLACE_BITS + RANK_BITS) | (place as u64) << RANK_BITS | u64::from(rank);
            at = place + length;
            rank += 1;
        }
        Self { blob, slots, filter, pairs }
    }

    /// The rank of the token of two bytes, or [`NO_TOKEN`].
    #[inline]
    pub(super) fn rank_of_pair(&self, first: u8, second: u8) -> u32 {
        self.pairs[pair(first, second)]
    }

    /// The rank of the token with these bytes, or [`NO_TOKEN`].
    #[inline]
    pub(super) fn rank(&self, bytes: &[u8]) -> u32 {
        if bytes.len() > LONGEST_TOKEN {
            return NO_TOKEN;
        }
        let hash = hash(bytes);
        let (word, bit) = filter_bit(hash);
        if self.filter[word] & bit == 0 {
            return NO_TOKEN;
        }
        let mark = mark(hash, bytes.len());
        let mut slot = first_slot(hash);
        loop {
            let found = self.slots[slot];
            if found == 0 {
                return NO_TOKEN;
            }
            if found >> (PLACE_BITS + RANK_BITS) == mark {
                let place = (found >> RANK_BITS) as usize & ((1 << PLACE_BITS) - 1);
                if same(&self.blob[place..place + bytes.len()], bytes) {
                    return (found & ((1 << RANK_BITS) - 1)) as u32;
                }
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

#[inline]
fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

/// The word of the filter and the bit in it.
#[inline]
fn filter_bit(hash: u64) -> (usize, u64) {
    let bit = hash >> (u64::BITS - FILTER_BITS);
    ((bit >> 6) as usize, 1 << (bit & 63))
}

#[inline]
fn first_slot(hash: u64) -> usize {
    (hash >> (u64::BITS - SLOT_BITS)) as usize
}

/// The part of a slot that says whether the bytes are worth comparing.
#[inline]
fn mark(hash: u64, length: usize) -> u64 {
    (hash & 0xFFFF) << LENGTH_BITS | length as u64
}

/// Whether two byte strings of the same length are equal.
#[inline]
fn same(token: &[u8], bytes: &[u8]) -> bool {
    if bytes.len() <= TWO_WORDS { words(token) == words(bytes) } else { token == bytes }
}

#[inline]
fn hash(bytes: &[u8]) -> u64 {
    let (low, high) = words(bytes);
    let mut hash = mix(low ^ HASH_LOW, high ^ HASH_HIGH ^ bytes.len() as u64);
    if bytes.len() > TWO_WORDS {
        // The two words hold the first and the last bytes; between them, sixteen at a time.
        for chunk in bytes[8..bytes.len() - 8].chunks(TWO_WORDS) {
            let (low, high) = words(chunk);
            hash = mix(hash ^ low, high ^ HASH_HIGH);
        }
    }
    hash
}

#[inline]
fn mix(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    low_half(product) ^ low_half(product >> 64)
}

#[expect(clippy::cast_possible_truncation, reason = "the other half is not asked for")]
#[inline]
fn low_half(product: u128) -> u64 {
    product as u64
}

/// The first and the last bytes, overlapping where there are few. Up to sixteen bytes they hold all of them.
#[inline]
fn words(bytes: &[u8]) -> (u64, u64) {
    if bytes.len() >= 8 {
        (word::<8>(bytes.first_chunk()), word::<8>(bytes.last_chunk()))
    } else if bytes.len() >= 4 {
        (word::<4>(bytes.first_chunk()), word::<4>(bytes.last_chunk()))
    } else if let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) {
        let middle = bytes[bytes.len() / 2];
        (u64::from(first) << 8 | u64::from(middle), u64::from(last))
    } else {
        (0, 0)
    }
}

#[inline]
fn word<const BYTES: usize>(chunk: Option<&[u8; BYTES]>) -> u64 {
    let mut word = [0; 8];
    if let Some(chunk) = chunk {
        word[..BYTES].copy_from_slice(chunk);
    }
    u64::from_le_bytes(word)
}
