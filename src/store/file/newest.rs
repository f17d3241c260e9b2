//! A bounded map of references. New references replace the oldest.

use std::collections::BTreeMap;

use crate::store::Reference;

/// Number of references: far more than a hundred threads put between two compactions of one conversation.
const REMEMBERED: usize = 4_096;

/// The references that were noted last.
#[derive(Debug)]
pub(super) struct Newest<T> {
    known: BTreeMap<Reference, (u64, T)>,
    /// References by the number of their note.
    order: BTreeMap<u64, Reference>,
    notes: u64,
}

impl<T> Default for Newest<T> {
    fn default() -> Newest<T> {
        Newest { known: BTreeMap::new(), order: BTreeMap::new(), notes: 0 }
    }
}

impl<T> Newest<T> {
    /// Notes `reference` as the newest. O(log n).
    pub(super) fn note(&mut self, reference: &Reference, value: T) {
        self.remove(reference);
        self.notes += 1;
        self.known.insert(reference.clone(), (self.notes, value));
        self.order.insert(self.notes, reference.clone());
        if self.known.len() > REMEMBERED
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.known.remove(&oldest);
        }
    }

    pub(super) fn get(&self, reference: &Reference) -> Option<&T> {
        self.known.get(reference).map(|(_, value)| value)
    }

    pub(super) fn remove(&mut self, reference: &Reference) -> Option<T> {
        let (note, value) = self.known.remove(reference)?;
        self.order.remove(&note);
        Some(value)
    }

    pub(super) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.known.keys()
    }

    /// Returns the number of notes.
    pub(super) fn notes(&self) -> u64 {
        self.notes
    }

    /// Keeps the references for which `wanted` is true, given the number of their note.
    pub(super) fn retain(&mut self, wanted: impl Fn(&Reference, u64) -> bool) {
        self.known.retain(|reference, (note, _)| wanted(reference, *note));
        self.order.retain(|note, reference| wanted(reference, *note));
    }
}
