//! Conversations whose host promises that old messages do not change: only what was appended is read.
//!
//! A list continues a counted one if its messages are the same objects. They are kept alive, so that no other
//! object gets the address of one.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::text::PyText;
use crate::invariants::{CutPoints, Pairs};
use crate::ledger::Measured;
use crate::message::Conversation;
use crate::shared::Shared;
use crate::tokens::Scale;
use crate::wire::Format;

/// Conversations that are remembered, as many as a process is likely to serve at once: to look through them takes some
/// millionths of a second. The one that was not counted for longest is forgotten.
const CONVERSATIONS: usize = 256;

/// The longest list of which every message is compared on every turn, which takes a thirtieth of a millisecond. Of a
/// longer one those are compared that are sampled, as long as it is the very list that the host gave before and nothing
/// was compacted since.
const COMPARED: usize = 10_000;

/// Messages that are compared before the others: most lists that differ differ in one of them.
const SAMPLED: usize = 64;

/// Messages of a conversation that are asked after to see whether it is gone: whoever drops one drops most.
const ASKED: usize = 8;

/// The counts of a list.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// The wire format.
    pub format: Format,
    /// True if the host has named it, so that the messages may be detected as another one.
    pub is_named: bool,
    /// True if nothing in the list has to be repaired.
    pub is_valid: bool,
    /// Tokens of all messages.
    pub total: usize,
    /// Their tokens before any scale.
    pub unscaled: usize,
    /// The scale of the totals.
    pub scale: Scale,
    /// Identifies the conversation.
    pub beginning: u128,
    /// The part that no later entry of the list changes.
    pub settled: Settled,
}

/// The messages before the last ones that belong together: an answer to the last calls may come next, and where every
/// result has an entry of its own, those in a row are one message.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settled {
    /// Their entries in the list.
    pub entries: usize,
    /// Their tokens.
    pub total: usize,
    /// Their tokens before any scale.
    pub unscaled: usize,
}

impl Settled {
    /// The part of a conversation that no later message changes. O(parts).
    pub fn of(conversation: &Conversation<PyText>, measured: &Measured) -> Settled {
        let groups = CutPoints::of(conversation, &Pairs::of(conversation)).groups();
        let Some(last) = groups.last().map(|group| group.start).filter(|start| *start > 0) else {
            return Settled::default();
        };
        Settled {
            entries: conversation.entry(last),
            total: (0..last).map(|message| measured.message(message)).sum(),
            unscaled: (0..last).map(|message| measured.message_unscaled(message)).sum(),
        }
    }
}

impl Counted {
    /// The counts of a conversation in `format`. Nothing of it is settled.
    pub fn of(measured: &Measured, scale: Scale, format: Format) -> Counted {
        Counted {
            format,
            is_named: true,
            is_valid: true,
            total: measured.total(),
            unscaled: measured.unscaled(),
            scale,
            beginning: measured.beginning(),
            settled: Settled::default(),
        }
    }

    /// Returns the scaled tokens of messages with this unscaled count.
    pub fn scaled(self, unscaled: usize) -> usize {
        self.total.saturating_mul(unscaled).checked_div(self.unscaled).unwrap_or(0)
    }

