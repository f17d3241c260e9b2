//! What a model sees of a conversation that grows.
//!
//! Hosts do not compact a list once: they ask again and again about a history that grows, that is rebuilt for each request,
//! edited, rewound and branched. A [`View`] remembers what each compaction left as [`Piece`]s of the history: ranges of it
//! that stand as they are, and blocks of it that something else stands for. A block is recognized by a digest of the
//! history up to its end, so a compaction serves every history that begins with what it was made of, and its first blocks
//! serve every history that begins with those.
//!
//! Nothing here depends on time, threads or the order of requests with other budgets: [`View::request`] is a function of the
//! history, the budget, and what the compactions for that budget left.

mod pieces;
mod state;
mod units;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::ledger::EntryDigest;
pub use pieces::{Piece, Prefixes, Shown};
pub use state::{State, not_a_state, of_another};
pub use units::{Output, Unit, Units};

/// Compactions that are kept for a budget: after a rewind, or in another branch, an older one may be the right one. Hosts
/// go back over few compactions; what is older is compacted again.
const COMPACTIONS: usize = 4;

/// Budgets whose compactions are kept: a host has one for each model that takes turns. The one that was not asked for
/// longest is forgotten.
const BUDGETS: usize = 16;

/// Entries of a history by which it is told from another, spread evenly.
const LANDMARKS: usize = 16;

/// What a refused request is brought to, as shares of its tokens: the first refusal in a row, the second, and so on. A
/// provider's count is higher than ours by a share that nobody knows, or its window smaller than was said; the fifth try
/// comes to less than a hundredth.
const AFTER_REFUSALS: [f64; 5] = [0.7, 0.5, 0.3, 0.2, 0.2];

/// Budgets that differ by less than this factor may share compactions: hosts work out their budgets from prompts whose length
/// varies a little from request to request.
const NEAR: f64 = 1.25;

/// What a compaction left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction<M> {
    /// Oldest first; what stands behind the last piece is the history itself.
    pub pieces: Vec<Piece<M>>,
    /// Tokens of the whole request, before any scale; 0 where they are not known.
    pub left: usize,
}

/// A compaction, and the history that it was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known<M> {
    compaction: Compaction<M>,
    /// Entries of the history.
    entries: usize,
    /// Its digest.
    prefix: u128,
}

/// Whether two budgets have the same compactions. Budgets are put into classes, so that this does not depend on which of
/// them was asked for first.
pub fn share_compactions(one: Option<usize>, other: Option<usize>) -> bool {
    #[allow(clippy::cast_precision_loss)] // The class of an astronomical budget may be the next one.
    let class = |budget: usize| (budget.max(1) as f64).log(NEAR).floor();
    one.map(class) == other.map(class)
}

/// The compactions for one class of budgets, the newest last.
#[derive(Debug, Clone)]
struct Track<M> {
    /// The budget that the host gave; `None` for what the policy's window leaves.
    budget: Option<usize>,
    compactions: VecDeque<Arc<Known<M>>>,
}

/// What a model sees of a growing history. `M` is a message of the host that is not in the history.
#[derive(Debug, Clone)]
pub struct View<M> {
    /// The one that was used last is the last.
    tracks: Vec<Track<M>>,
    /// Some entries of the history, to tell it from another.
    landmarks: Vec<EntryDigest>,
    /// The most tokens that the messages may take, after a provider refused more.
    ceiling: Option<usize>,
    refusals: usize,
}

impl<M> Default for View<M> {
    fn default() -> View<M> {
        View { tracks: Vec::new(), landmarks: Vec::new(), ceiling: None, refusals: 0 }
    }
}

impl<M: Clone> View<M> {
    /// What stands for a history with these prefixes, for a budget. Its last piece may be shorter than what is left of the
    /// history, and never is longer. O(pieces).
    pub fn request(&self, budget: Option<usize>, prefixes: &Prefixes) -> Compaction<M> {
        let nothing = Compaction { pieces: Vec::new(), left: 0 };
        let Some(track) = self.tracks.iter().find(|track| share_compactions(track.budget, budget)) else {
            return nothing;
        };
        let fitting = track.compactions.iter().rev().map(|known| (known.serving(prefixes), &known.compaction));
        // The newest of those that go furthest. One that was made of less may still serve where a newer one does not.
        let best = fitting.reduce(|best, other| if end(other.0) > end(best.0) { other } else { best });
        best.map_or(nothing, |(pieces, of)| {
            let is_whole = pieces.len() == of.pieces.len() && !pieces.is_empty();
            Compaction { pieces: pieces.to_vec(), left: if is_whole { of.left } else { 0 } }
        })
    }

    /// Whether what is remembered was made of another history: no message of that one is in this one. A single message may
    /// have been edited.
    pub fn is_of_another(&self, prefixes: &Prefixes) -> bool {
        !self.landmarks.is_empty() && prefixes.len() > 1 && self.landmarks_in(prefixes) == 0
    }

