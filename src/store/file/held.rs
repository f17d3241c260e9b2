//! Tracks references that the conversations of a shared store may still hold.

use std::collections::{BTreeSet, VecDeque};

use super::newest::Newest;
use crate::store::Reference;

/// The most conversations whose references are remembered. A conversation counts as finished once this many others were
/// cleaned after it.
const CONVERSATIONS: usize = 256;

/// The references that no cleaning may remove.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// References that were put or returned, and that no cleaning has found in a conversation since.
    unclaimed: Newest<()>,
    /// The hashes that each conversation held at its last cleaning, the latest conversation last.
    conversations: VecDeque<BTreeSet<String>>,
    /// The number of the last note when each of the cleanings began that run now.
    cleanings: Vec<u64>,
}

impl Held {
    /// Notes a reference that was put or returned: a message that names it may be on its way.
    pub(super) fn note(&mut self, reference: &Reference) {
        self.unclaimed.note(reference, ());
    }

    /// Forgets a reference that was deleted.
    pub(super) fn forget(&mut self, reference: &Reference) {
        self.unclaimed.remove(reference);
    }

    /// Every hash that is held by itself, and not only named by content that is held.
    pub(super) fn hashes(&self) -> impl Iterator<Item = &str> {
        let unclaimed = self.unclaimed.references().map(Reference::hash);
        unclaimed.chain(self.conversations.iter().flatten().map(String::as_str))
    }

    /// True if the reference is held by itself.
    pub(super) fn has(&self, reference: &Reference) -> bool {
        let hash = reference.hash();
        self.unclaimed.get(reference).is_some() || self.conversations.iter().any(|hashes| hashes.contains(hash))
    }

    /// Notes the beginning of a cleaning, whose number it returns.
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

    /// Remembers the hashes that a conversation holds now. They replace what it held before: all of that can be reached
    /// from them, since nothing leaves a conversation without a way back.
    pub(super) fn claim(&mut self, hashes: BTreeSet<String>, is_reached: impl Fn(&str) -> bool) {
        // A cleaning that runs has not seen what was noted since it began, so that stays held by itself.
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
