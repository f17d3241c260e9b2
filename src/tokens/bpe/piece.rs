//! Counts the tokens of a piece by a method for its length. All methods give the same number.
//!
//! - `merge` merges a short piece at once;
//! - `long` merges a longer piece window by window;
//! - `runs` merges long runs of one character as runs.

use super::merge::{self, FEW, Parts, SHORT, SHORTER};
use super::vocabulary::{NO_TOKEN, Vocabulary};
use super::{long, runs};

/// Minimum length in bytes of a piece that is searched for runs. Shorter pieces take few merges.
const WORTH_A_LOOK: usize = 24;

/// Returns the number of tokens in a piece, or any number above `limit` if there are more. Linear, at worst n log n.
pub(super) fn count(vocabulary: &Vocabulary, piece: &[u8], limit: usize) -> usize {
    match *piece {
        [_] => return 1,
        [first, second] => return 1 + usize::from(vocabulary.of_bytes(first, second) == NO_TOKEN),
        [first, second, third] => return merge::count_three(vocabulary, first, second, third),
        _ if piece.len() <= FEW => return Parts::<FEW>::new().merge(vocabulary, piece).len(),
        _ => {}
    }
    if piece.len() >= WORTH_A_LOOK
        && runs::seem_likely(piece)
        && let Some(tokens) = runs::count(vocabulary, piece)
    {
        tokens
    } else if piece.len() <= SHORTER {
        Parts::<SHORTER>::new().merge(vocabulary, piece).len()
    } else if piece.len() <= SHORT {
        Parts::<SHORT>::new().merge(vocabulary, piece).len()
    } else {
        long::count(vocabulary, piece, limit)
    }
}
