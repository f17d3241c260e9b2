//! Counting, shared by a `TokenCounter` and the engines that use it.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::identity::Identities;
use super::node::PyNode;
use super::promise::{Counted, Promises, Settled};
use super::raised::{host_error, nothing_raised};
use super::text::PyText;
use super::whole::Amount;
use crate::engine::fixed_tokens;
use crate::error::Result;
use crate::ledger::{self, Ledger};
use crate::message::Conversation;
use crate::tokens::{CountTokens, Learned};
use crate::wire::{self, Format};

/// A ledger, and what is known of the host's own objects.
#[derive(Debug)]
pub struct Counting {
    pub ledger: Arc<Ledger>,
    identities: Identities,
    promises: Promises,
}

impl Counting {
    pub fn over(counter: Arc<dyn CountTokens>) -> Counting {
        Counting {
            ledger: Arc::new(Ledger::new(counter)),
            identities: Identities::default(),
            promises: Promises::default(),
        }
    }

    /// Tells the texts that were seen before what they are.
    pub fn recall(&self, py: Python<'_>, conversation: &Conversation<PyText>) {
        self.identities.recall(py, conversation);
    }

    /// Counts `messages`. If the host promises to append only, only new messages are read.
    pub fn count(&self, messages: &Bound<'_, PyAny>, format: Option<Format>, history: History) -> Result<Counted> {
        let counter = self.ledger.now();
        let list = messages.cast::<PyList>().ok().filter(|_| history == History::AppendOnly);
        let Some(list) = list else { return self.measure(messages, format, counter) };
        // Taken once: while they are read, code of the host may run and change the list.
        let (entries, known) = self.promises.take(list).map_err(|error| host_error(&error))?;
        let all = entries.list(messages.py()).clone();
        let of_format = |known: &Counted| format.map_or(!known.is_named, |format| format == known.format);
        let of_use = |known: &Counted| known.scale == counter.scale() && of_format(known);
        let now = match known.filter(|(known, _)| of_use(known)) {
            Some((known, count)) if count == all.len() => known,
            // A list that cannot be read from here on is read whole, which finds the place. So is one whose new
            // messages have another format, since the earlier ones may fit several.
            Some((known, _)) => {
                let rest = all.get_slice(known.settled.entries, all.len()).into_any();
                let told = wire::detect_format(&PyNode(rest.clone()));
                match self.measure(&rest, Some(known.format), counter) {
                    Ok(rest) if told.is_err() || told == Ok(known.format) => known.and(rest),
                    _ => self.measure(all.as_any(), format, counter)?,
                }
            }
            None => self.measure(all.as_any(), format, counter)?,
        };
        self.promises.remember(entries, now);
        Ok(now)
    }

    /// Is told that a compaction may be written into a list that was counted.
    pub fn compacting(&self) {
        self.promises.doubt();
    }

    /// Learns from a report for `messages`: whether it could be their size, and what the conversation is recognized by.
    pub fn observe(
        &self,
        messages: &Bound<'_, PyAny>,
        Amount(reported): Amount,
        format: Option<Format>,
        history: History,
    ) -> Result<(bool, u128)> {
        let counted = self.count(messages, format, history)?;
        let learned = self.ledger.observe(counted.beginning, counted.unscaled, reported);
        Ok((learned == Learned::Something, counted.beginning))
    }

    /// Counts a system prompt and tool definitions.
    pub fn fixed_tokens(&self, system: Option<&Bound<'_, PyAny>>, tools: Option<&Bound<'_, PyAny>>) -> Result<usize> {
        let [system, tools] = [system, tools].map(|value| value.cloned().map(PyNode));
        let tokens = fixed_tokens(&self.ledger, system.as_ref(), tools.as_ref())?;
        nothing_raised()?;
        Ok(tokens)
    }

    fn measure(
        &self,
        messages: &Bound<'_, PyAny>,
        format: Option<Format>,
        counter: ledger::Counting<'_>,
    ) -> Result<Counted> {
        let node = PyNode(messages.clone());
        let is_named = format.is_some();
        let format = match format {
            Some(format) => format,
            None => wire::format_to_read(&node)?,
        };
        let conversation = wire::read(&node, format)?;
        nothing_raised()?;
        self.recall(messages.py(), &conversation);
        let measured = messages.py().detach(|| counter.measure(&conversation));
        let (total, unscaled) = (measured.total(), measured.unscaled());
        let settled = match conversation.messages.len().checked_sub(1) {
            Some(last) => Settled {
                entries: conversation.entry(last),
                total: total - measured.message(last),
                unscaled: unscaled - measured.message_unscaled(last),
            },
            None => Settled::default(),
        };
        let (scale, beginning) = (counter.scale(), measured.beginning());
        Ok(Counted { format, is_named, total, unscaled, scale, beginning, settled })
    }
}

/// The host's promise about counted messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// Nothing: any of them may be edited in place.
    MayChange,
    /// They stay as they are; new ones come at the end.
    AppendOnly,
}

impl History {
    pub fn of(append_only: bool) -> History {
        if append_only { History::AppendOnly } else { History::MayChange }
    }
}
