//! Histories that were read: the next request for one of them reads only what is new.

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::contents::Contents;
use super::history::Made;
use crate::bindings::append_only::{Counted, Entries};
use crate::bindings::counting::History as Promise;
use crate::bindings::text::PyText;
use crate::ledger::entry_digests;
use crate::message::{Conversation, Role};
use crate::shared::Shared;
use crate::view;
use crate::view::{Prefixes, Units};
use crate::wire::Format;
use crate::working_copy::requests;

/// Histories that are kept, and requests for each of them. Two models may take turns; with more than these, each
/// request reads its history again.
const KEPT: usize = 4;

/// The compaction that a request shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shows {
    pub budget: Option<usize>,
    /// Tokens that it left, before any scale.
    pub left: usize,
    /// Compactions there were when the request was made.
    pub compactions: usize,
}

/// A request that needed no compaction, to which the next messages are added as they come.
pub(super) struct Ready {
    pub shows: Shows,
    /// Entries of the history that it shows.
    pub entries: usize,
    /// Its messages. A list of our own, which only grows.
    pub list: Py<PyList>,
    pub counted: Counted,
}

/// A history that was read.
pub(super) struct KnownHistory {
    entries: Entries,
    /// The strings in its messages; `None` where the host promises that messages do not change.
    contents: Option<Contents>,
    pub format: Format,
    /// Digests of its first entries, of all that were read.
    pub prefixes: Prefixes,
    /// Entry of the last request of a person.
    pub asked: Option<usize>,
    /// True if the model has said something in it.
    pub is_answered: bool,
    ready: Vec<Ready>,
}

impl KnownHistory {
    /// A history of which nothing is read yet.
    pub fn new(py: Python<'_>, format: Format, promise: Promise) -> PyResult<KnownHistory> {
        Ok(KnownHistory {
            entries: Entries::of(&PyList::empty(py))?,
            contents: (promise == Promise::MayChange).then(Contents::default),
            format,
            prefixes: Prefixes::default(),
            asked: None,
            is_answered: false,
            ready: Vec::new(),
        })
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Takes in the messages that came at the end of a history. False where a change of them would not be noticed.
    /// O(new messages).
    pub fn follow(&mut self, history: &Bound<'_, PyList>) -> PyResult<bool> {
        let new = history.get_slice(self.entries.len(), history.len());
        self.entries.follow(history)?;
        Ok(self.contents.as_mut().is_none_or(|contents| contents.follow(&new)))
    }

    /// Takes in the digests of the entries that were read last.
    pub fn read(&mut self, conversation: &Conversation<PyText>) {
        let before = self.prefixes.len();
        let asked = requests(conversation).next_back().map(|last| before + conversation.entry(last));
        self.asked = asked.or(self.asked);
        self.is_answered |= conversation.messages.iter().any(|message| message.role == Role::Assistant);
        self.prefixes.extend(entry_digests(conversation));
    }

    /// Takes out the request for a budget, as long as nothing was compacted since.
    pub fn take(&mut self, budget: Option<usize>, compactions: usize) -> Option<Ready> {
        let goes_on = |ready: &Ready| {
            view::share_compactions(ready.shows.budget, budget) && ready.shows.compactions == compactions
        };
        let at = self.ready.iter().position(goes_on)?;
        Some(self.ready.remove(at))
    }

    /// Keeps a request for all that is known, unless a later message may change a repair in it: a call gets its result
    /// late, two messages of the user become one.
    pub fn keep(&mut self, shows: Shows, units: &Units<Made>, list: &Bound<'_, PyList>, counted: Counted) {
        if units.repaired_end() <= counted.settled.entries {
            let list = list.get_slice(0, list.len()).unbind();
            self.put(Ready { shows, entries: self.len(), list, counted });
        }
    }

    /// Keeps a request in place of the one for the same budget, or of the oldest.
    pub fn put(&mut self, new: Ready) {
        self.ready.retain(|other| !view::share_compactions(other.shows.budget, new.shows.budget));
        if self.ready.len() == KEPT {
            self.ready.remove(0);
        }
        self.ready.push(new);
    }

    fn begins(&self, history: &Bound<'_, PyList>) -> bool {
        let unchanged = |contents: &Contents| contents.begin(history, self.entries.len());
        self.entries.begin(history) && self.contents.as_ref().is_none_or(unchanged)
    }
}

/// The histories that were read last. Every request comes out the same without.
#[derive(Default)]
pub(super) struct Histories(Shared<Vec<KnownHistory>>);

impl Histories {
    /// Takes out the longest that a history begins with.
    pub fn take(&self, history: &Bound<'_, PyList>) -> Option<KnownHistory> {
        let mut all = self.0.lock()?;
        let begins = all.iter().enumerate().filter(|(_, known)| known.begins(history));
        let (at, _) = begins.max_by_key(|(_, known)| known.entries.len())?;
        Some(all.remove(at))
    }

    /// Keeps a history, in place of the oldest where there are too many.
    pub fn keep(&self, known: KnownHistory) {
        let mut oldest = None;
        if let Some(mut all) = self.0.lock() {
            if all.len() == KEPT {
                oldest = Some(all.remove(0));
            }
            all.push(known);
        }
        // After the lock, because dropping the last reference to a message may run code of the host.
        drop(oldest);
    }

    /// Lets go of all of them.
    pub fn clear(&self) {
        let gone = self.0.lock().map(|mut all| std::mem::take(&mut *all));
        drop(gone);
    }
}
