//! What a `TokenCounter` and the engines that use it share.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::identity::Identities;
use super::node::PyNode;
use super::promise::{Counted, Promises};
use super::text::PyText;
use super::whole::Amount;
use crate::engine::fixed_tokens;
use crate::error::Result;
use crate::ledger::Ledger;
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

    /// What `messages` count. Where the host promises that it only appends, only what is new is read.
    pub fn count(&self, messages: &Bound<'_, PyAny>, format: Option<Format>, history: History) -> Result<Counted> {
        let list = messages.cast::<PyList>().ok().filter(|_| history == History::AppendOnly);
        let Some(list) = list else { return self.measure(messages, format) };
        let known = self.promises.recall(list).filter(|known| {
            known.scale == self.ledger.now().scale() && format.is_none_or(|format| format == known.format)
        });
        let counted = match known {
            Some(known) if known.messages == list.len() => return Ok(known),
            Some(known) => {
                let new = list.get_slice(known.messages, list.len());
                // What cannot be read by itself is read with the rest, which says where it is.
                match self.measure(new.as_any(), Some(known.format)) {
                    Ok(new) => Counted {
                        messages: known.messages + new.messages,
                        total: known.total + new.total,
                        unscaled: known.unscaled + new.unscaled,
                        ..known
                    },
                    Err(_) => self.measure(messages, format)?,
                }
            }
            None => self.measure(messages, format)?,
        };
        self.promises.remember(list, counted);
        Ok(counted)
    }

    /// Learns from a report for `messages`; whether it could be their size.
    pub fn observe(
        &self,
        messages: &Bound<'_, PyAny>,
        Amount(reported): Amount,
        format: Option<Format>,
        history: History,
    ) -> Result<bool> {
        let counted = self.count(messages, format, history)?;
        Ok(self.ledger.observe(counted.beginning, counted.unscaled, reported) == Learned::Something)
    }

    /// What a system prompt and tool definitions count.
    pub fn fixed_tokens(&self, system: Option<&Bound<'_, PyAny>>, tools: Option<&Bound<'_, PyAny>>) -> Result<usize> {
        let [system, tools] = [system, tools].map(|value| value.cloned().map(PyNode));
        fixed_tokens(&self.ledger, system.as_ref(), tools.as_ref())
    }

    /// Forgets what hosts have promised: a conversation was changed.
    pub fn forget(&self) {
        self.promises.forget();
    }

    fn measure(&self, messages: &Bound<'_, PyAny>, format: Option<Format>) -> Result<Counted> {
        let node = PyNode(messages.clone());
        let format = match format {
            Some(format) => format,
            None => wire::format_to_read(&node)?,
        };
        let conversation = wire::read(&node, format)?;
        self.recall(messages.py(), &conversation);
        let counter = self.ledger.now();
        let measured = messages.py().detach(|| counter.measure(&conversation));
        Ok(Counted {
            format,
            messages: conversation.messages.len(),
            total: measured.total(),
            unscaled: measured.unscaled(),
            scale: counter.scale(),
            beginning: measured.beginning(),
        })
    }
}

/// What a host promises about the messages that were counted.
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
