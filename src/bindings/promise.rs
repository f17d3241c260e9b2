//! Conversations whose host promises that old messages do not change: only what was appended is read.
//!
//! That a list goes on where a counted one ended is seen by the messages themselves, which must be the very same objects,
//! every one of them. They are held on to, so that no other object takes the place of one in memory.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::shared::Shared;
use crate::tokens::Scale;
use crate::wire::Format;

/// Conversations that are remembered; the one that was not counted for longest is forgotten.
const CONVERSATIONS: usize = 16;

/// What was counted of a list.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// The wire format.
    pub format: Format,
    /// Tokens of all messages.
    pub total: usize,
    /// Their tokens before any scale.
    pub unscaled: usize,
    /// The scale of the totals.
    pub scale: Scale,
    /// What the conversation is recognized by.
    pub beginning: u128,
    /// What of it no later entry of the list changes.
    pub settled: Settled,
}

/// What was counted up to the last message. The last one may go on in the entries that come next: where every result has
/// an entry of its own, those in a row are one message.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settled {
    /// Entries of the list before those of the last message.
    pub entries: usize,
    /// Their tokens.
    pub total: usize,
    /// Their tokens before any scale.
    pub unscaled: usize,
}

impl Counted {
    /// What a list counts that begins like this one, where `rest` is what it counts from the settled entries on.
    pub fn and(self, rest: Counted) -> Counted {
        let Settled { entries, total, unscaled } = self.settled;
        Counted {
            total: total + rest.total,
            unscaled: unscaled + rest.unscaled,
            // The first message may have been all that there was.
            beginning: if entries == 0 { rest.beginning } else { self.beginning },
            settled: Settled {
                entries: entries + rest.settled.entries,
                total: total + rest.settled.total,
                unscaled: unscaled + rest.settled.unscaled,
            },
            ..rest
        }
    }
}

/// The entries of a list at one moment, however the list changes meanwhile.
pub struct Entries<'py> {
    /// A list of its own, which holds on to them.
    list: Bound<'py, PyList>,
    /// Where each is in memory.
    places: Vec<usize>,
}

impl<'py> Entries<'py> {
    /// Those of `list` now.
    pub fn of(list: &Bound<'py, PyList>) -> Entries<'py> {
        let list = list.get_slice(0, list.len());
        let places = list.iter().map(|entry| entry.as_ptr() as usize).collect();
        Entries { list, places }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Those from `first` on.
    pub fn since(&self, first: usize) -> Bound<'py, PyList> {
        self.list.get_slice(first, self.count())
    }
}

struct Known {
    list: Py<PyList>,
    places: Vec<usize>,
    counted: Counted,
}

impl Known {
    /// Whether nobody else has one of the messages, so that no list will begin with all of them again.
    #[expect(deprecated, reason = "the way that is not deprecated is unsafe")]
    fn is_gone(&self, py: Python<'_>) -> bool {
        /// Our list's, and that of who asks.
        const OURS: isize = 2;
        self.list.bind(py).iter().any(|entry| entry.get_refcnt() == OURS)
    }
}

/// What was counted of the last conversations. Shared freely between threads.
#[derive(Default)]
pub struct Promises {
    known: Shared<Vec<Known>>,
}

impl fmt::Debug for Promises {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Promises").finish_non_exhaustive()
    }
}

impl Promises {
    /// What was counted of the entries that a list begins with, as far as it is of use, and how many they were. Compares
    /// one pointer for each entry.
    pub fn recall(&self, entries: &Entries<'_>, of_use: impl Fn(&Counted) -> bool) -> Option<(Counted, usize)> {
        let mut known = self.known.lock()?;
        let index = longest(&known, &entries.places, of_use)?;
        let found = known.remove(index);
        let recalled = (found.counted, found.places.len());
        known.push(found);
        Some(recalled)
    }

    /// Remembers what was counted of a list, in place of what was known of its beginning.
    pub fn remember(&self, py: Python<'_>, entries: Entries<'_>, counted: Counted) {
        let Entries { list, places } = entries;
        if places.is_empty() {
            return;
        }
        let mut gone = Vec::new();
        if let Some(mut known) = self.known.lock() {
            match longest(&known, &places, |_| true) {
                Some(index) => gone.push(known.remove(index)),
                // All of it was read, so that looking over the others costs little beside.
                None => gone.extend(known.extract_if(.., |known| known.is_gone(py))),
            }
            if known.len() == CONVERSATIONS {
                gone.push(known.remove(0));
            }
            known.push(Known { list: list.unbind(), places, counted });
        }
        // After the lock: with the last reference to a message, code of the host may run.
        drop(gone);
    }
}

/// Which of those that a list begins with is the longest.
fn longest(known: &[Known], places: &[usize], of_use: impl Fn(&Counted) -> bool) -> Option<usize> {
    let begun = |known: &Known| of_use(&known.counted) && places.starts_with(&known.places);
    let candidates = known.iter().enumerate().filter(|(_, known)| begun(known));
    candidates.max_by_key(|(_, known)| known.places.len()).map(|(index, _)| index)
}
