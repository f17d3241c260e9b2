//! Remembers how many tokens short pieces have.
//!
//! Text repeats its words. One table for each thread and encoding, of a size that stays in the second cache level:
//! looking up costs less than the vocabulary, and much less than a merge.

use std::cell::RefCell;

use super::encoding::Encoding;

/// Entries in a table: 512 KB.
const ENTRY_BITS: u32 = 15;
/// The longest piece that fits into an entry beside its length and count.
const LONGEST: usize = 15;
/// Where the length and the count of an entry are, above its bytes.
const LENGTH_AT: u32 = 120;
const COUNT_AT: u32 = 124;

/// Multiplier of the hash: 2^64 divided by the golden ratio.
const HASH: u64 = 0x9E37_79B9_7F4A_7C15;

thread_local! {
    static O200K: RefCell<Memo> = const { RefCell::new(Memo { entries: Vec::new() }) };
    static CL100K: RefCell<Memo> = const { RefCell::new(Memo { entries: Vec::new() }) };
}

/// A direct-mapped table from a short piece to its number of tokens: a later piece takes the place of an earlier.
#[derive(Debug)]
pub(super) struct Memo {
    /// Each the bytes of a piece, its length in four bits and its count in four; 0 where there is none.
    entries: Vec<u128>,
}

impl Memo {
    /// Runs `work` with this thread's memo for `encoding`. `work` must not ask for it again.
    pub(super) fn with<R>(encoding: Encoding, work: impl FnOnce(&mut Self) -> R) -> R {
        let memo = match encoding {
            Encoding::O200kBase => &O200K,
            Encoding::Cl100kBase => &CL100K,
        };
        memo.with_borrow_mut(|memo| {
            if memo.entries.is_empty() {
                memo.entries = vec![0; 1 << ENTRY_BITS];
            }
            work(memo)
        })
    }

    /// The number of tokens in `text[start..end]`: the one remembered, or else what `count` says.
    #[inline]
    pub(super) fn count(&mut self, text: &[u8], start: usize, end: usize, count: impl FnOnce(&[u8]) -> usize) -> usize {
        let length = end - start;
        if length > LONGEST {
            return count(&text[start..end]);
        }
        let key = key(text, start, length);
        let entry = &mut self.entries[place(key)];
        if *entry & ((1 << COUNT_AT) - 1) == key {
            return (*entry >> COUNT_AT) as usize;
        }
        let counted = count(&text[start..end]);
        *entry = key | (counted as u128) << COUNT_AT;
        counted
    }
}

/// The bytes of a piece with its length above them. The length is never 0, so no key is 0.
#[inline]
fn key(text: &[u8], start: usize, length: usize) -> u128 {
    let bytes = if let Some(sixteen) = text[start..].first_chunk::<16>() {
        u128::from_le_bytes(*sixteen)
    } else {
        let mut sixteen = [0; 16];
        sixteen[..length].copy_from_slice(&text[start..start + length]);
        u128::from_le_bytes(sixteen)
    };
    bytes & ((1 << (8 * length)) - 1) | (length as u128) << LENGTH_AT
}

#[expect(clippy::cast_possible_truncation, reason = "takes the two halves apart")]
#[inline]
fn place(key: u128) -> usize {
    let folded = (key as u64) ^ ((key >> 64) as u64).rotate_left(23);
    (folded.wrapping_mul(HASH) >> (u64::BITS - ENTRY_BITS)) as usize
}
