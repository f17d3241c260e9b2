//! The pieces of a view of a history.

use std::ops::Range;

use crate::ledger::EntryDigest;

/// A piece of a view, and the entries of the history that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<M> {
    /// These entries, unchanged.
    Same(Range<usize>),
    /// Other messages.
    Block {
        /// The replaced entries; empty if the messages were inserted.
        stands_for: Range<usize>,
        /// The messages that replace them, in order; empty if they are removed.
        shows: Vec<ShownMessage<M>>,
        /// Digest of the history up to the end of those entries. The piece applies only to them.
        prefix: u128,
    },
}

/// A message that a model sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownMessage<M> {
    /// An entry of the history, unchanged.
    Entry(usize),
    /// A message that is not in the history.
    Made(M),
}

impl<M> Piece<M> {
    /// Returns the entries of the history that it replaces.
    pub fn entries(&self) -> &Range<usize> {
        match self {
            Piece::Same(entries) | Piece::Block { stands_for: entries, .. } => entries,
        }
    }
}

/// Appends a piece. Consecutive unchanged entries become one piece.
pub(super) fn push<M>(pieces: &mut Vec<Piece<M>>, piece: Piece<M>) {
    match (pieces.last_mut(), piece) {
        (Some(Piece::Same(last)), Piece::Same(next)) if last.end == next.start => last.end = next.end,
        (_, Piece::Same(next)) if next.is_empty() => {}
        (_, piece) => pieces.push(piece),
    }
}

/// Digests of a history's entries and beginnings: of its first entry, of the first two, and so on.
#[derive(Debug, Clone, Default)]
pub struct Prefixes {
    entries: Vec<EntryDigest>,
    prefixes: Vec<u128>,
}

impl Prefixes {
    /// Returns the prefixes of a history with these entries.
    pub fn of(entries: Vec<EntryDigest>) -> Prefixes {
        let mut prefixes = Prefixes::default();
        prefixes.extend(entries);
        prefixes
    }

    /// Appends entries to the history.
    pub fn extend(&mut self, entries: Vec<EntryDigest>) {
        let mut last = self.last();
        self.prefixes.extend(entries.iter().map(|entry| {
            last = entry.behind(last);
            last
        }));
        self.entries.extend(entries);
    }

    /// Returns the digest of the first `count` entries; `None` if there are fewer. The digest of no entries is 0.
    pub fn at(&self, count: usize) -> Option<u128> {
        match count {
            0 => Some(0),
            count => self.prefixes.get(count - 1).copied(),
        }
    }

    /// Returns the digest of the whole history.
    pub fn last(&self) -> u128 {
        self.prefixes.last().copied().unwrap_or_default()
    }

    /// Returns the digest of each entry.
    pub fn entries(&self) -> &[EntryDigest] {
        &self.entries
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if the history has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
