//! Cutting a piece where no token reaches across.
//!
//! Chinese and Japanese put no space between words, so a piece is a sentence, which comes once. Most of its neighbours
//! are adjacent in no token: between them it falls apart, into single characters, of which a table knows the
//! tokens, and words, which the memo has seen.

use super::crossing::Character;
use super::vocabulary::Vocabulary;

/// Bytes of a character that is counted without being merged.
const THREE: usize = 3;
/// The least character with this many bytes, as a number.
const THREE_BYTES: u32 = 0xE0_0000;
/// Bytes from which on every piece of such characters is cut: a word is not so long.
const LONGER_THAN_A_WORD: usize = 31;

/// True if it is faster to cut a long piece than to ask the memo for all of it. That depends on the script, which the
/// last character tells; before a word there may be anything.
#[inline]
pub(super) fn seem_worthwhile(piece: &[u8]) -> bool {
    let Some(&[last, ..]) = piece.last_chunk::<THREE>() else { return false };
    match last {
        // Kana and Han: of the scripts without spaces, those where most neighbours are cut.
        0xE3..=0xE9 => true,
        _ => last >= 0xE0 && piece.len() >= LONGER_THAN_A_WORD,
    }
}

/// Number of tokens in the piece `text[start..end]`, or any number above `limit` if there are more than that; `of_part`
/// counts the parts of it. Linear, apart from that.
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
            // A part that has three bytes and ends with three is one character; any other of three is rare.
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
