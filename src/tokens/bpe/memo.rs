//! Caches the number of tokens in pieces.
//!
//! Text repeats its words. Each thread has three tables for each encoding, by the length of the piece. They fit into
//! the second-level cache, so a look-up costs a tenth of a merge. They initially contain the common tokens, so that a
//! text of common words is fast the first time.

use std::cell::RefCell;
use std::sync::OnceLock;

use super::encoding::Encoding;
use super::vocabulary::{Vocabulary, boxed};
use crate::shared::once;

/// Number of sets in each table, as a power of two: 1 MB, 256 KB and 128 KB, for pieces of 15, 30 and 62 bytes. Nearly
/// all pieces of text in Latin letters go into the first, words in most other scripts into the second, and sentences
/// that are one piece into the third.
const WORDS: u32 = 15;
const LONG_WORDS: u32 = 12;
const SENTENCES: u32 = 10;

/// Maximum number of bytes of a piece in each table.
pub(super) const LONGEST_WORD: usize = 15;
const LONGEST_LONG_WORD: usize = 30;
const LONGEST_SENTENCE: usize = 62;

/// Number of tokens that a new memo initially contains, lowest ranks first. Three in four words of a text are one
/// token. The number is more than the memo holds, because many tokens are too long for it.
const GIVEN: usize = 100_000;

/// The bits of a short piece's length and count in its entry, above its bytes: four bits each.
const LENGTH_AT: u32 = 120;
const COUNT_AT: u32 = 124;

/// Multiplier of the hash: 2^64 divided by the golden ratio.
const HASH: u64 = 0x9E37_79B9_7F4A_7C15;

thread_local! {
    static O200K: RefCell<Option<Memo>> = const { RefCell::new(None) };
    static CL100K: RefCell<Option<Memo>> = const { RefCell::new(None) };
}

/// The two entries of a set. A new entry takes the first place, and the previous one moves to the second.
type Set<T> = [T; 2];

type Words = Box<[Set<u128>; 1 << WORDS]>;

/// Tables from a piece to its number of tokens. A later piece replaces an earlier one.
#[derive(Debug)]
pub(super) struct Memo {
    words: Words,
    long_words: Box<[Set<[u128; 2]>; 1 << LONG_WORDS]>,
    sentences: Box<[Set<[u128; 4]>; 1 << SENTENCES]>,
}

impl Memo {
    fn new(encoding: Encoding) -> Self {
        static O200K: OnceLock<Words> = OnceLock::new();
        static CL100K: OnceLock<Words> = OnceLock::new();
        let given = match encoding {
            Encoding::O200kBase => &O200K,
            Encoding::Cl100kBase => &CL100K,
        };
        let given = once(given, || given_words(Vocabulary::of(encoding)));
        Self { words: given.clone(), long_words: boxed([[0; 2]; 2]), sentences: boxed([[0; 4]; 2]) }
    }

    /// Runs `work` with this thread's memo for `encoding`. `work` must not ask for it again.
    pub(super) fn with<R>(encoding: Encoding, work: impl FnOnce(&mut Self) -> R) -> R {
        let memo = match encoding {
            Encoding::O200kBase => &O200K,
            Encoding::Cl100kBase => &CL100K,
        };
        memo.with_borrow_mut(|memo| work(memo.get_or_insert_with(|| Self::new(encoding))))
    }

    /// Returns the number of tokens in `text[start..end]`, from the cache or else from `count`.
    #[inline]
    pub(super) fn count(&mut self, text: &[u8], start: usize, end: usize, count: impl FnOnce(&[u8]) -> usize) -> usize {
        let length = end - start;
        if length > LONGEST_WORD {
            return self.count_long(&text[start..end], count);
        }
        let key = word_key(text, start, length);
        let set = &mut self.words[place(key, WORDS)];
        for entry in *set {
            if entry & ((1 << COUNT_AT) - 1) == key {
                return (entry >> COUNT_AT) as usize;
            }
        }
        let counted = count(&text[start..end]);
        *set = [key | (counted as u128) << COUNT_AT, set[0]];
        counted
    }

    #[inline(never)]
    fn count_long(&mut self, piece: &[u8], count: impl FnOnce(&[u8]) -> usize) -> usize {
        if piece.len() <= LONGEST_LONG_WORD {
            remembered(&mut self.long_words[..], LONG_WORDS, piece, count)
        } else if piece.len() <= LONGEST_SENTENCE {
            remembered(&mut self.sentences[..], SENTENCES, piece, count)
        } else {
            count(piece)
        }
    }
}

/// Returns the initial content of a memo: the common tokens. If not all fit, those with the lowest ranks are included.
fn given_words(vocabulary: &Vocabulary) -> Words {
    let mut words: Words = boxed([0; 2]);
    for (bytes, length) in vocabulary.first_tokens(GIVEN, LONGEST_WORD).rev() {
        let key = bytes | (length as u128) << LENGTH_AT;
        let set = &mut words[place(key, WORDS)];
        *set = [key | 1 << COUNT_AT, set[0]];
    }
    words
}

/// Does [`Memo::count`] in a table of longer entries: the bytes of a piece, and its length and count in the last two
/// bytes.
#[inline]
fn remembered<const N: usize>(
    table: &mut [Set<[u128; N]>],
    bits: u32,
    piece: &[u8],
    count: impl FnOnce(&[u8]) -> usize,
) -> usize {
    const BITS: u32 = u128::BITS;
    let mut key = [0; N];
    for (part, bytes) in key.iter_mut().zip(piece.chunks(size_of::<u128>())) {
        *part = match bytes.first_chunk::<16>() {
            Some(sixteen) => u128::from_le_bytes(*sixteen),
            None => bytes.iter().rev().fold(0, |part, &byte| part << 8 | u128::from(byte)),
        };
    }
    key[N - 1] |= (piece.len() as u128) << (BITS - 16);
    let folded = key.iter().fold(0, |folded: u128, part| folded.rotate_left(29) ^ part);
    let set = &mut table[place(folded, bits)];
    for entry in &*set {
        if entry[..N - 1] == key[..N - 1] && entry[N - 1] << 8 == key[N - 1] << 8 {
            return (entry[N - 1] >> (BITS - 8)) as usize;
        }
    }
    let counted = count(piece);
    key[N - 1] |= (counted as u128) << (BITS - 8);
    *set = [key, set[0]];
    counted
}

/// Returns the bytes of a piece with its length above them. The length is never 0, so no key is 0.
#[inline]
fn word_key(text: &[u8], start: usize, length: usize) -> u128 {
    let bytes = if let Some(sixteen) = text[start..].first_chunk::<16>() {
        u128::from_le_bytes(*sixteen)
    } else {
        let mut sixteen = [0; 16];
        sixteen[..length].copy_from_slice(&text[start..start + length]);
        u128::from_le_bytes(sixteen)
    };
    bytes & MASKS[length] | (length as u128) << LENGTH_AT
}

/// Masks of the lowest bytes, by their number. A look-up is faster than shifting two words.
static MASKS: [u128; LONGEST_WORD + 1] = {
    let mut masks = [0; LONGEST_WORD + 1];
    let mut length = 0;
    while length <= LONGEST_WORD {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

#[expect(clippy::cast_possible_truncation, reason = "takes the two halves apart")]
#[inline]
fn place(key: u128, bits: u32) -> usize {
    let folded = (key as u64) ^ ((key >> 64) as u64).rotate_left(23);
    (folded.wrapping_mul(HASH) >> (u64::BITS - bits)) as usize
}
