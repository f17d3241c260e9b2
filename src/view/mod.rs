//! The messages that a model sees of a growing conversation.
//!
//! A host does not compact a list once. It asks again and again about a history that grows, that is rebuilt for each
//! request, edited, rewound and branched. A [`View`] remembers the result of each compaction as [`Piece`]s of the
//! history: ranges that stay unchanged, and blocks that are replaced. A digest of the history up to the end of a block
//! identifies the block. So a compaction applies to every history that begins with the messages that it was made of,
//! and its first blocks apply to every history that begins with their messages.
//!
//! Nothing here depends on time, threads or the order of requests with other budgets: [`View::request`] is a function
//! of the history, the budget, and the results of the compactions for that budget.

mod index;
mod pieces;
mod state;
mod units;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::economics::{Account, ProviderCache, Savings, SentRequest};
use crate::ledger::EntryDigest;
pub use index::{DroppedViews, FoundView, Index};
pub use pieces::{Piece, Prefixes, ShownMessage};
pub use state::{State, not_a_state, of_another};
pub use units::{Output, Unit, Units};

/// Number of compactions kept for a budget. After a rewind, or in another branch, an older one may apply. Hosts rarely
/// go back further; older histories are compacted again.
const COMPACTIONS: usize = 4;

/// Number of budgets whose compactions are kept. A host has one for each model. The least recently used one is dropped.
const BUDGETS: usize = 16;

/// Number of entries that identify a history: this many of the newest, because hosts remove old ones, and as many of
/// the others, spread evenly.
const LANDMARKS: usize = 16;

/// The target after a refused request, as a share of its tokens, for the first refusal in a row, the second, and so on.
/// The provider's count is higher than ours by an unknown share, or its window is smaller than stated. The fifth
/// attempt is less than a hundredth of the request.
const AFTER_REFUSALS: [f64; 5] = [0.7, 0.5, 0.3, 0.2, 0.2];

/// Budgets that differ by less than this factor may share compactions, because hosts compute budgets from prompts whose
/// length varies a little.
const NEAR: f64 = 1.25;

/// The result of a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction<M> {
    /// The pieces, oldest first. The rest of the history follows the last one.
    pub pieces: Vec<Piece<M>>,
    /// Unscaled tokens of the whole request; 0 if unknown.
    pub left: usize,
    /// Entry of the last request of a person. The pieces show it, at least in part.
    pub asked: Option<usize>,
    /// Tokens that it and earlier compactions removed; 0 if unknown.
    pub removed: usize,
    /// The requests up to it, as the history shows them.
    pub account: Account,
}

/// The pieces that show a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<M> {
    /// The pieces, with their size and the last request.
    pub compaction: Compaction<M>,
    /// Number of entries of the history when the compaction was made; 0 without one.
    pub entries: usize,
    /// True if blocks were left out because they would hide the newest messages. Such a request must be remembered with
    /// [`View::compacted`], because those blocks would be shown again when the history grows.
    pub is_cut: bool,
}

impl<M> Default for Request<M> {
    fn default() -> Request<M> {
        let compaction =
            Compaction { pieces: Vec::new(), left: 0, asked: None, removed: 0, account: Account::default() };
        Request { compaction, entries: 0, is_cut: false }
    }
}

/// A compaction, and the history that it was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownCompaction<M> {
    compaction: Compaction<M>,
    /// Number of entries of the history.
    entries: usize,
    /// Digest of the history.
    prefix: u128,
}

/// True if two budgets share their compactions. Budgets are put into classes, so the answer does not depend on which
/// one was used first.
pub fn share_compactions(one: Option<usize>, other: Option<usize>) -> bool {
    #[allow(clippy::cast_precision_loss)] // The class of an astronomical budget may be the next one.
    let class = |budget: usize| (budget.max(1) as f64).log(NEAR).floor();
    one.map(class) == other.map(class)
}

/// The compactions for one class of budgets, newest last.
#[derive(Debug, Clone)]
struct Track<M> {
    /// The host's budget; `None` for the room that the policy's window leaves.
    budget: Option<usize>,
    compactions: VecDeque<Arc<KnownCompaction<M>>>,
    /// The last compaction that was postponed, unless it was made since.
    waits: Option<Wait>,
}

/// A compaction that was postponed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wait {
    /// Number of entries of the history.
    entries: usize,
    /// Digest of the history.
    prefix: u128,
    /// Unscaled tokens of the request.
    left: usize,
}

/// The messages that a model sees of a growing history. `M` is a message of the host that is not in the history.
#[derive(Debug, Clone)]
pub struct View<M> {
    /// The tracks, most recently used last.
    tracks: Vec<Track<M>>,
    /// Some entries of the history, to distinguish it from others.
    landmarks: Vec<EntryDigest>,
    /// The most tokens for the messages, after a provider refused more.
    ceiling: Option<usize>,
    refusals: usize,
    is_answered: bool,
    cache: ProviderCache,
    /// The requests with reported tokens.
    account: Account,
}

