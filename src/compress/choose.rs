//! Chooses the pieces that a budget keeps.
//!
//! The pieces have one order, independent of the budget: by rank, and within a rank from both ends of the text. A
//! budget keeps as many from the front of that order as fit. So a bigger budget never keeps less.

use std::collections::BTreeSet;

use super::gap::gap_tokens;
use super::outline::{Essence, Outline, Rank};
use crate::tokens::{CountTokens, TextKind};

/// Share of the pieces of a rank that is taken from the front of the text, in hundredths. Commands print what they do
/// first and how it ended last; most of what a model asks for is in front.
const HEAD_SHARE: usize = 60;

/// The amount to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// The most that fits these tokens, with the lines in the gaps.
    Tokens(usize),
    /// The lines that a reader needs to know the content.
    Essence,
}

/// An outline, and what its pieces cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutlineChoice<'a> {
    /// The pieces.
    pub outline: &'a Outline<'a>,
    /// The text that they are of.
    pub text: &'a str,
    /// The kind of text that the output is counted as.
    pub kind: TextKind,
    /// Counts the output.
    pub counter: &'a dyn CountTokens,
    /// The most tokens that a line in a gap takes.
    gap: usize,
}

impl<'a> OutlineChoice<'a> {
    /// The choice among the pieces of `outline`, which is of `text`. O(length).
    pub(super) fn of(
        outline: &'a Outline<'a>,
        text: &'a str,
        kind: TextKind,
        counter: &'a dyn CountTokens,
    ) -> OutlineChoice<'a> {
        OutlineChoice { outline, text, kind, counter, gap: gap_tokens(outline, text, counter) }
    }

    /// The pieces that `aim` keeps, the most needed first. Counts only those; O(pieces) beside that.
    pub(super) fn order(&self, aim: Aim) -> Vec<usize> {
        let ranks = by_rank(self.outline);
        let is_worth = |piece: &usize| self.outline.pieces[*piece].essence == Essence::ByRank;
        let Aim::Tokens(budget) = aim else {
            return Rank::ALL
                .iter()
                .filter(|rank| rank.is_essential())
                .flat_map(|rank| &ranks[*rank as usize])
                .copied()
                .filter(is_worth)
                .collect();
        };
        let mut gaps = Gaps::of(self.outline);
        let (mut order, mut used) = (Vec::new(), 0);
        for pieces in ranks {
            let mut ends = Ends::of(pieces.into_iter().filter(is_worth).collect());
            while let Some((piece, end)) = ends.next() {
                let tokens = self.size(piece);
                gaps.keep(piece);
                // The first that does not fit ends the choice: smaller ones after it would have to go again where a
                // bigger budget takes it.
                if used + tokens + gaps.count * self.gap > budget {
                    return order;
                }
                used += tokens;
                order.push(piece);
                ends.spent(end, tokens);
            }
        }
        order
    }

    /// For each piece, whether it is kept: those of `order`, and what takes no more than the line that would be in
    /// its place.
    pub(super) fn selection(&self, order: &[usize]) -> Vec<bool> {
        let pieces = &self.outline.pieces;
        let mut kept = vec![false; pieces.len()];
        for piece in order {
            kept[*piece] = true;
        }
        let mut start = 0;
        while start < kept.len() {
            let end = start + kept[start..].iter().take_while(|kept| !**kept).count();
            // Pieces without a line of their own stay out. If they were added here, a bigger budget that splits the gap
            // would remove them again.
            let marked = || (start..end).filter(|piece| pieces[*piece].is_marked());
            let mut tokens = 0;
            let is_small = marked().all(|piece| {
                tokens += self.size(piece);
                tokens <= self.gap
            });
            if is_small {
                let small: Vec<usize> = marked().collect();
                for piece in small {
                    kept[piece] = true;
                }
            }
            start = end + 1;
        }
        kept
    }

    fn size(&self, piece: usize) -> usize {
        self.counter.count(&self.outline.text_of(self.text, piece), self.kind)
    }
}

/// Counts the gap lines while more and more pieces are kept.
struct Gaps {
    /// The pieces that are kept, with one before the first and one after the last, all shifted by one.
    kept: BTreeSet<usize>,
    /// For each piece, how many before it are marked where they are left out.
    marked: Vec<usize>,
    count: usize,
}

impl Gaps {
    fn of(outline: &Outline<'_>) -> Gaps {
        let mut marked = vec![0];
        for piece in &outline.pieces {
            marked.push(marked[marked.len() - 1] + usize::from(piece.is_marked()));
        }
        let kept = BTreeSet::from([0, outline.pieces.len() + 1]);
        let count = usize::from(marked[outline.pieces.len()] > 0);
        Gaps { kept, marked, count }
    }

    /// Keeps a piece that was not kept. O(log pieces).
    fn keep(&mut self, piece: usize) {
        let start = self.kept.range(..=piece).next_back().copied().unwrap_or(0);
        let end = self.kept.range(piece + 1..).next().map_or(self.marked.len(), |next| next - 1);
        let has_gap = |start: usize, end: usize| usize::from(self.marked[end] > self.marked[start]);
        self.count += has_gap(start, piece) + has_gap(piece + 1, end);
        self.count -= has_gap(start, end);
        self.kept.insert(piece + 1);
    }
}

/// The pieces of each rank, in the order of the text.
fn by_rank(outline: &Outline<'_>) -> [Vec<usize>; Rank::ALL.len()] {
    let mut ranks: [Vec<usize>; Rank::ALL.len()] = Default::default();
    for (index, piece) in outline.pieces.iter().enumerate() {
        ranks[piece.rank as usize].push(index);
    }
    ranks
}

/// One of the two ends of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Head,
    Tail,
}

/// The pieces of a rank from both ends, so that head and tail take their shares of what is spent.
struct Ends {
    pieces: Vec<usize>,
    front: usize,
    back: usize,
    head: usize,
    tail: usize,
}

impl Ends {
    fn of(pieces: Vec<usize>) -> Ends {
        let back = pieces.len();
        Ends { pieces, front: 0, back, head: 0, tail: 0 }
    }

    fn next(&mut self) -> Option<(usize, End)> {
        if self.front == self.back {
            return None;
        }
        // The end that is further behind its share; the head where they are even.
        if self.head * (100 - HEAD_SHARE) <= self.tail * HEAD_SHARE {
            self.front += 1;
            return Some((self.pieces[self.front - 1], End::Head));
        }
        self.back -= 1;
        Some((self.pieces[self.back], End::Tail))
    }

    fn spent(&mut self, end: End, tokens: usize) {
        match end {
            End::Head => self.head += tokens,
            End::Tail => self.tail += tokens,
        }
    }
}