    /// Notes which history the next requests are for, where it is no longer told by what is known of it.
    pub fn update(&mut self, prefixes: &Prefixes) {
        let known = self.landmarks.len();
        let is_old = self.landmarks_in(prefixes) * 2 < known || known < LANDMARKS.min(prefixes.len() / 2);
        if is_old && known > 0 {
            self.follow(prefixes);
        }
    }

    fn landmarks_in(&self, prefixes: &Prefixes) -> usize {
        self.landmarks.iter().filter(|landmark| prefixes.entries().contains(landmark)).count()
    }

    fn follow(&mut self, prefixes: &Prefixes) {
        let step = prefixes.len().div_ceil(LANDMARKS).max(1);
        self.landmarks = prefixes.entries().iter().step_by(step).copied().collect();
    }

    /// Remembers what a compaction left, and gives back what is forgotten for it.
    pub fn compacted(
        &mut self,
        budget: Option<usize>,
        compaction: Compaction<M>,
        prefixes: &Prefixes,
    ) -> Vec<impl Sized + use<M>> {
        self.follow(prefixes);
        let mut forgotten = Vec::new();
        let at = self.tracks.iter().position(|track| share_compactions(track.budget, budget));
        let mut track = at.map_or_else(|| Track { budget, compactions: VecDeque::new() }, |at| self.tracks.remove(at));
        let pieces = until_last_block(compaction.pieces);
        // A compaction of the same entries stands in for the one before: a branch has other prefixes.
        let same = track.compactions.iter().position(|other| ends_alike(&other.compaction.pieces, &pieces));
        forgotten.extend(same.and_then(|at| track.compactions.remove(at)));
        if track.compactions.len() == COMPACTIONS {
            forgotten.extend(track.compactions.pop_front());
        }
        let (entries, prefix) = (prefixes.len(), prefixes.last());
        let compaction = Compaction { pieces, ..compaction };
        track.compactions.push_back(Arc::new(Known { compaction, entries, prefix }));
        if self.tracks.len() == BUDGETS {
            forgotten.extend(self.tracks.remove(0).compactions);
        }
        self.tracks.push(track);
        forgotten
    }

    /// The most tokens that the messages may take, after a provider refused more.
    pub fn ceiling(&self) -> Option<usize> {
        self.ceiling
    }

    /// Sets the most tokens that the messages may take.
    pub fn set_ceiling(&mut self, ceiling: Option<usize>) {
        self.ceiling = ceiling;
    }

    /// Notes that a provider refused a request whose messages counted so many tokens: the next must be smaller.
    pub fn refused(&mut self, tokens: usize) {
        let share = AFTER_REFUSALS[self.refusals.min(AFTER_REFUSALS.len() - 1)];
        self.refusals += 1;
        let ceiling = crate::numbers::share(tokens, share).max(1);
        self.ceiling = Some(self.ceiling.map_or(ceiling, |other| other.min(ceiling)));
    }

    /// Notes that a provider answered: the next refusal is the first in a row. The ceiling stays.
    pub fn answered(&mut self) {
        self.refusals = 0;
    }
}

impl<M> Known<M> {
    /// The first pieces that serve a history: all of them where it goes on from that of the compaction, otherwise those up to
    /// the last block that stands for what it begins with. What was put between two entries is about what came behind, so
    /// it does not serve by itself.
    fn serving(&self, prefixes: &Prefixes) -> &[Piece<M>] {
        let pieces = &self.compaction.pieces;
        if prefixes.at(self.entries) == Some(self.prefix) {
            return pieces;
        }
        let serves = |piece: &Piece<M>| match piece {
            Piece::Same(_) => false,
            Piece::Block { stands_for, prefix, .. } => {
                !stands_for.is_empty() && prefixes.at(stands_for.end) == Some(*prefix)
            }
        };
        &pieces[..pieces.iter().rposition(serves).map_or(0, |last| last + 1)]
    }
}

/// The first entry that no piece stands for.
fn end<M>(pieces: &[Piece<M>]) -> usize {
    pieces.last().map_or(0, |piece| piece.entries().end)
}

/// Without what stands as it is at the end: that goes on in the history.
fn until_last_block<M>(mut pieces: Vec<Piece<M>>) -> Vec<Piece<M>> {
    let last = pieces.iter().rposition(|piece| matches!(piece, Piece::Block { .. }));
    pieces.truncate(last.map_or(0, |last| last + 1));
    pieces
}

/// Whether two compactions are of the same entries.
fn ends_alike<M>(one: &[Piece<M>], other: &[Piece<M>]) -> bool {
    match (one.last(), other.last()) {
        (
            Some(Piece::Block { stands_for, prefix, .. }),
            Some(Piece::Block { stands_for: other_stands_for, prefix: other_prefix, .. }),
        ) => stands_for.end == other_stands_for.end && prefix == other_prefix,
        (one, other) => one.is_none() && other.is_none(),
    }
}
