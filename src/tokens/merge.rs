//! Byte-pair merging: from the bytes of a piece to its tokens.
//!
//! The rule: of all neighbours that together are a token, merge the two whose token has the lowest rank, the
//! leftmost of equals; repeat until there are none. Three ways to the same result, by length:
//!
//! - up to [`SHORT`] bytes, scan for the lowest rank each time: quadratic, but on a few words of the stack;
//! - above it, window by window, each settled against the one before: linear;
//! - a heap where the windows do not settle: n log n, whatever the bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary::{NO_TOKEN, Vocabulary};

/// Bytes that are merged by scanning. Above it the quadratic cost shows.
const SHORT: usize = 128;
/// Most pieces are shorter than these, and a short scan wants little memory made ready.
const SHORTER: usize = 32;
const SHORTEST: usize = 16;
/// New bytes in a window: at least so many, and so many times the token before it, so that a run of long tokens does
/// not have most of its bytes merged twice.
const STEP: usize = 48;
const STEP_TOKENS: usize = 8;
/// Bytes of what went before that are merged anew with a window. Few tokens are longer.
const OVERLAP: usize = 16;
/// A window that has not settled by this size is left to the heap, with the whole piece.
const WIDEST: usize = 4_096;
/// So is a piece whose bytes go through windows more often than this: bytes that settle take less than two.
const PATIENCE: usize = 8;

/// Number of tokens in a piece that is not itself a token. Linear, at worst n log n.
#[inline]
pub(super) fn count(vocabulary: &Vocabulary, piece: &[u8]) -> usize {
    if piece.len() <= SHORTEST {
        Scan::<SHORTEST>::new().merge(vocabulary, piece)
    } else if piece.len() <= SHORTER {
        Scan::<SHORTER>::new().merge(vocabulary, piece)
    } else if piece.len() <= SHORT {
        Scan::<SHORT>::new().merge(vocabulary, piece)
    } else {
        by_windows(vocabulary, piece)
    }
}

/// Merges pieces of up to `N` bytes by scanning. A part is known by where it starts.
struct Scan<const N: usize> {
    /// For each part, the rank of the token that it and the next part are, above its start: the least of these is
    /// the leftmost of the lowest rank. [`NO_TOKEN`] where there is none.
    keys: [u32; N],
    /// Where the next part starts, and the one before.
    next: [u8; N],
    previous: [u8; N],
}

/// Bits of a key below the rank.
const START_BITS: u32 = 8;

impl<const N: usize> Scan<N> {
    #[inline]
    fn new() -> Self {
        Self { keys: [NO_TOKEN; N], next: [0; N], previous: [0; N] }
    }

