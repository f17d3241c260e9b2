//! Cuts a piece where no token spans the cut.
//!
//! Chinese and Japanese put no space between words, so a piece is a sentence, which rarely repeats. Most adjacent
//! characters in it are adjacent in no token. Between those the piece can be cut, into single characters, whose tokens
//! are in a table, and words, which the memo has seen.

use super::crossing::Character;
use super::vocabulary::Vocabulary;

/// Number of bytes of a character that is counted without merging.
const THREE: usize = 3;
/// The smallest character of three bytes, as a number.
const THREE_BYTES: u32 = 0xE0_0000;
/// Every longer piece of such characters is cut, because words are shorter.
const LONGER_THAN_A_WORD: usize = 31;

/// True if cutting a long piece is faster than looking up the whole piece in the memo. That depends on the script,
/// which the last character shows; before a word there may be any character.
#[inline]
pub(super) fn seem_worthwhile(piece: &[u8]) -> bool {
    let Some(&[last, ..]) = piece.last_chunk::<THREE>() else { return false };
    match last {
        // Kana and Han: scripts without spaces in which most adjacent characters can be cut.
        0xE3..=0xE9 => true,
        _ => last >= 0xE0 && piece.len() >= LONGER_THAN_A_WORD,
    }
}

/// Returns the number of tokens in the piece `text[start..end]`, or any number above `limit` if there are more.
/// `of_part` counts its parts. Linear, apart from that.
pub(super) fn count(
    vocabulary: &Vocabulary,
    text: &[u8],
    mut start: usize,
    end: usize,
    limit: usize,
    mut of_part: impl FnMut(usize, usize) -> usize,
) -> usize {
    let mut tokens = 0;
    let (mut left, mut next) = Character::at(text, start);
    while tokens <= limit {
        if next == end {
            return tokens + of_part(start, end);
        }
        let (right, after) = Character::at(text, next);
        if !vocabulary.joins(left, right) {
            // A part of three bytes that ends with a three-byte character is one character. Other parts of three bytes
            // are rare.
            tokens += if next - start == THREE && left.0 >= THREE_BYTES {
                vocabulary.alone(left)
            } else {
                of_part(start, next)
            };
            start = next;
        }
        (left, next) = (right, after);
    }
    tokens
}
