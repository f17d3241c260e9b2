//! Counting, shared by a `TokenCounter` and the engines that use it.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::append_only::{Counted, KnownLists, Settled};
use super::identity::Identities;
use super::node::PyNode;
use super::pending_exception::host_error;
use super::text::PyText;
use super::whole::Amount;
use crate::engine::{demands_of_messages, fixed_tokens};
use crate::error::{Error, Result};
use crate::invariants::Demand;
use crate::ledger::{self, Ledger};
use crate::message::Conversation;
use crate::tokens::{Learned, TextKind};
use crate::validity::{OpenCalls, broken, demands_of, validate};
use crate::wire::{self, Format};

/// A ledger, and the cached facts about the host's objects.
#[derive(Debug)]
pub struct Counting {
    pub ledger: Arc<Ledger>,
    identities: Identities,
    promises: KnownLists,
}

impl Counting {
    pub fn over(ledger: Ledger) -> Counting {
        Counting { ledger: Arc::new(ledger), identities: Identities::default(), promises: KnownLists::default() }
    }

    /// Sets the known digest of each text that was seen before.
    pub fn recall(&self, py: Python<'_>, conversation: &Conversation<PyText>) {
        self.identities.recall(py, conversation);
    }

    /// Returns the counts of `messages`. If the host promises that it only appends, only new messages are read, and
    /// those that need a repair are found.
    pub fn count(&self, messages: &Bound<'_, PyAny>, format: Option<Format>, history: History) -> Result<Counted> {
        let counter = self.ledger.now();
        let list = messages.cast::<PyList>().ok().filter(|_| history == History::AppendOnly);
        let Some(list) = list else { return self.measure(messages, format, counter, History::MayChange) };
        // One snapshot, because reading may run code of the host that changes the list.
        let (entries, known) = self.promises.take(list).map_err(|error| host_error(&error))?;
        let all = entries.list(messages.py()).clone();
        let of_format = |known: &Counted| format.map_or(!known.is_named, |format| format == known.format);
        let now = match known.filter(|(known, _)| of_format(known)) {
            Some((known, count)) if count == all.len() && known.scale == counter.scale() => Some(known),
            Some((known, _)) => {
                let rest = all.get_slice(known.settled.entries, all.len());
                self.continued(known, &rest, counter, OpenCalls::Wait)?
            }
            None => None,
        };
        let now = match now {
            Some(now) => now,
            None => self.measure(all.as_any(), format, counter, History::AppendOnly)?,
        };
        self.promises.remember(entries, now);
        Ok(now)
    }

    /// Returns the counts of a list that continues a counted one. `rest` has the messages from the settled entries on.
    /// `None` if all messages must be read: the scale or the format changed, or new messages cannot be read alone.
    pub fn continued(
        &self,
        known: Counted,
        rest: &Bound<'_, PyList>,
        counter: ledger::Counting<'_>,
        open: OpenCalls,
    ) -> Result<Option<Counted>> {
        let format = known.format;
        if known.scale != counter.scale() {
            return Ok(None);
        }
        let conversation = PyNode::reading::<_, Error>(rest, |node| {
            let is_another = wire::formats_of(node).is_ok_and(|of| !of.contains(&format));
            Ok(if is_another { None } else { wire::read(node, format).ok() })
        })?;
        let Some(conversation) = conversation else { return Ok(None) };
        let is_inner = known.settled.entries > 0;
        let demands = demands_of(format).iter().filter(|demand| !(is_inner && **demand == Demand::FirstIsUsers));
        let demands: Vec<Demand> = demands.filter(|demand| **demand != Demand::SystemApart).copied().collect();
        let is_valid = match open {
            OpenCalls::Wait => broken(&conversation, &demands).is_empty(),
            OpenCalls::Answer | OpenCalls::Remove => validate(&conversation, &demands).is_empty(),
        };
        self.recall(rest.py(), &conversation);
        let measured = rest.py().detach(|| counter.measure(&conversation));
        let rest = Counted::of(&measured, counter.scale(), format);
        Ok(Some(known.and(Counted { is_valid, settled: Settled::of(&conversation, &measured), ..rest })))
    }

    /// Called before a compaction, which may change a counted list in place.
    pub fn compacting(&self) {
        self.promises.doubt();
    }

    /// Learns from a report for messages: whether it could be their size.
    pub fn observe(&self, counted: Counted, Amount(reported): Amount) -> bool {
        self.ledger.observe(counted.beginning, counted.unscaled, reported) == Learned::Something
    }

    /// Counts a system prompt and tool definitions.
    pub fn fixed_tokens(&self, system: Option<&Bound<'_, PyAny>>, tools: Option<&Bound<'_, PyAny>>) -> Result<usize> {
        let parts = [(system, TextKind::Prose), (tools, TextKind::Json)];
        let given = parts.into_iter().filter_map(|(value, kind)| Some((value?, kind)));
        given.map(|(value, kind)| PyNode::reading(value, |node| fixed_tokens(&self.ledger, node, kind))).sum()
    }

    fn measure(
        &self,
        messages: &Bound<'_, PyAny>,
        named: Option<Format>,
        counter: ledger::Counting<'_>,
        history: History,
    ) -> Result<Counted> {
        let is_named = named.is_some();
        let (format, demands, conversation) = PyNode::reading::<_, Error>(messages, |node| {
            let (format, demands) = match (history, named) {
                (History::MayChange, Some(format)) => (format, Vec::new()),
                (History::MayChange, None) => (wire::format_to_read(node)?, Vec::new()),
                (History::AppendOnly, _) => demands_of_messages(node, named)?,
            };
            Ok((format, demands, wire::read(node, format)?))
        })?;
        self.recall(messages.py(), &conversation);
        let measured = messages.py().detach(|| counter.measure(&conversation));
        let size = Counted { is_named, ..Counted::of(&measured, counter.scale(), format) };
        if history == History::MayChange {
            return Ok(size);
        }
        let is_valid = broken(&conversation, &demands).is_empty();
        Ok(Counted { is_valid, settled: Settled::of(&conversation, &measured), ..size })
    }
}

/// The host's promise about counted messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// No promise: any message may be edited in place.
    MayChange,
    /// Messages stay unchanged, and new ones are appended.
    AppendOnly,
}

impl History {
    pub fn of(append_only: bool) -> History {
        if append_only { History::AppendOnly } else { History::MayChange }
    }
}
