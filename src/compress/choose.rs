//! Which pieces a budget keeps.
//!
//! The pieces stand in one order, which does not depend on the budget: by rank, and within a rank from both ends of
//! the text. A budget keeps as many from the front of that order as fit. So a bigger budget never keeps less.

use super::gap::gap_tokens;
use super::outline::{Outline, Rank};
use crate::tokens::{CountTokens, TextKind};

/// Share of the pieces of a rank that is taken from the front of the text, in hundredths. Commands print what they do
/// first and how it ended last; most of what a model asks for is in front.
const HEAD_SHARE: usize = 60;

/// How much to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// As much as fits so many tokens, the lines in the gaps included.
    Tokens(usize),
    /// What is needed to know what the text says, however much that is.
    Essence,
}

/// An outline, and what its pieces cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choosing<'a> {
    outline: &'a Outline<'a>,
    text: &'a str,
    kind: TextKind,
    counter: &'a dyn CountTokens,
    /// The most that a gap costs.
    gap: usize,
}

impl<'a> Choosing<'a> {
    pub(super) fn new(
        outline: &'a Outline<'a>,
        text: &'a str,
        kind: TextKind,
        counter: &'a dyn CountTokens,
    ) -> Choosing<'a> {
        Choosing { outline, text, kind, counter, gap: gap_tokens(outline, text, counter) }
    }

    /// The pieces that `aim` keeps, the most needed first. Counts only those; O(pieces) beside that.
    pub(super) fn order(&self, aim: Aim) -> Vec<usize> {
        let pieces = self.outline.pieces.len();
        let mut kept = vec![false; pieces];
        let mut order = Vec::new();
        let (mut used, mut gaps) = (0, usize::from(pieces > 0));
        let mut ranks = by_rank(self.outline);
        for rank in Rank::ALL {
            if aim == Aim::Essence && !rank.is_essential() {
                break;
            }
            let mut ends = Ends::of(std::mem::take(&mut ranks[rank as usize]));
            while let Some((piece, end)) = ends.next() {
                let tokens = self.size(piece);
                let opened = usize::from(piece > 0 && !kept[piece - 1]);
                let split = usize::from(piece + 1 < pieces && !kept[piece + 1]);
                let gaps_after = gaps + opened + split - 1;
                // The first that does not fit ends the choice: smaller ones behind it would have to go again where a
                // bigger budget takes it.
                if matches!(aim, Aim::Tokens(budget) if used + tokens + gaps_after * self.gap > budget) {
                    return order;
                }
                (used, gaps) = (used + tokens, gaps_after);
                kept[piece] = true;
                order.push(piece);
                ends.spent(end, tokens);
            }
        }
        order
    }

    /// For each piece, whether it is kept: those of `order`, and what takes no more than the line that would stand in
    /// its place.
    pub(super) fn kept(&self, order: &[usize]) -> Vec<bool> {
        let mut kept = vec![false; self.outline.pieces.len()];
        for piece in order {
            kept[*piece] = true;
        }
        let mut start = 0;
        while start < kept.len() {
            let end = start + kept[start..].iter().take_while(|kept| !**kept).count();
            let mut tokens = 0;
            let is_small = (start..end).all(|piece| {
                tokens += self.size(piece);
                tokens <= self.gap
            });
            if is_small {
                kept[start..end].fill(true);
            }
            start = end + 1;
        }
        kept
    }

    fn size(&self, piece: usize) -> usize {
        self.counter.count(&self.outline.text_of(self.text, piece), self.kind)
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