impl<M> Default for View<M> {
    fn default() -> View<M> {
        View {
            tracks: Vec::new(),
            landmarks: Vec::new(),
            ceiling: None,
            refusals: 0,
            is_answered: false,
            cache: ProviderCache::default(),
            account: Account::default(),
        }
    }
}

impl<M: Clone> View<M> {
    /// Returns the pieces that show a history with these prefixes, for a budget. The last piece may end before the
    /// history does. `asked` is the entry of the last request of a person. O(pieces).
    pub fn request(&self, budget: Option<usize>, prefixes: &Prefixes, asked: Option<usize>) -> Request<M> {
        let track = self.tracks.iter().find(|track| share_compactions(track.budget, budget));
        let known = track.into_iter().flat_map(|track| track.compactions.iter().rev());
        // The newest compaction of the longest beginning of this history. Without one, the longest beginning of a
        // compaction, because a request of this history must not change when another branch is compacted.
        let rank = |known: &&Arc<KnownCompaction<M>>| {
            (known.is_beginning_of(prefixes).then_some(known.entries), end(known.serving(prefixes)))
        };
        let best = known.reduce(|best, other| if rank(&other) > rank(&best) { other } else { best });
        let waits = track.and_then(|track| track.waits).filter(|wait| prefixes.at(wait.entries) == Some(wait.prefix));
        let waits = waits.map_or(0, |wait| wait.left);
        let Some(known) = best else {
            let mut request = Request::default();
            request.compaction.left = waits;
            return request;
        };
        let serving = known.serving(prefixes);
        let pieces = if known.is_beginning_of(prefixes) { serving } else { known.showing(serving, prefixes, asked) };
        let is_whole = pieces.len() == known.compaction.pieces.len() && !pieces.is_empty();
        let Compaction { left, removed, account, .. } = known.compaction;
        let (left, removed, account, entries) =
            if is_whole { (left, removed, account, known.entries) } else { (0, 0, Account::default(), 0) };
        let pieces_to_show = until_last_block(pieces.to_vec());
        let compaction = Compaction { pieces: pieces_to_show, left: left.max(waits), asked, removed, account };
        Request { compaction, entries, is_cut: pieces.len() < serving.len() }
    }

    /// True if the view belongs to another history: this one contains none of the entries that identify that one.
    pub fn is_of_another(&self, prefixes: &Prefixes) -> bool {
        !self.landmarks.is_empty() && !self.landmarks.iter().any(|landmark| prefixes.entries().contains(landmark))
    }

    /// Sets the history of the next requests.
    pub fn update(&mut self, prefixes: &Prefixes) {
        if !self.landmarks.is_empty() {
            self.follow(prefixes);
        }
    }

    fn follow(&mut self, prefixes: &Prefixes) {
        let entries = prefixes.entries();
        let (older, newest) = entries.split_at(entries.len().saturating_sub(LANDMARKS));
        let step = older.len().div_ceil(LANDMARKS).max(1);
        self.landmarks = older.iter().step_by(step).chain(newest).copied().collect();
    }

    /// Remembers the result of a compaction, and returns the forgotten ones.
    pub fn compacted(
        &mut self,
        budget: Option<usize>,
        compaction: Compaction<M>,
        prefixes: &Prefixes,
    ) -> Vec<impl Sized + use<M>> {
        self.follow(prefixes);
        let mut forgotten = Vec::new();
        let mut track = self.take_track(budget);
        track.waits = track.waits.filter(|wait| prefixes.at(wait.entries) != Some(wait.prefix));
        let pieces = until_last_block(compaction.pieces);
        // A compaction of the same entries replaces the earlier one. Another branch has other prefixes.
        let (entries, prefix) = (prefixes.len(), prefixes.last());
        let is_same = |other: &Arc<KnownCompaction<M>>| {
            (other.entries, other.prefix) == (entries, prefix) || ends_alike(&other.compaction.pieces, &pieces)
        };
        let same = track.compactions.iter().position(is_same);
        forgotten.extend(same.and_then(|at| track.compactions.remove(at)));
        if track.compactions.len() == COMPACTIONS {
            forgotten.extend(track.compactions.pop_front());
        }
        let compaction = Compaction { pieces, ..compaction };
        track.compactions.push_back(Arc::new(KnownCompaction { compaction, entries, prefix }));
        forgotten.extend(self.put_track(track));
        forgotten
    }

    /// Remembers that a compaction was postponed at a request with this many unscaled tokens, and returns the forgotten
    /// compactions. It is considered again when the request is larger by [`PROGRESS`](crate::budget::PROGRESS).
    pub fn postponed(
        &mut self,
        budget: Option<usize>,
        left: usize,
        prefixes: &Prefixes,
    ) -> impl IntoIterator<Item = impl Sized + use<M>> + use<M> {
        self.follow(prefixes);
        let mut track = self.take_track(budget);
        track.waits = Some(Wait { entries: prefixes.len(), prefix: prefixes.last(), left });
        self.put_track(track)
    }

