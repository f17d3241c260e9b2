//! The front door: a policy, a ledger and the planner behind a few verbs.

mod arrival;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;

use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::ledger::{Ledger, fingerprint};
use crate::message::{Conversation, Part, Pin, Role, Text};
use crate::planner::{Plan, ShortText, Source, Transcripts, Urgency, outline, seal, shorten};
use crate::policy::Policy;
use crate::report::{Report, Stats};
use crate::stages::Storing;
use crate::tokens::{CountTokens, TextKind};
use crate::wire::{self, Build, Bytes, Format, Node};

pub use arrival::Shrunk;

/// What a plan may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Tokens for the messages; `None` for what the policy's window leaves.
    pub budget: Option<usize>,
    /// Tokens that the system prompt and the tool definitions take of the window.
    pub fixed: usize,
}

/// How full a conversation is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Tokens of the messages.
    pub tokens: usize,
    /// Context window of the model.
    pub window: usize,
    /// Tokens that the system prompt and the tool definitions take of it.
    pub fixed: usize,
    /// Tokens that the messages may take.
    pub available: usize,
    /// Above this, compaction starts.
    pub high: usize,
    /// Down to this it goes.
    pub low: usize,
    /// What the fill asks for: `none`, `soft` above the high mark, `hard` above what is available.
    pub due: &'static str,
    /// Tokens by kind of content.
    pub parts: BTreeMap<&'static str, usize>,
}

/// Decides for any number of conversations. Shared freely between threads.
#[derive(Debug)]
pub struct Engine {
    policy: Policy,
    ledger: Ledger,
    storing: Storing,
    stats: Mutex<Stats>,
}

impl Engine {
    /// An engine of `policy`, which counts with `counter`.
    ///
    /// # Errors
    /// `Policy` if a setting is out of range.
    pub fn new(policy: Policy, counter: Arc<dyn CountTokens>, storing: Storing) -> Result<Engine> {
        Ok(Engine {
            policy: policy.checked()?,
            ledger: Ledger::new(counter),
            storing,
            stats: Mutex::default(),
        })
    }

    /// The settings.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What the engine did so far.
    pub fn stats(&self) -> Stats {
        self.stats.lock().clone()
    }

    /// Notes that a plan was applied.
    pub fn record(&self, report: &Report) {
        self.stats.lock().add_report(report);
    }

    /// Reads `messages` and pins those that the caller names.
    ///
    /// # Errors
    /// `Message` or `Conversation` if they cannot be read, or a pin names no message.
    pub fn read<N: Node>(
        &self,
        messages: &N,
        format: Option<Format>,
        pins: &[usize],
    ) -> Result<Reading<N::Text>> {
        let format = match format {
            Some(format) => format,
            None => wire::detect_format(messages)?,
        };
        let mut conversation = wire::read(messages, format)?;
        let count = conversation.messages.len();
        for pin in pins {
            let message =
                conversation
                    .messages
                    .get_mut(*pin)
                    .ok_or_else(|| Error::Conversation {
                        problem: format!("the pin {pin} names no message: there are {count}"),
                        remedy: "give indices into the list of messages".to_owned(),
                    })?;
            message.pin = Pin::Pinned;
        }
        Ok(Reading {
            format,
            conversation,
        })
    }

    /// The plan for what was read. The plan is made in three steps so that a host can let other threads run during the
    /// second, which takes the time: reading, deciding, and storing what is removed as the host has it.
    ///
    /// # Errors
    /// `Message` if the history breaks a rule of the providers as it came; `Budget` or `NoRoom` if it cannot be made to
    /// fit, with what would have to change.
    pub fn plan<T: Text + Sync>(
        &self,
        reading: &Reading<T>,
        room: Room,
        urgency: Urgency,
        transcripts: &impl Transcripts,
    ) -> Result<Plan> {
        let budget = self.budget(room)?;
        let tokens = self.ledger.measure(&reading.conversation);
        let draft = outline(
            &reading.conversation,
            &tokens,
            &self.policy,
            budget,
            urgency,
            self.storing,
        )?;
        seal(
            &draft,
            reading.format,
            budget,
            &self.ledger,
            self.storing,
            transcripts,
        )
    }

    fn budget(&self, room: Room) -> Result<Budget> {
        match room.budget {
            Some(limit) => Budget::given(limit, &self.policy),
            None => Budget::of(&self.policy, room.fixed),
        }
    }

