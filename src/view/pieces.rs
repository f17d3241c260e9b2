//! The pieces that make up a view of a history.

use std::ops::Range;

use crate::ledger::EntryDigest;

/// A piece of the model's view, and the entries of the history that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<M> {
    /// These entries, as they are.
    Same(Range<usize>),
    /// Something else.
    Block {
        /// The entries. Empty for what was put between two of them.
        stands_for: Range<usize>,
        /// The messages that replace them, in order; empty if they are removed.
        shows: Vec<ShownMessage<M>>,
        /// Digest of the history up to their end. The piece replaces no other entries.
        prefix: u128,
    },
}

/// A message that a model sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownMessage<M> {
    /// An entry of the history, as it is.
    Entry(usize),
    /// A message that is not in the history.
    Made(M),
}

impl<M> Piece<M> {
    /// The entries of the history that it replaces.
    pub fn entries(&self) -> &Range<usize> {
        match self {
            Piece::Same(entries) | Piece::Block { stands_for: entries, .. } => entries,
        }
    }
}

/// Adds a piece after others. Entries in a row that are unchanged make one piece.
pub(super) fn push<M>(pieces: &mut Vec<Piece<M>>, piece: Piece<M>) {
    match (pieces.last_mut(), piece) {
        (Some(Piece::Same(last)), Piece::Same(next)) if last.end == next.start => last.end = next.end,
        (_, Piece::Same(next)) if next.is_empty() => {}
        (_, piece) => pieces.push(piece),
    }
}

/// Digests of the entries of a history, and of its beginnings: of its first entry, of the first two, and so on.
#[derive(Debug, Clone, Default)]
pub struct Prefixes {
    entries: Vec<EntryDigest>,
    prefixes: Vec<u128>,
}

impl Prefixes {
    /// Those of a history with these entries.
    pub fn of(entries: Vec<EntryDigest>) -> Prefixes {
        let mut prefixes = Prefixes::default();
        prefixes.extend(entries);
        prefixes
    }

    /// Adds entries at the end of the history.
    pub fn extend(&mut self, entries: Vec<EntryDigest>) {
        let mut last = self.last();
        self.prefixes.extend(entries.iter().map(|entry| {
            last = entry.behind(last);
            last
        }));
        self.entries.extend(entries);
    }

    /// The digest of the first `count` entries; `None` where there are fewer. That of none is 0.
    pub fn at(&self, count: usize) -> Option<u128> {
        match count {
            0 => Some(0),
            count => self.prefixes.get(count - 1).copied(),
        }
    }

    /// The digest of the whole history.
    pub fn last(&self) -> u128 {
        self.prefixes.last().copied().unwrap_or_default()
    }

    /// The digest of each entry.
    pub fn entries(&self) -> &[EntryDigest] {
        &self.entries
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if the history has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
