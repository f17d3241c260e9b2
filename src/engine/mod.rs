//! The front door: a policy, a ledger and the planner behind a few verbs.

mod arrival;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;

use crate::budget::Budget;
use crate::draft::Bounds;
use crate::error::{Error, Result};
use crate::ledger::{Ledger, fingerprint, item_text};
use crate::message::{Conversation, Part, Pin, Role, Text};
use crate::planner::{Plan, Sealing, ShortText, Source, Urgency, floor, outline, seal, shorten};
use crate::policy::Policy;
use crate::report::{Report, Stats};
use crate::stages::Storing;
use crate::store::{marked_reference, split_mark};
use crate::tokens::{CountTokens, TextKind};
use crate::wire::{self, Build, Bytes, Format, MAX_MESSAGE_DEPTH, Node};

pub use arrival::Shrunk;

/// What a plan may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Tokens for the messages; `None` for what the policy's window leaves.
    pub budget: Option<usize>,
    /// Tokens that the system prompt and the tool definitions take of the window.
    pub fixed: usize,
}

/// What a plan is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// What it may use.
    pub room: Room,
    /// Whether it waits for the high mark.
    pub urgency: Urgency,
    /// See [`Sealing::salt`]; 0 unless a store has said that it holds other content.
    pub salt: u128,
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
        Ok(Engine { policy: policy.checked()?, ledger: Ledger::new(counter), storing, stats: Mutex::default() })
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

    /// Notes that a shrunk result entered a history.
    pub fn record_shrink(&self, saved: usize) {
        self.stats.lock().add_shrink(saved);
    }

    /// Reads `messages` and pins those that the caller names.
    ///
    /// # Errors
    /// `Message` or `Conversation` if they cannot be read, or a pin names no message.
    pub fn read<N: Node>(&self, messages: &N, format: Option<Format>, pins: &[usize]) -> Result<Reading<N::Text>> {
        let format = match format {
            Some(format) => format,
            None => wire::detect_format(messages)?,
        };
        let mut conversation = wire::read(messages, format)?;
        let count = conversation.messages.len();
        for pin in pins {
            let message = conversation.messages.get_mut(*pin).ok_or_else(|| Error::Conversation {
                problem: format!("the pin {pin} names no message: there are {count}"),
                remedy: "give indices into the list of messages".to_owned(),
            })?;
            message.pin = Pin::Pinned;
        }
        Ok(Reading { format, conversation })
    }

    /// The plan for what was read. Nothing of the host is touched, so other threads of it may run meanwhile.
    ///
    /// # Errors
    /// `Message` if the history breaks a rule of the providers as it came; `Budget` or `NoRoom` if it cannot be made to
    /// fit, with what would have to change.
    pub fn plan<T: Text + Sync>(&self, reading: &Reading<T>, ask: Ask) -> Result<Plan> {
        let budget = self.budget(ask.room)?;
        let tokens = self.ledger.measure(&reading.conversation);
        let bounds = Bounds::of(self.ledger.counter());
        let with =
            Sealing { format: reading.format, budget, ledger: &self.ledger, storing: self.storing, salt: ask.salt };
        // A draft counts what its texts take at the most, so it is the sealed plan that is judged. Where a mark turns out
        // longer than its bound, the plan is made again for as much less.
        let (mut aim, mut least) = (budget, usize::MAX);
        loop {
            let conversation = &reading.conversation;
            let draft = outline(conversation, &tokens, &self.policy, aim, ask.urgency, self.storing, bounds)?;
            let plan = seal(&draft, &with);
            if plan.tokens_after <= budget.limit {
                return Ok(plan);
            }
            if plan.tokens_after >= least {
                return Err(floor(&draft, budget, least));
            }
            least = plan.tokens_after;
            aim = aim.lowered(least - budget.limit);
        }
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
        let tokens = measured.total();
        let mut parts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for (index, message) in reading.conversation.messages.iter().enumerate() {
            for (position, part) in message.parts.iter().enumerate() {
                *parts.entry(part_name(part, message.role)).or_default() += measured.part(index, position);
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

    /// The output of `tool` and the tokens saved, shrunk if it is above the policy's `shrink_above`; `None` if it may stay as it is. What
    /// ullage has shortened or retrieved before stays.
    pub fn shrink(&self, tool: &str, text: &str, kind: TextKind) -> Option<(ShortText, usize)> {
        let counter = self.ledger.counter();
        let marked = match self.storing {
            Storing::On => marked_reference(text).is_some(),
            Storing::Off => split_mark(text).is_some(),
        };
        if marked || counter.fits(text, kind, self.policy.shrink_above) {
            return None;
        }
        let short = shorten(tool, text, self.policy.shrink_to, counter, self.storing)?;
        let (before, after) = (counter.count(text, kind), counter.count(&short.text, TextKind::ToolOutput));
        (after < before).then_some((short, before - after))
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

/// The content of an artifact of a plan: an item's text byte for byte, or removed messages as the host has them, one to a
/// line as JSON. `reading` is what the plan was made for, `messages` what was read; see [`check`].
///
/// # Errors
/// `Conversation` if a message is nested too deeply.
pub fn content<'a, N: Node>(reading: &'a Reading<N::Text>, source: &Source, messages: &N) -> Result<Cow<'a, [u8]>> {
    match source {
        Source::Item(place) => {
            let text = match &reading.conversation.messages[place.message].parts[place.part] {
                Part::Result { items, .. } => item_text(&items[place.item]).map(|(text, _)| text),
                _ => None, // A plan only stores items of results.
            };
            Ok(Cow::Borrowed(text.unwrap_or_default().as_bytes()))
        }
        Source::Transcript { notes, messages: range } => {
            let mut out = notes.clone();
            for message in &wire::message_list(messages)?[range.clone()] {
                message.render(&mut out, Bytes::Whole, MAX_MESSAGE_DEPTH)?;
                out.push('\n');
            }
            Ok(Cow::Owned(out.into_bytes()))
        }
    }
}

/// Makes sure that `messages` are those that `plan` was made for.
///
/// # Errors
/// `Changed` if they are not.
pub fn check<N: Node>(plan: &Plan, messages: &N) -> Result<()> {
    let now = wire::read(messages, plan.format)?;
    let same = now.messages.len() == plan.messages && fingerprint(&now) == plan.fingerprint;
    let may_touch = |message: usize| now.messages[message].pin == Pin::Free;
    if same && plan.edits.iter().all(|edit| edit.touches().all(may_touch)) { Ok(()) } else { Err(Error::Changed) }
}

/// The messages that `plan` leaves, as values of the host: untouched ones are the very same objects.
///
/// # Errors
/// `Changed` if the messages are not those that the plan was made for.
pub fn apply<N: Build>(plan: &Plan, messages: &N) -> Result<Vec<N::Out>> {
    check(plan, messages)?;
    wire::rewrite(messages, plan.format, &plan.changes())
}
