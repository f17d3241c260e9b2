//! Tracks references that the conversations of a shared store may still use.

use std::collections::{BTreeSet, VecDeque};

use super::newest::Newest;
use crate::store::Reference;

/// Number of conversations whose references are remembered. A conversation counts as finished after this many others
/// were cleaned.
const CONVERSATIONS: usize = 256;

/// The references that no cleaning may remove.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// References that were put or returned, and that no cleaning has seen in a conversation since.
    unclaimed: Newest<()>,
    /// The hashes that each conversation used at its last cleaning, latest conversation last.
    conversations: VecDeque<BTreeSet<String>>,
    /// For each running cleaning, the number of the last note at its beginning.
    cleanings: Vec<u64>,
}

impl Held {
    /// Notes a reference that was put or returned. A message with it may soon be appended.
    pub(super) fn note(&mut self, reference: &Reference) {
        self.unclaimed.note(reference, ());
    }

    /// Removes a deleted reference.
    pub(super) fn forget(&mut self, reference: &Reference) {
        self.unclaimed.remove(reference);
    }

    /// Returns every hash that is used directly, and not only named in used content.
    pub(super) fn hashes(&self) -> impl Iterator<Item = &str> {
        let unclaimed = self.unclaimed.references().map(Reference::hash);
        unclaimed.chain(self.conversations.iter().flatten().map(String::as_str))
    }

    /// True if the reference is used directly.
    pub(super) fn has(&self, reference: &Reference) -> bool {
        let hash = reference.hash();
        self.unclaimed.get(reference).is_some() || self.conversations.iter().any(|hashes| hashes.contains(hash))
    }

    /// Notes the beginning of a cleaning, and returns its number.
    pub(super) fn begin_cleaning(&mut self) -> u64 {
        self.cleanings.push(self.unclaimed.notes());
        self.unclaimed.notes()
    }

    /// Notes the end of the cleaning that began with this number.
    pub(super) fn end_cleaning(&mut self, cleaning: u64) {
        if let Some(at) = self.cleanings.iter().position(|begun| *begun == cleaning) {
            self.cleanings.swap_remove(at);
        }
    }

    /// Sets the hashes that a conversation uses now. They replace its earlier hashes, which can all be reached from
    /// them, because content that is removed from a conversation always leaves a reference.
    pub(super) fn claim(&mut self, hashes: BTreeSet<String>, is_reached: impl Fn(&str) -> bool) {
        // A running cleaning has not seen what was noted after it began, so those references stay.
        let begun = self.cleanings.iter().min().copied().unwrap_or(u64::MAX);
        self.unclaimed.retain(|reference, note| note > begun || !is_reached(reference.hash()));
        self.conversations.retain(|before| !before.iter().all(|hash| is_reached(hash)));
        if hashes.is_empty() {
            return;
        }
        self.conversations.push_back(hashes);
        if self.conversations.len() > CONVERSATIONS {
            self.conversations.pop_front();
        }
    }
}
