//! Counts conversations whose host only appends: only the new messages are read.
//!
//! A list continues a counted list if its first messages are the same objects. Those objects are kept alive, so no
//! other object can get the address of one.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::text::PyText;
use crate::economics::{Removal, SentRequest};
use crate::invariants::{CutPoints, Pairs};
use crate::ledger::{Beginning, Measured};
use crate::message::Conversation;
use crate::shared::Shared;
use crate::tokens::Scale;
use crate::wire::Format;

/// The number of remembered conversations: as many as a process is likely to serve at once. Searching them takes a few
/// microseconds. The least recently counted one is dropped.
const CONVERSATIONS: usize = 256;

/// Up to this length, every message of a list is compared on every turn, in about 0.03 ms. Of a longer list only
/// samples are compared, as long as the host passes the same list object and nothing was compacted in between.
const COMPARED: usize = 10_000;

/// Messages that are compared first. Two different lists most often differ in one of them.
const SAMPLED: usize = 64;

/// Messages of a conversation that are checked to find out if the host dropped it. A host that drops one message drops
/// most.
const ASKED: usize = 8;

/// The counts of a list.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// The wire format.
    pub format: Format,
    /// True if the host named the format. Detection might then give another format.
    pub is_named: bool,
    /// True if no message of the list needs a repair.
    pub is_valid: bool,
    /// Tokens of all messages.
    pub total: usize,
    /// Their tokens before any scale.
    pub unscaled: usize,
    /// The scale of the totals.
    pub scale: Scale,
    /// Identifies the conversation.
    pub beginning: Beginning,
    /// The part that no later entry of the list changes.
    pub settled: Settled,
}

/// The messages that later messages cannot change: all but the last group. The last calls may still get an answer, and
/// in formats with an entry for each result, results in a row are one message.
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
    /// Returns the part of a conversation that no later message changes. O(parts).
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
    /// Returns the counts of a conversation in `format`, with nothing settled.
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

    /// The request with these messages, as the provider reported it. A report that `is_plausible` for no such request is
    /// ignored.
    pub fn sent(self, reported: usize, cached: Option<usize>, is_plausible: bool) -> SentRequest {
        let (prompt, cached) = if is_plausible { (reported, cached) } else { (self.total, None) };
        SentRequest { prompt, messages: self.total, before: 0, cached, removal: Removal::default() }
    }

    /// Returns the counts of a longer list. `rest` has the counts from the settled entries on.
    pub fn and(self, rest: Counted) -> Counted {
        let Settled { entries, total, unscaled } = self.settled;
        Counted {
            is_named: self.is_named,
            is_valid: self.is_valid && rest.is_valid,
            total: total + rest.total,
            unscaled: unscaled + rest.unscaled,
            // With no settled entry, `rest` is the whole list, so it knows the beginning.
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

/// The messages of a list at one moment. Later changes of the list do not affect them.
#[derive(Debug)]
pub struct Entries {
    /// Our own list, which keeps the messages alive. It only grows.
    own: Py<PyList>,
    /// The address of each message.
    places: Vec<usize>,
    /// The host's list, if it is too long to be compared on every turn.
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

    /// Returns all entries.
    pub fn list<'py>(&self, py: Python<'py>) -> &Bound<'py, PyList> {
        self.own.bind(py)
    }

    /// Appends the messages that follow these entries in `list`. O(new entries).
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

    /// True if `list` begins with these entries.
    pub fn begin(&self, list: &Bound<'_, PyList>) -> bool {
        let Some(end) = self.places.len().checked_sub(1).filter(|end| *end < list.len()) else { return false };
        let same = |index: usize| list.get_item(index).is_ok_and(|entry| place(&entry) == self.places[index]);
        let is_host = self.host.as_ref().is_some_and(|host| host.is(list));
        samples(end, SAMPLED).all(same)
            && (is_host || list.iter().zip(&self.places).all(|(entry, known)| place(&entry) == *known))
    }

    /// True if the host has dropped the entries: only our list and the check itself still refer to them.
    #[expect(deprecated, reason = "the way that is not deprecated is unsafe")]
    fn are_gone(&self, py: Python<'_>) -> bool {
        /// Our list and the reference held by this check.
        const OURS: isize = 2;
        let own = self.own.bind(py);
        let is_ours = |index| own.get_item(index).is_ok_and(|entry| entry.get_refcnt() == OURS);
        let host_is_gone = self.host.as_ref().is_some_and(|host| host.get_refcnt(py) < OURS);
        host_is_gone || samples(own.len().saturating_sub(1), ASKED).any(is_ours)
    }
}

/// Returns indices up to `end`, spread evenly, including the first and the last.
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

/// The counts of the latest conversations. Threads may share it.
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
    /// Returns the entries of `list`, the counts of its first entries, and their number. Removes the cached entry until
    /// it is stored again. O(new entries), and one pointer comparison for each other entry in a list of bounded length.
    ///
    /// # Errors
    /// `MemoryError` if there is no memory for the entries.
    pub fn take(&self, list: &Bound<'_, PyList>) -> PyResult<(Entries, Option<(Counted, usize)>)> {
        let py = list.py();
        let (mut entries, known) = if let Some(CountedList { entries, counted }) = self.longest(list) {
            let count = entries.places.len();
            (entries, Some((counted, count)))
        } else {
            // All messages will be read, so checking for dropped conversations costs little beside it.
            self.forget_what_is_gone(py);
            (Entries::none(py), None)
        };
        entries.follow(list)?;
        Ok((entries, known))
    }

    /// Stores the counts of these entries.
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

    /// Makes the next look-up compare every message once, because a compaction may have changed a counted list in
    /// place.
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

    /// Removes and returns the longest entry that `list` begins with.
    fn longest(&self, list: &Bound<'_, PyList>) -> Option<CountedList> {
        let mut known = self.known.lock()?;
        let candidates = known.iter().enumerate().filter(|(_, known)| known.entries.begin(list));
        let (index, _) = candidates.max_by_key(|(_, known)| known.entries.places.len())?;
        Some(known.remove(index))
    }
}