    fn take_track(&mut self, budget: Option<usize>) -> Track<M> {
        let at = self.tracks.iter().position(|track| share_compactions(track.budget, budget));
        at.map_or_else(|| Track { budget, compactions: VecDeque::new(), waits: None }, |at| self.tracks.remove(at))
    }

    /// Makes a track the newest, and returns the compactions of the one that is dropped for it.
    fn put_track(&mut self, track: Track<M>) -> VecDeque<Arc<KnownCompaction<M>>> {
        let is_full = self.tracks.len() == BUDGETS;
        let dropped = if is_full { self.tracks.remove(0).compactions } else { VecDeque::new() };
        self.tracks.push(track);
        dropped
    }

    /// Returns the most tokens for the messages, after a provider refused more.
    pub fn ceiling(&self) -> Option<usize> {
        self.ceiling
    }

    /// Sets the most tokens for the messages.
    pub fn set_ceiling(&mut self, ceiling: Option<usize>) {
        self.ceiling = ceiling;
    }

    /// Notes that a provider refused a request with this many tokens of messages. The next request must be smaller.
    pub fn refused(&mut self, tokens: usize) {
        let share = AFTER_REFUSALS[self.refusals.min(AFTER_REFUSALS.len() - 1)];
        self.refusals = self.refusals.saturating_add(1);
        let ceiling = crate::numbers::share(tokens, share).max(1);
        self.ceiling = Some(self.ceiling.map_or(ceiling, |other| other.min(ceiling)));
    }

    /// Notes that a provider answered. The next refusal is then the first in a row. The ceiling stays.
    pub fn answered(&mut self) {
        (self.refusals, self.is_answered) = (0, true);
    }

    /// True if a provider answered a request.
    pub fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// Adds a request with reported tokens, and returns its savings.
    pub fn reported(&mut self, sent: SentRequest) -> Savings {
        self.cache = self.cache.after(sent);
        self.account.add(sent)
    }

    /// The requests with reported tokens, beside those of doing nothing.
    pub fn savings(&self) -> Savings {
        self.account.savings
    }

    /// The use of the provider's prompt cache.
    pub fn cache(&self) -> ProviderCache {
        self.cache
    }
}

impl<M> KnownCompaction<M> {
    /// True if a history continues the compaction's history.
    fn is_beginning_of(&self, prefixes: &Prefixes) -> bool {
        prefixes.at(self.entries) == Some(self.prefix)
    }

    /// Returns the first pieces that apply to a history: all of them if it continues the compaction's history,
    /// otherwise those up to the last block whose entries the history begins with. Text inserted between two entries
    /// belongs to the later one, so it does not apply by itself.
    fn serving(&self, prefixes: &Prefixes) -> &[Piece<M>] {
        let pieces = &self.compaction.pieces;
        if self.is_beginning_of(prefixes) {
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

    /// Returns the first of these pieces, up to the one that would hide the newest entry of a history or its last
    /// request. After a rewind those may be entries that the compaction removed.
    fn showing<'a>(&self, pieces: &'a [Piece<M>], prefixes: &Prefixes, asked: Option<usize>) -> &'a [Piece<M>] {
        let newest = prefixes.len().checked_sub(1);
        let asked = asked.filter(|_| asked != self.compaction.asked);
        let is_hidden = |entries: &Range<usize>| newest.into_iter().chain(asked).any(|entry| entries.contains(&entry));
        let hides = |piece: &Piece<M>| matches!(piece, Piece::Block { stands_for, .. } if is_hidden(stands_for));
        &pieces[..pieces.iter().position(hides).unwrap_or(pieces.len())]
    }
}

/// Returns the first entry that no piece covers.
fn end<M>(pieces: &[Piece<M>]) -> usize {
    pieces.last().map_or(0, |piece| piece.entries().end)
}

/// Removes unchanged entries at the end, because they continue in the history.
fn until_last_block<M>(mut pieces: Vec<Piece<M>>) -> Vec<Piece<M>> {
    let last = pieces.iter().rposition(|piece| matches!(piece, Piece::Block { .. }));
    pieces.truncate(last.map_or(0, |last| last + 1));
    pieces
}

/// True if two compactions end with the same entries.
fn ends_alike<M>(one: &[Piece<M>], other: &[Piece<M>]) -> bool {
    match (one.last(), other.last()) {
        (
            Some(Piece::Block { stands_for, prefix, .. }),
            Some(Piece::Block { stands_for: other_stands_for, prefix: other_prefix, .. }),
        ) => stands_for.end == other_stands_for.end && prefix == other_prefix,
        _ => false,
    }
}
