//! Merges pieces of any length in linear time, window by window.
//!
//! A merge is local. The tokens of the piece's beginning are known. A window with new bytes and the last few tokens is
//! merged by itself. If its first token and the last kept token stay as they are when these two alone are merged, then
//! both merges together are the merge of the whole. Otherwise the window takes more of the kept tokens.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::merge::{Parts, SHORT};
use super::vocabulary::{LONGEST_TOKEN, NO_TOKEN, Vocabulary};

/// Minimum number of new bytes in a window, and minimum multiple of the token before it. With less, most bytes of a run
/// of long tokens would be merged twice.
const STEP: usize = 64;
const STEP_TOKENS: usize = 8;
/// Number of bytes that a window repeats. Few tokens are longer.
const OVERLAP: usize = 16;
/// If a window of this size has not settled, the whole piece is merged by the heap.
const WIDEST: usize = 4_096;
/// The same if the bytes of a piece were merged more often than this on average. Bytes that settle take less than two.
const PATIENCE: usize = 8;
/// Checking early if a piece exceeds a limit costs about as much as counting this many bytes.
const WORTH_STOPPING: usize = 32 * 1024;

/// Returns the number of tokens in a piece, or any number above `limit` if there are more. Linear, at worst n log n.
pub(super) fn count(vocabulary: &Vocabulary, piece: &[u8], limit: usize) -> usize {
    let mut settled = SettledTokens { vocabulary, piece, tokens: Vec::new(), before: 0, done: 0, merged: 0 };
    // The limit, plus the tokens by which the end of a beginning may still change.
    let mut stop = limit.saturating_add(LONGEST_TOKEN);
    while settled.done < piece.len() {
        let last = settled.tokens.last().map_or(0, |&token| vocabulary.length(token));
        let until = piece.len().min(settled.done + STEP.max(STEP_TOKENS * last));
        if !settled.extend(until) {
            return by_heap(vocabulary, piece).len();
        }
        if settled.tokens.len() > stop && piece.len() - settled.done > WORTH_STOPPING {
            if settled.exceeds(limit) {
                return settled.tokens.len();
            }
            stop = settled.tokens.len().saturating_mul(2);
        }
    }
    settled.tokens.len()
}

/// The tokens of a piece's beginning.
struct SettledTokens<'a> {
    vocabulary: &'a Vocabulary,
    piece: &'a [u8],
    tokens: Vec<u32>,
    /// Number of tokens before those in memory.
    before: usize,
    /// The end of the counted beginning.
    done: usize,
    /// Number of bytes that were merged in windows.
    merged: usize,
}

impl SettledTokens<'_> {
    /// Extends the beginning, and returns true if it settled.
    fn extend(&mut self, until: usize) -> bool {
        let mut overlap = OVERLAP;
        loop {
            let mut start = self.done;
            let mut kept = self.tokens.len();
            while kept > 0 && self.done - start < overlap {
                kept -= 1;
                start -= self.vocabulary.length(self.tokens[kept]);
            }
            let window = &self.piece[start..until];
            self.merged += window.len();
            if window.len() > WIDEST || self.merged > PATIENCE * self.piece.len() || kept == 0 && self.before > 0 {
                return false;
            }
            let new = merge(self.vocabulary, window);
            if kept == 0 || self.stands(start, self.tokens[kept - 1], new[0]) {
                self.tokens.truncate(kept);
                self.tokens.extend_from_slice(&new);
                self.done = until;
                return true;
            }
            overlap = overlap * 2 + (self.done - start);
        }
    }

    /// True if the bytes of two tokens that meet at `middle` merge to these two tokens.
    fn stands(&self, middle: usize, left: u32, right: u32) -> bool {
        let bytes = &self.piece[middle - self.vocabulary.length(left)..middle + self.vocabulary.length(right)];
        merge(self.vocabulary, bytes) == [left, right]
    }

    /// True if the whole piece certainly has more than `limit` tokens.
    ///
    /// Some token of the whole piece ends at the end of the beginning, or less than a token's length before it. The
    /// tokens up to that point are those of the bytes up to there. So if each of those beginnings exceeds the limit,
    /// the whole does.
    fn exceeds(&self, limit: usize) -> bool {
        (0..LONGEST_TOKEN.min(self.done)).all(|less| {
            let until = self.done - less;
            let (mut start, mut kept) = (self.done, self.tokens.len());
            while kept > 0 && start > until.saturating_sub(OVERLAP) {
                kept -= 1;
                start -= self.vocabulary.length(self.tokens[kept]);
            }
            let from = kept.saturating_sub(WIDEST);
            let mut shorter = SettledTokens {
                tokens: self.tokens[from..kept].to_vec(),
                before: self.before + from,
                done: start,
                merged: 0,
                ..*self
            };
            shorter.extend(until) && shorter.before + shorter.tokens.len() > limit
        })
    }
}

fn merge(vocabulary: &Vocabulary, bytes: &[u8]) -> Vec<u32> {
    if bytes.len() > SHORT {
        return by_heap(vocabulary, bytes);
    }
    Parts::<SHORT>::new().merge(vocabulary, bytes).to_vec()
}

/// A part of a piece in [`by_heap`], identified by its start.
#[derive(Clone, Copy)]
struct Part {
    previous: usize,
    end: usize,
    token: u32,
    /// The token that this part and the next one merge to; [`NO_TOKEN`] also after the part was merged.
    merged: u32,
}

/// Returns the tokens of `piece`. The heap holds ranks with the starts of their left parts. An entry that no longer
/// matches its part is out of date and skipped.
fn by_heap(vocabulary: &Vocabulary, piece: &[u8]) -> Vec<u32> {
    let length = piece.len();
    let mut parts: Vec<Part> = (0..length)
        .map(|start| Part {
            previous: start.wrapping_sub(1),
            end: start + 1,
            token: vocabulary.of_byte(piece[start]),
            merged: piece.get(start + 1).map_or(NO_TOKEN, |&second| vocabulary.of_bytes(piece[start], second)),
        })
        .collect();
    let mut heap: BinaryHeap<Reverse<(u32, usize)>> = (parts.iter().enumerate())
        .filter(|(_, part)| part.merged != NO_TOKEN)
        .map(|(start, part)| Reverse((part.merged, start)))
        .collect();

    while let Some(Reverse((token, left))) = heap.pop() {
        if parts[left].merged != token {
            continue;
        }
        let right = parts[left].end;
        let end = parts[right].end;
        parts[right].merged = NO_TOKEN;
        parts[left] = Part { end, token, merged: NO_TOKEN, ..parts[left] };
        if end < length {
            parts[end].previous = left;
            parts[left].merged = vocabulary.merged(token, parts[end].token);
            push(&mut heap, parts[left].merged, left);
        }
        if left > 0 {
            let previous = parts[left].previous;
            parts[previous].merged = vocabulary.merged(parts[previous].token, token);
            push(&mut heap, parts[previous].merged, previous);
        }
    }

    let mut tokens = Vec::new();
    let mut at = 0;
    while at < length {
        tokens.push(parts[at].token);
        at = parts[at].end;
    }
    tokens
}

fn push(heap: &mut BinaryHeap<Reverse<(u32, usize)>>, merged: u32, start: usize) {
    if merged != NO_TOKEN {
        heap.push(Reverse((merged, start)));
    }
}
