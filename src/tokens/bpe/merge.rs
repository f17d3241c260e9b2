//! Byte-pair merging of a short piece: from its bytes to its tokens.
//!
//! The rule: of all neighbours that together are a token, merge the two whose token has the lowest rank, the
//! leftmost of equals; repeat until there are none. Few parts are all looked at for each merge, here; more, up to
//! [`SHORT`] bytes, are merged one pair at a time, in `linked`.

use super::crossing::Character;
use super::linked;
use super::vocabulary::{NO_TOKEN, Vocabulary};

/// Bytes that are merged at once. Above it the quadratic cost shows.
pub(super) const SHORT: usize = 128;
/// Most pieces are shorter than this, and few parts want little memory made ready.
pub(super) const SHORTER: usize = 32;
/// Parts that are merged here: what is behind a merge is moved, which few parts make cheap.
pub(super) const FEW: usize = 16;
/// Number of tokens in a piece of three bytes.
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
    /// For each part, the token that it and the next one merge to; [`NO_TOKEN`] for the last.
    merged: [u32; N],
}

impl<const N: usize> Parts<N> {
    #[inline]
    pub(super) fn new() -> Self {
        Self { tokens: [0; N], merged: [NO_TOKEN; N] }
    }

    /// The tokens of `piece`, which must have 1 to `N` bytes.
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

    /// Merges part `left` and the next to `token`. Returns how many parts remain.
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

/// Gives the tokens that a merge may begin with: whole characters where that is as good as bytes.
///
/// It is where a character is one token and no other begins or ends inside it. A merge that reaches beyond it then takes
/// in all of it, so its bytes were merged before. That is two thirds of all merges in Chinese.
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

/// True if it is a byte of a character that is not whole: a window may end anywhere.
#[inline]
fn is_part(Character(number): Character) -> bool {
    (0x80..=0xFF).contains(&number)
}