    /// Number of tokens in `piece`, which must have 1 to `N` bytes. Afterwards `next` leads from token to token.
    #[inline]
    fn merge(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> usize {
        let length = piece.len();
        let (keys, next, previous) = (&mut self.keys, &mut self.next, &mut self.previous);
        for (start, (next, previous)) in (0_u8..).zip(next.iter_mut().zip(previous)) {
            *next = start + 1;
            *previous = start.saturating_sub(1);
        }
        for (start, two) in (0..).zip(piece.windows(2)) {
            keys[start] = key(vocabulary.rank_of_pair(two[0], two[1]), start);
        }
        keys[length - 1..].fill(NO_TOKEN);

        let mut tokens = length;
        loop {
            let lowest = keys.iter().copied().fold(NO_TOKEN, u32::min);
            if lowest == NO_TOKEN {
                return tokens;
            }
            tokens -= 1;
            let left = (lowest & ((1 << START_BITS) - 1)) as usize;
            let right = usize::from(self.next[left]);
            let after = self.next[right];
            self.next[left] = after;
            keys[right] = NO_TOKEN;
            keys[left] = NO_TOKEN;
            let end = usize::from(after);
            if end < length {
                self.previous[end] = u8::try_from(left).unwrap_or(u8::MAX);
                let both = &piece[left..usize::from(self.next[end])];
                keys[left] = key(vocabulary.rank(both), left);
            }
            if left > 0 {
                let before = usize::from(self.previous[left]);
                keys[before] = key(vocabulary.rank(&piece[before..end]), before);
            }
        }
    }

    /// Where the tokens of the last merge end, which was of `length` bytes.
    fn ends(&self, length: usize) -> impl Iterator<Item = usize> {
        let after = move |&start: &usize| (start < length).then(|| usize::from(self.next[start]));
        std::iter::successors(Some(0), after).skip(1)
    }
}

/// Orders parts by rank, then from the left.
#[expect(clippy::cast_possible_truncation, reason = "a start is below SHORT")]
#[inline]
fn key(rank: u32, start: usize) -> u32 {
    if rank == NO_TOKEN { NO_TOKEN } else { rank << START_BITS | start as u32 }
}

/// Counts window by window.
///
/// Tokens are the merge of their bytes exactly if every two neighbours are the merge of theirs. So a window is
/// merged alone, beginning at some token of what went before, and stands if its first token and the one before it
/// are neighbours of that kind. If they are not, the window takes in more of what went before.
fn by_windows(vocabulary: &Vocabulary, piece: &[u8]) -> usize {
    let mut scan = Scan::<SHORT>::new();
    // Where each token ends, of the piece up to `done`.
    let mut ends: Vec<usize> = Vec::with_capacity(piece.len() / 3);
    let mut window_ends = Vec::new();
    let mut done = 0;
    let mut merged = 0;
    let mut proven: (&[u8], usize) = (&[], 0);

    while done < piece.len() {
        let mut overlap = OVERLAP;
        let last_token = match ends[..] {
            [.., before, last] => last - before,
            _ => done,
        };
        let until = piece.len().min(done + STEP.max(STEP_TOKENS * last_token));
        loop {
            let kept = ends.partition_point(|&end| end + overlap <= done);
            let start = if kept == 0 { 0 } else { ends[kept - 1] };
            let window = &piece[start..until];
            merged += window.len();
            if window.len() > WIDEST || merged > PATIENCE * piece.len() {
                return by_heap(vocabulary, piece).len();
            }
            merge_window(vocabulary, &mut scan, window, &mut window_ends);
            if kept > 0 {
                let before = if kept == 1 { 0 } else { ends[kept - 2] };
                let both = &piece[before..start + window_ends[0]];
                let middle = start - before;
                // A run of one character asks for the same pair again and again.
                if proven != (both, middle) {
                    if !stands(vocabulary, &mut scan, both, middle) {
                        overlap = overlap * 2 + window.len() - (until - done);
                        continue;
                    }
                    proven = (both, middle);
                }
            }
            ends.truncate(kept);
            ends.extend(window_ends.iter().map(|end| start + end));
            done = until;
            break;
        }
    }
    ends.len()
}

/// Whether the merge of `both` is two tokens that meet at `middle`.
fn stands(vocabulary: &Vocabulary, scan: &mut Scan<SHORT>, both: &[u8], middle: usize) -> bool {
    if both.len() <= SHORT {
        scan.merge(vocabulary, both) == 2 && scan.ends(both.len()).next() == Some(middle)
    } else {
        by_heap(vocabulary, both) == [middle, both.len()]
    }
}

fn merge_window(vocabulary: &Vocabulary, scan: &mut Scan<SHORT>, window: &[u8], ends: &mut Vec<usize>) {
    ends.clear();
    if window.len() <= SHORT {
        scan.merge(vocabulary, window);
        ends.extend(scan.ends(window.len()));
    } else {
        ends.extend(by_heap(vocabulary, window));
    }
}

/// A part of a piece in [`by_heap`], known by where it starts.
#[derive(Clone, Copy)]
struct Part {
    previous: usize,
    end: usize,
    /// The rank of the token that this part and the next are; [`NO_TOKEN`] also once the part is merged away.
    rank: u32,
}

/// Where each token of `piece` ends. The heap holds ranks with the starts of their left parts; an entry that the
/// part no longer agrees with is out of date and skipped.
fn by_heap(vocabulary: &Vocabulary, piece: &[u8]) -> Vec<usize> {
    let length = piece.len();
    let mut parts: Vec<Part> = (0..length)
        .map(|start| Part {
            previous: start.wrapping_sub(1),
            end: start + 1,
            rank: match piece.get(start + 1) {
                Some(&second) => vocabulary.rank_of_pair(piece[start], second),
                None => NO_TOKEN,
            },
        })
        .collect();
    let mut heap: BinaryHeap<Reverse<(u32, usize)>> = (parts.iter().enumerate())
        .filter(|(_, part)| part.rank != NO_TOKEN)
        .map(|(start, part)| Reverse((part.rank, start)))
        .collect();

    while let Some(Reverse((rank, left))) = heap.pop() {
        if parts[left].rank != rank {
            continue;
        }
        let right = parts[left].end;
        let end = parts[right].end;
        parts[right].rank = NO_TOKEN;
        parts[left].end = end;
        parts[left].rank = NO_TOKEN;
        if end < length {
            parts[end].previous = left;
            parts[left].rank = vocabulary.rank(&piece[left..parts[end].end]);
            push(&mut heap, parts[left].rank, left);
        }
        if left > 0 {
            let previous = parts[left].previous;
            parts[previous].rank = vocabulary.rank(&piece[previous..end]);
            push(&mut heap, parts[previous].rank, previous);
        }
    }

    let mut ends = Vec::new();
    let mut at = 0;
    while at < length {
        at = parts[at].end;
        ends.push(at);
    }
    ends
}

fn push(heap: &mut BinaryHeap<Reverse<(u32, usize)>>, rank: u32, start: usize) {
    if rank != NO_TOKEN {
        heap.push(Reverse((rank, start)));
    }
}
