//! Conversations whose host promises that old messages do not change: only what was appended is read.

use std::fmt;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::tokens::Scale;
use crate::wire::Format;

/// Conversations that are remembered; the one that was not counted for longest is forgotten.
const CONVERSATIONS: usize = 16;

/// What was counted of a list, up to some message.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// The wire format.
    pub format: Format,
    /// Number of messages.
    pub messages: usize,
    /// Their tokens.
    pub total: usize,
    /// Their tokens before any scale.
    pub unscaled: usize,
    /// The scale of the total.
    pub scale: Scale,
    /// What the conversation is recognized by.
    pub beginning: u128,
}

struct Entry {
    /// The first message and the last that was counted, which must still be where they were.
    first: Py<PyAny>,
    last: Py<PyAny>,
    counted: Counted,
}

/// What was counted of the last conversations. Shared freely between threads.
#[derive(Default)]
pub struct Promises {
    entries: Mutex<Vec<Entry>>,
}

impl fmt::Debug for Promises {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Promises").finish_non_exhaustive()
    }
}

impl Promises {
    /// What was counted of the messages that `messages` begins with. O(1) in their number.
    pub fn recall(&self, messages: &Bound<'_, PyList>) -> Option<Counted> {
        let first = messages.get_item(0).ok()?;
        let entries = self.entries.lock();
        let stands = |entry: &&Entry| {
            let last = messages.get_item(entry.counted.messages - 1);
            entry.first.is(&first) && last.is_ok_and(|last| entry.last.is(&last))
        };
        // A list has one entry, since remembering replaces by the first message.
        entries.iter().find(stands).map(|entry| entry.counted)
    }

    /// Remembers what was counted of `messages`, in place of what was known of them.
    pub fn remember(&self, messages: &Bound<'_, PyList>, counted: Counted) {
        let Some(last) = counted.messages.checked_sub(1) else { return };
        let (Ok(first), Ok(last)) = (messages.get_item(0), messages.get_item(last)) else { return };
        let mut gone = Vec::new();
        {
            let mut entries = self.entries.lock();
            gone.extend(entries.extract_if(.., |entry| entry.first.is(&first)));
            if entries.len() == CONVERSATIONS {
                gone.push(entries.remove(0));
            }
            entries.push(Entry { first: first.unbind(), last: last.unbind(), counted });
        }
        // After the lock: with the last reference to a message, code of the host may run.
        drop(gone);
    }

    /// Forgets every conversation: one of them was changed.
    pub fn forget(&self) {
        let gone = std::mem::take(&mut *self.entries.lock());
        drop(gone);
    }
}
