//! Chooses the pieces that a budget keeps.
//!
//! The pieces have one order that does not depend on the budget: by rank, and within a rank from both ends of the text.
//! A budget keeps as many pieces from the front of that order as fit. So a bigger budget never keeps less.

use std::collections::BTreeSet;

use super::gap::gap_tokens;
use super::outline::{Essence, Outline, Rank};
use crate::tokens::{CountTokens, TextKind};

/// Percentage of a rank's pieces that is taken from the beginning of the text; the rest is taken from its end. Commands
/// print what they do first and how it ended last, and most of what a model needs is at the beginning.
const HEAD_SHARE: usize = 60;

/// The amount to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// The most that fits into this many tokens, including the gap lines.
    Tokens(usize),
    /// The lines that a reader needs to know the content.
    Essence,
}

/// An outline, and the means to count its pieces.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutlineChoice<'a> {
    /// The pieces.
    pub outline: &'a Outline<'a>,
    /// The text of the outline.
    pub text: &'a str,
    /// The kind of text that the output is counted as.
    pub kind: TextKind,
    /// Counts the output.
    pub counter: &'a dyn CountTokens,
    /// Maximum tokens of a gap line.
    gap: usize,
}

impl<'a> OutlineChoice<'a> {
    /// Prepares the choice among the pieces of `outline`, the outline of `text`. O(length).
    pub(super) fn of(
        outline: &'a Outline<'a>,
        text: &'a str,
        kind: TextKind,
        counter: &'a dyn CountTokens,
    ) -> OutlineChoice<'a> {
        OutlineChoice { outline, text, kind, counter, gap: gap_tokens(outline, text, counter) }
    }

    /// Returns the pieces that `aim` keeps, most important first. Counts only those; otherwise O(pieces).
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
                // The first piece that does not fit ends the choice. A smaller piece after it would have to be removed
                // again under a bigger budget, which keeps this one.
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

    /// Returns for each piece if it is kept. Kept are the pieces of `order`, and pieces that take no more tokens than
    /// the gap line in their place.
    pub(super) fn selection(&self, order: &[usize]) -> Vec<bool> {
        let pieces = &self.outline.pieces;
        let mut kept = vec![false; pieces.len()];
        for piece in order {
            kept[*piece] = true;
        }
        let mut start = 0;
        while start < kept.len() {
            let end = start + kept[start..].iter().take_while(|kept| !**kept).count();
            // Pieces without a gap line stay out. If they were added here, a bigger budget that splits the gap would
            // remove them again.
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

/// Counts the gap lines as more and more pieces are kept.
struct Gaps {
    /// The kept pieces, shifted by one, with a sentinel before the first and after the last.
    kept: BTreeSet<usize>,
    /// For each piece, the number of pieces before it that are marked if left out.
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

    /// Marks a piece as kept. O(log pieces).
    fn keep(&mut self, piece: usize) {
        let start = self.kept.range(..=piece).next_back().copied().unwrap_or(0);
        let end = self.kept.range(piece + 1..).next().map_or(self.marked.len(), |next| next - 1);
        let has_gap = |start: usize, end: usize| usize::from(self.marked[end] > self.marked[start]);
        self.count += has_gap(start, piece) + has_gap(piece + 1, end);
        self.count -= has_gap(start, end);
        self.kept.insert(piece + 1);
    }
}

/// Returns the pieces of each rank, in the order of the text.
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

/// Takes the pieces of a rank from both ends, so that head and tail get their shares of the tokens.
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
        // Take from the end that is further below its share; from the head if they are equal.
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