    /// Tokens of a system prompt and of tool definitions, given as text or as any JSON-like value.
    ///
    /// # Errors
    /// `Conversation` if a value is nested too deeply.
    pub fn fixed_tokens<N: Node>(&self, system: Option<&N>, tools: Option<&N>) -> Result<usize> {
        let mut total = 0;
        for (value, kind) in [(system, TextKind::Prose), (tools, TextKind::Json)] {
            total += match value {
                None => 0,
                Some(value) => match value.text() {
                    Some(text) => self.ledger.count_remembered(&text, kind),
                    None => self.ledger.count_remembered(&value.rendered()?, kind),
                },
            };
        }
        Ok(total)
    }

    /// How full the conversation is.
    ///
    /// # Errors
    /// `NoRoom` if the window leaves nothing for messages.
    pub fn status<T: Text + Sync>(&self, reading: &Reading<T>, room: Room) -> Result<Status> {
        let budget = self.budget(room)?;
        let measured = self.ledger.measure(&reading.conversation);
        let tokens: usize = measured.iter().map(|message| message.total).sum();
        let mut parts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for (message, counted) in reading.conversation.messages.iter().zip(&measured) {
            for (part, count) in message.parts.iter().zip(&counted.parts) {
                *parts.entry(part_name(part, message.role)).or_default() += count.total;
            }
            *parts.entry("framing").or_default() += self.ledger.counter().overhead().message;
        }
        let due = match tokens {
            tokens if tokens > budget.limit => "hard",
            tokens if tokens > budget.high => "soft",
            _ => "none",
        };
        Ok(Status {
            tokens,
            window: self.policy.window,
            fixed: room.fixed,
            available: budget.limit,
            high: budget.high,
            low: budget.low,
            due,
            parts,
        })
    }

    /// The output of `tool`, shrunk if it is above the policy's `shrink_above`; `None` if it may stay as it is. What
    /// ullage has shortened or retrieved before stays.
    pub fn shrink(&self, tool: &str, text: &str, kind: TextKind) -> Option<ShortText> {
        let counter = self.ledger.counter();
        if crate::store::split_mark(text).is_some()
            || counter.fits(text, kind, self.policy.shrink_above)
        {
            return None;
        }
        let short = shorten(
            tool,
            text,
            self.policy.shrink_to,
            kind,
            counter,
            self.storing,
        )?;
        let (before, after) = (
            counter.count(text, kind),
            counter.count(&short.text, TextKind::ToolOutput),
        );
        (after < before).then(|| {
            self.stats.lock().add_shrink(before - after);
            short
        })
    }
}

fn part_name<T>(part: &Part<T>, role: Role) -> &'static str {
    match part {
        Part::Text(_) => role.name(),
        Part::Reasoning { .. } => "reasoning",
        Part::Call { .. } => "tool calls",
        Part::Result { .. } => "tool results",
        Part::Media(_) => "media",
        Part::CachePoint => "cache points",
        Part::Opaque(_) => "other",
    }
}

/// A conversation as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading<T> {
    /// The wire format.
    pub format: Format,
    /// The messages.
    pub conversation: Conversation<T>,
}

impl<T: Text> Reading<T> {
    /// The content of an artifact of a plan that was made for this reading, byte for byte.
    pub fn content<'a>(&'a self, source: &'a Source) -> &'a [u8] {
        match source {
            Source::Transcript(content) => content,
            Source::Item(place) => {
                match &self.conversation.messages[place.message].parts[place.part] {
                    Part::Result { items, .. } => crate::ledger::item_text(&items[place.item])
                        .map_or(&[], |(text, _)| text.as_bytes()),
                    _ => &[], // OK because a plan only stores items of results.
                }
            }
        }
    }
}

/// The messages of a host, as what removed ones are stored from.
#[derive(Debug)]
pub struct HostMessages<'a, N>(pub &'a N);

impl<N: Node> Transcripts for HostMessages<'_, N> {
    fn transcript(&self, messages: Range<usize>) -> Result<Vec<u8>> {
        let mut out = String::new();
        for message in &wire::message_list(self.0)?[messages] {
            message.render(&mut out, Bytes::Whole)?;
            out.push('\n');
        }
        Ok(out.into_bytes())
    }
}

/// The messages that `plan` leaves, as values of the host: untouched ones are the very same objects.
///
/// # Errors
/// `Conversation` if the messages are not those that the plan was made for.
pub fn apply<N: Build>(plan: &Plan, messages: &N) -> Result<Vec<N::Out>> {
    let stale = || Error::Conversation {
        problem: "the messages have changed since the plan was made".to_owned(),
        remedy: "make a new plan for them".to_owned(),
    };
    let now = wire::read(messages, plan.format)?;
    if now.messages.len() != plan.messages || fingerprint(&now) != plan.fingerprint {
        return Err(stale());
    }
    wire::rewrite(messages, plan.format, &plan.changes())
}
