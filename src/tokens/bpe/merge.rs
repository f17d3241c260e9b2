//! Byte-pair merging of a short piece, from its bytes to its tokens.
//!
//! The rule: of all adjacent pairs that form a token, merge the one with the lowest rank, the leftmost if there are
//! several. Repeat until none is left. With few parts, this module checks all of them for each merge. With more, up to
//! [`SHORT`] bytes, `linked` merges them.

use super::crossing::Character;
use super::linked;
use super::vocabulary::{NO_TOKEN, Vocabulary};

/// Maximum number of bytes that are merged at once. Above it the quadratic cost matters.
pub(super) const SHORT: usize = 128;
/// Most pieces are shorter than this, and need less memory to be initialized.
pub(super) const SHORTER: usize = 32;
/// Maximum number of parts that are merged here. The parts after a merge are moved, which is cheap for few parts.
pub(super) const FEW: usize = 16;
/// Returns the number of tokens in a piece of three bytes.
#[inline]
pub(super) fn count_three(vocabulary: &Vocabulary, first: u8, second: u8, third: u8) -> usize {
    let (left, right) = (vocabulary.of_bytes(first, second), vocabulary.of_bytes(second, third));
    if left == NO_TOKEN && right == NO_TOKEN {
        return 3;
    }
    let all = if left <= right {
        vocabulary.merged(left, vocabulary.of_byte(third))
    } else {
        vocabulary.merged(vocabulary.of_byte(first), right)
    };
    1 + usize::from(all == NO_TOKEN)
}

/// The parts of a piece of up to `N` bytes.
pub(super) struct Parts<const N: usize> {
    tokens: [u32; N],
    /// For each part, the token that it and the next part merge to; [`NO_TOKEN`] for the last.
    merged: [u32; N],
}

impl<const N: usize> Parts<N> {
    #[inline]
    pub(super) fn new() -> Self {
        Self { tokens: [0; N], merged: [NO_TOKEN; N] }
    }

    /// Returns the tokens of `piece`, which must have 1 to `N` bytes.
    #[inline]
    pub(super) fn merge(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> &[u32] {
        let mut parts = self.read(vocabulary, piece);
        if N > FEW && parts > FEW {
            parts = linked::merge(vocabulary, &mut self.tokens, &self.merged, parts);
            return &self.tokens[..parts];
        }
        while parts > 1 {
            let mut lowest = NO_TOKEN;
            let mut first = 0;
            for (part, &merged) in self.merged[..parts - 1].iter().enumerate() {
                if merged < lowest {
                    lowest = merged;
                    first = part;
                }
            }
            if lowest == NO_TOKEN {
                break;
            }
            parts = self.join(vocabulary, lowest, first, parts);
        }
        &self.tokens[..parts]
    }

    #[inline]
    fn read(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> usize {
        if piece.is_ascii() {
            for (token, &byte) in self.tokens.iter_mut().zip(piece) {
                *token = vocabulary.of_byte(byte);
            }
            for (merged, two) in self.merged.iter_mut().zip(piece.windows(2)) {
                *merged = vocabulary.of_bytes(two[0], two[1]);
            }
            return piece.len();
        }
        let mut parts = 0;
        begin(vocabulary, piece, |token| {
            self.tokens[parts] = token;
            parts += 1;
        });
        for (merged, two) in self.merged.iter_mut().zip(self.tokens[..parts].windows(2)) {
            *merged = vocabulary.merged(two[0], two[1]);
        }
        parts
    }

    /// Merges part `left` and the next part to `token`. Returns the number of remaining parts.
    #[inline]
    fn join(&mut self, vocabulary: &Vocabulary, token: u32, left: usize, parts: usize) -> usize {
        let (tokens, merged) = (&mut self.tokens[..parts], &mut self.merged[..parts]);
        for part in left + 1..parts - 1 {
            tokens[part] = tokens[part + 1];
            merged[part] = merged[part + 1];
        }
        tokens[left] = token;
        merged[left] = NO_TOKEN;
        if left + 2 < parts {
            merged[left] = vocabulary.merged(token, tokens[left + 1]);
        }
        if left > 0 {
            merged[left - 1] = vocabulary.merged(tokens[left - 1], token);
        }
        parts - 1
    }
}

/// Calls `give` with the initial tokens of a merge: whole characters if that gives the same result as bytes.
///
/// It does if a character is one token and no other token begins or ends inside it. A merge that reaches beyond the
/// character then includes all of it, so its bytes were merged before. That saves two thirds of all merges in Chinese.
pub(super) fn begin(vocabulary: &Vocabulary, piece: &[u8], mut give: impl FnMut(u32)) {
    let mut start = 0;
    let (mut character, mut end) = Character::at(piece, 0);
    let mut broken = false;
    while start < end {
        let (next, after) = if end < piece.len() { Character::at(piece, end) } else { (character, end) };
        let broken_after = after > end && (is_part(next) || vocabulary.breaks(character, next));
        let bytes = &piece[start..end];
        let whole = if broken | broken_after { NO_TOKEN } else { vocabulary.of_character(bytes) };
        if whole == NO_TOKEN {
            for &byte in bytes {
                give(vocabulary.of_byte(byte));
            }
        } else {
            give(whole);
        }
        (start, end, character, broken) = (end, after, next, broken_after);
    }
}

/// True if it is a byte of an incomplete character. A window may end anywhere.
#[inline]
fn is_part(Character(number): Character) -> bool {
    (0x80..=0xFF).contains(&number)
}