    /// The counts of a list that begins like this one. `rest` are those from the settled entries on.
    pub fn and(self, rest: Counted) -> Counted {
        let Settled { entries, total, unscaled } = self.settled;
        Counted {
            is_named: self.is_named,
            is_valid: self.is_valid && rest.is_valid,
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

/// The messages of a list at one moment, however the list changes meanwhile.
#[derive(Debug)]
pub struct Entries {
    /// A list of our own, which holds on to them. It only grows.
    own: Py<PyList>,
    /// The address of each message.
    places: Vec<usize>,
    /// The host's, where it is too long to be compared on every turn.
    host: Option<Py<PyList>>,
}

impl Entries {
    fn none(py: Python<'_>) -> Entries {
        Entries { own: PyList::empty(py).unbind(), places: Vec::new(), host: None }
    }

    /// Returns the entries of `list`.
    ///
    /// # Errors
    /// `MemoryError` if there is no memory for them.
    pub fn of(list: &Bound<'_, PyList>) -> PyResult<Entries> {
        let mut entries = Entries::none(list.py());
        entries.follow(list)?;
        Ok(entries)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// All of them.
    pub fn list<'py>(&self, py: Python<'py>) -> &Bound<'py, PyList> {
        self.own.bind(py)
    }

    /// Takes in what came after them in `list`. O(new entries).
    ///
    /// # Errors
    /// `MemoryError` if there is no memory for them.
    pub fn follow(&mut self, list: &Bound<'_, PyList>) -> PyResult<()> {
        let count = self.places.len();
        let new = list.get_slice(count, list.len());
        self.own.bind(list.py()).set_slice(count, count, new.as_any())?;
        self.places.extend(new.iter().map(|entry| place(&entry)));
        self.host = (self.places.len() > COMPARED).then(|| list.clone().unbind());
        Ok(())
    }

    /// True if `list` begins with them.
    pub fn begin(&self, list: &Bound<'_, PyList>) -> bool {
        let Some(end) = self.places.len().checked_sub(1).filter(|end| *end < list.len()) else { return false };
        let same = |index: usize| list.get_item(index).is_ok_and(|entry| place(&entry) == self.places[index]);
        let is_host = self.host.as_ref().is_some_and(|host| host.is(list));
        samples(end, SAMPLED).all(same)
            && (is_host || list.iter().zip(&self.places).all(|(entry, known)| place(&entry) == *known))
    }

    /// True if only this list and the asking one have its entries. Then no other list will begin with all of them.
    #[expect(deprecated, reason = "the way that is not deprecated is unsafe")]
    fn are_gone(&self, py: Python<'_>) -> bool {
        /// This list and the asking one.
        const OURS: isize = 2;
        let own = self.own.bind(py);
        let is_ours = |index| own.get_item(index).is_ok_and(|entry| entry.get_refcnt() == OURS);
        let host_is_gone = self.host.as_ref().is_some_and(|host| host.get_refcnt(py) < OURS);
        host_is_gone || samples(own.len().saturating_sub(1), ASKED).any(is_ours)
    }
}

/// Returns indices up to `end`, spread evenly, with the first and the last.
fn samples(end: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |sample| sample * end / (count - 1))
}

fn place(entry: &Bound<'_, PyAny>) -> usize {
    entry.as_ptr() as usize
}

struct CountedList {
    entries: Entries,
    counted: Counted,
}

/// The counts of the last conversations. Shared freely between threads.
#[derive(Default)]
pub struct KnownLists {
    known: Shared<Vec<CountedList>>,
}

impl fmt::Debug for KnownLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownLists").finish_non_exhaustive()
    }
}

impl KnownLists {
    /// Returns the entries of `list`, the counts of its first entries, and their number. The cached entry is removed
    /// until it is stored again. O(new entries), and one pointer for each of the others in a list of bounded length.
    ///
    /// # Errors
    /// `MemoryError` if there is no memory for the entries.
    pub fn take(&self, list: &Bound<'_, PyList>) -> PyResult<(Entries, Option<(Counted, usize)>)> {
        let py = list.py();
        let (mut entries, known) = if let Some(CountedList { entries, counted }) = self.longest(list) {
            let count = entries.places.len();
            (entries, Some((counted, count)))
        } else {
            // All will be read, beside which it costs little to look over the others.
            self.forget_what_is_gone(py);
            (Entries::none(py), None)
        };
        entries.follow(list)?;
        Ok((entries, known))
    }

    /// Remembers what was counted of these entries.
    pub fn remember(&self, entries: Entries, counted: Counted) {
        if entries.places.is_empty() {
            return;
        }
        let mut oldest = None;
        if let Some(mut known) = self.known.lock() {
            if known.len() == CONVERSATIONS {
                oldest = Some(known.remove(0));
            }
            known.push(CountedList { entries, counted });
        }
        // After the lock, because dropping the last reference to a message may run code of the host.
        drop(oldest);
    }

    /// Compares all messages of every list once more: a compaction may be written into the very list that was counted.
    pub fn doubt(&self) {
        let mut hosts = Vec::new();
        if let Some(mut known) = self.known.lock() {
            hosts.extend(known.iter_mut().filter_map(|known| known.entries.host.take()));
        }
        drop(hosts);
    }

    fn forget_what_is_gone(&self, py: Python<'_>) {
        let mut gone = Vec::new();
        if let Some(mut known) = self.known.lock() {
            gone.extend(known.extract_if(.., |known| known.entries.are_gone(py)));
        }
        drop(gone);
    }

    /// Takes out those entries that `list` begins with, and of several the longest.
    fn longest(&self, list: &Bound<'_, PyList>) -> Option<CountedList> {
        let mut known = self.known.lock()?;
        let candidates = known.iter().enumerate().filter(|(_, known)| known.entries.begin(list));
        let (index, _) = candidates.max_by_key(|(_, known)| known.entries.places.len())?;
        Some(known.remove(index))
    }
}
