//! Caches histories that were read, so the next request for one of them reads only new messages.

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

/// The number of cached histories, and of cached requests for each. Two models may take turns; with more, each request
/// reads its history again.
const KEPT: usize = 4;

/// The compaction that a request shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shows {
    pub budget: Option<usize>,
    /// Unscaled tokens after it.
    pub left: usize,
    /// Tokens that it and earlier compactions removed.
    pub removed: usize,
    /// Number of compactions when the request was made.
    pub compactions: usize,
}

/// A request that needed no compaction. New messages are appended to it.
pub(super) struct Ready {
    pub shows: Shows,
    /// Number of history entries that it shows.
    pub entries: usize,
    /// Its messages, in a list of our own that only grows.
    pub list: Py<PyList>,
    pub counted: Counted,
    /// Tokens of the messages of the request before, as the history shows it; 0 if there was none.
    pub before: usize,
}

/// A history that was read.
pub(super) struct KnownHistory {
    entries: Entries,
    /// A snapshot of its messages; `None` if the host promises that messages do not change.
    contents: Option<Contents>,
    pub format: Format,
    /// Digests of all beginnings of the entries that were read.
    pub prefixes: Prefixes,
    /// Entry of the last request of a person.
    pub asked: Option<usize>,
    /// True if the model has said something in it.
    pub is_answered: bool,
    ready: Vec<Ready>,
}

impl KnownHistory {
    /// Returns a history with no entries read yet.
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

    /// Adds the messages at the end of a history. False if a later change of them could not be noticed. O(new
    /// messages).
    pub fn follow(&mut self, history: &Bound<'_, PyList>) -> PyResult<bool> {
        let new = history.get_slice(self.entries.len(), history.len());
        self.entries.follow(history)?;
        Ok(self.contents.as_mut().is_none_or(|contents| contents.follow(&new)))
    }

    /// Adds the digests of the entries that were read last.
    pub fn read(&mut self, conversation: &Conversation<PyText>) {
        let before = self.prefixes.len();
        let asked = requests(conversation).next_back().map(|last| before + conversation.entry(last));
        self.asked = asked.or(self.asked);
        self.is_answered |= conversation.messages.iter().any(|message| message.role == Role::Assistant);
        self.prefixes.extend(entry_digests(conversation));
    }

    /// Removes and returns the request for a budget, if nothing was compacted since.
    pub fn take(&mut self, budget: Option<usize>, compactions: usize) -> Option<Ready> {
        let goes_on = |ready: &Ready| {
            view::share_compactions(ready.shows.budget, budget) && ready.shows.compactions == compactions
        };
        let at = self.ready.iter().position(goes_on)?;
        Some(self.ready.remove(at))
    }

    /// Caches a request for everything known, unless a later message may change a repair in it: a call gets a late
    /// result, or two user messages are merged.
    pub fn keep(
        &mut self,
        shows: Shows,
        units: &Units<Made>,
        list: &Bound<'_, PyList>,
        (counted, before): (Counted, usize),
    ) {
        if units.repaired_end() <= counted.settled.entries {
            let list = list.get_slice(0, list.len()).unbind();
            self.put(Ready { shows, entries: self.len(), list, counted, before });
        }
    }

    /// Caches a request, replacing the one for the same budget or the oldest one.
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

/// The latest histories that were read. It is only a cache: requests are the same without it.
#[derive(Default)]
pub(super) struct Histories(Shared<Vec<KnownHistory>>);

impl Histories {
    /// Removes and returns the longest cached history that begins this history.
    pub fn take(&self, history: &Bound<'_, PyList>) -> Option<KnownHistory> {
        let mut all = self.0.lock()?;
        let begins = all.iter().enumerate().filter(|(_, known)| known.begins(history));
        let (at, _) = begins.max_by_key(|(_, known)| known.entries.len())?;
        Some(all.remove(at))
    }

    /// Caches a history. If there are too many, the oldest is dropped.
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

    /// Drops all of them.
    pub fn clear(&self) {
        let gone = self.0.lock().map(|mut all| std::mem::take(&mut *all));
        drop(gone);
    }
}
