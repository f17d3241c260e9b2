//! The engine: a policy, a ledger and the planner behind a few methods.

mod apply;
mod arrival;
mod caching;
mod fitting;
mod fixed;
mod progress;
mod repairing;
mod summaries;

use std::collections::BTreeMap;
use std::sync::Arc;

use caching::{Conversations, reason_to_wait, sent};
use progress::shortfall;

use crate::budget::{Budget, PROGRESS};
use crate::economics::{Account, Prices, Removal, Savings, SentRequest};
use crate::error::{Error, Result};
use crate::invariants::Pairs;
use crate::ledger::{Beginning, Ledger};
use crate::message::{Conversation, Part, Pin, Role, Text};
use crate::numbers::share;
use crate::planner::{
    Deadline, LastLoop, Plan, References, Rendering, SummaryAnswer, Urgency, occupant, reserve, resumed,
    wait_for_summary,
};
use crate::policy::Policy;
use crate::report::{Report, Stats, Status};
use crate::shared::Locked;
use crate::store::{Places, Reference, Storing};
use crate::tokens::CountTokens;
use crate::wire::{self, Format, Node};
use crate::working_copy::Bounds;

pub use apply::{apply, check, content, rewritten};
pub use arrival::{Content, Shrunk};
pub use caching::{Past, before_answer};
pub use fixed::fixed_tokens;
pub use repairing::demands_of_messages;
pub use summaries::{RangeSummary, Summarizer, SummaryRange};

/// A message with a smaller share of the budget is not named as taking up the room.
const NOTABLE: f64 = 0.1;

/// The room that a plan may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// Tokens for the messages; `None` for the room that the policy's window leaves.
    pub budget: Option<usize>,
    /// Tokens of the window that the system prompt and the tool definitions take.
    pub fixed: usize,
    /// The most tokens for the messages after a refusal; `None` if there was none.
    pub ceiling: Option<usize>,
    /// True if a compaction starts at the policy's high mark of `budget`, as for a growing conversation. Otherwise it
    /// starts above the whole budget.
    pub has_marks: bool,
    /// True before the provider's first answer. Until then a scale below one is not believed: other conversations
    /// taught it, and their texts may be of another kind.
    pub is_first: bool,
    /// True if the provider has the conversation of a view in its cache; `None` if the engine knows that itself.
    pub is_cached: Option<bool>,
    /// The requests of the view so far.
    pub past: Past,
}

/// The request for a plan.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Room that the plan may use.
    pub room: Room,
    /// `Soft` if the plan may wait for the high mark.
    pub urgency: Urgency,
    /// See [`Reference::salted`]; 0 unless a store has other content under the reference.
    pub salt: u64,
    /// References in texts that the store does not have.
    pub distrusted: &'a [Reference],
    /// The time by which the plan must be done: see [`Policy::time_limit`].
    pub deadline: Deadline<'a>,
    /// The answer with which a plan that needs a summary continues at once, as in [`Engine::resume`]; `None` if it may
    /// wait.
    pub answer: Option<SummaryAnswer<'a>>,
}

/// A conversation, and the format in which it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading<T> {
    /// The wire format.
    pub format: Format,
    /// The messages.
    pub conversation: Conversation<T>,
}

/// Makes decisions for any number of conversations. Threads may share it.
#[derive(Debug)]
pub struct Engine {
    policy: Policy,
    ledger: Arc<Ledger>,
    storing: Storing,
    places: Option<Arc<dyn Places>>,
    summarizer: Summarizer,
    conversations: Conversations,
    prices: Prices,
    stats: Locked<Stats>,
}

impl Engine {
    /// Returns an engine with this policy and ledger. Engines may share a ledger with its counts and its learned scale.
    ///
    /// # Errors
    /// `Policy` if a setting is out of range.
    pub fn new(policy: Policy, ledger: Arc<Ledger>, storing: Storing) -> Result<Engine> {
        let (policy, summarizer) = (policy.checked()?, Summarizer::Absent);
        Ok(Engine {
            policy,
            ledger,
            storing,
            places: None,
            summarizer,
            conversations: Conversations::default(),
            prices: Prices::default(),
            stats: Locked::default(),
        })
    }

    /// Returns the engine with a store that names its files, for a policy whose marks have the path.
    #[must_use]
    pub fn with_places(self, places: Arc<dyn Places>) -> Engine {
        Engine { places: Some(places), ..self }
    }

    /// Returns the same engine with the prices of its model.
    ///
    /// # Errors
    /// `Policy` if one cannot be a price.
    pub fn with_prices(self, prices: Prices) -> Result<Engine> {
        Ok(Engine { prices: prices.checked()?, ..self })
    }

    fn referring<'a>(&'a self, salt: u64, distrusted: &'a [Reference]) -> References<'a> {
        let (style, places) = (self.policy.marks, self.places.as_deref());
        References { storing: self.storing, salt, distrusted, style, places }
    }

    /// Returns counters of the engine's work so far.
    pub fn stats(&self) -> Stats {
        self.stats.lock().clone()
    }

    /// Notes that a plan was applied.
    pub fn record(&self, plan: &Plan) {
        self.conversations.compacted(plan);
        self.stats.lock().add_report(&plan.report());
    }

    /// Notes that a plan was due, and does nothing. The next one is due when the messages have grown by [`PROGRESS`].
    pub fn postponed(&self, plan: &Plan) {
        self.conversations.postponed(plan);
    }

    /// Notes that a shrunk result entered a history.
    pub fn record_shrink(&self, saved: usize) {
        self.stats.lock().add_shrink(saved);
    }

    /// Reads `messages`, and pins those that the caller names.
    ///
    /// # Errors
    /// `Message` or `Conversation` if they cannot be read, or a pin names no message.
    pub fn read<N: Node>(&self, messages: &N, format: Option<Format>, pins: &[usize]) -> Result<Reading<N::Text>> {
        let format = match format {
            Some(format) => format,
            None => wire::format_to_read(messages)?,
        };
        let mut conversation = wire::read(messages, format)?;
        for pin in pins {
            require_entry(*pin, conversation.spans().count())?;
            if let Some(message) = conversation.message_of(*pin) {
                conversation.messages[message].pin = Pin::Pinned;
            }
        }
        Ok(Reading { format, conversation })
    }

    /// Returns the plan for a reading. It uses no object of the host, so other threads can run meanwhile.
    ///
    /// # Errors
    /// `Message` if the history breaks a rule of its provider. `Budget` or `NoRoom` if it cannot be made to fit, with
    /// the necessary change.
    pub fn plan<T: Text + Sync>(&self, reading: &Reading<T>, ask: Ask<'_>) -> Result<Plan> {
        let counter = self.ledger.now();
        let tokens = counter.measure(&reading.conversation);
        let mut budget = self.budget(ask.room, tokens.beginning())?;
        if ask.room.budget.is_some() && !ask.room.has_marks && ask.urgency == Urgency::Hard {
            budget = budget.filled();
        }
        let summary = if self.summarizes() { reserve(&self.policy, budget) } else { 0 };
        let bounds = Bounds { summary, ..Bounds::of(&counter, self.policy.marks) };
        let mut with = Rendering {
            format: reading.format,
            budget,
            aim: budget,
            margin: 0,
            counter,
            referring: self.referring(ask.salt, ask.distrusted),
            deadline: ask.deadline,
            urgency: ask.urgency,
            last_loop: LastLoop::Stays,
        };
        let mut plan = self.fit(&reading.conversation, &tokens, bounds, &mut with)?;
        let account = match ask.room.is_cached {
            Some(is_cached) => {
                is_cached.then(|| ask.room.past.until_now(&reading.conversation, &tokens, ask.room.fixed))
            }
            None => self.conversations.planned(tokens.beginning(), &plan),
        };
        if ask.urgency == Urgency::Soft {
            if let Some(shortfall) = shortfall(&plan, summary, &self.policy) {
                if plan.tokens_before <= plan.budget.limit {
                    return Ok(plan.postponed(&format!("{shortfall}: it waits until it must")));
                }
                plan.warnings.insert(0, shortfall);
            }
            if let Some(account) = account
                && ask.room.budget.is_none()
                && !self.is_crowded(reading.conversation.messages.len())
                && let Some(reason) = reason_to_wait(&plan, &self.policy, self.prices, account)
            {
                return Ok(plan.postponed(&reason));
            }
        }
        if self.summarizes() {
            wait_for_summary(&mut plan, &reading.conversation, &self.policy, counter);
        }
        Ok(match ask.answer {
            Some(answer) => resumed(plan, &reading.conversation, &tokens, answer, &self.policy, counter),
            None => plan,
        })
    }

    /// Returns the tokens that the messages of the conversation with this beginning may take.
    ///
    /// # Errors
    /// `NoRoom` if the window leaves nothing for messages.
    pub fn limit(&self, room: Room, beginning: Beginning) -> Result<usize> {
        Ok(self.budget(room, beginning)?.limit)
    }

    /// Returns the budget of the conversation with this beginning.
    fn budget(&self, room: Room, beginning: Beginning) -> Result<Budget> {
        let capped = |limit: usize| room.ceiling.map_or(limit, |ceiling| limit.min(ceiling));
        if let Some(limit) = room.budget {
            let budget = Budget::of_limit(capped(limit), &self.policy)?;
            return Ok(if room.has_marks { budget.limited(budget.limit, &self.policy) } else { budget });
        }
        let budget = Budget::of(&self.policy, room.fixed, self.ledger.beside(beginning))?;
        let is_cached = room.is_cached.unwrap_or_else(|| self.conversations.is_cached(beginning));
        let budget = if is_cached { budget.relaxed(&self.policy) } else { budget };
        let believed = if room.is_first { self.ledger.within_unscaled(budget.limit) } else { budget.limit };
        let limit = capped(believed);
        Ok(if limit < budget.limit { budget.limited(limit, &self.policy) } else { budget })
    }

    /// Adds the answered request of the conversation with this beginning to its account. While the provider answers from
    /// its prompt cache, compaction starts later (see [`Policy::cache_relax`]) and must pay back (see
    /// [`Policy::pay_back_within`]).
    pub fn answered(&self, beginning: Beginning, sent: SentRequest) -> Savings {
        let added = self.conversations.answered(beginning, sent);
        self.saved(added);
        added
    }

    /// Adds the savings of a request to the totals.
    pub fn saved(&self, added: Savings) {
        self.stats.lock().savings += added;
    }

    /// Returns the account of a view's requests after a compaction of these messages.
    pub fn account_after<T: Text + Sync>(
        &self,
        reading: &Reading<T>,
        room: Room,
        messages: usize,
        removal: Removal,
    ) -> Account {
        let tokens = self.ledger.now().measure(&reading.conversation);
        let mut account = room.past.until_now(&reading.conversation, &tokens, room.fixed);
        account.add(sent(messages, room.fixed, removal));
        account
    }

    /// The requests so far of the conversation that a plan was made for; `None` if none was reported.
    pub fn savings(&self, plan: &Plan) -> Option<Savings> {
        self.conversations.savings(plan)
    }

    /// True if there are more messages than the policy allows.
    fn is_crowded(&self, messages: usize) -> bool {
        self.policy.max_messages.is_some_and(|most| messages > most)
    }

    /// Returns the report of a soft compaction with nothing to do in a conversation of `total` tokens. `None` if there
    /// may be something to do; several of its `entries` can be one message. `left` is the size after the last
    /// compaction, or 0.
    ///
    /// # Errors
    /// `NoRoom` if the window leaves nothing for messages.
    pub fn idle(
        &self,
        total: usize,
        left: usize,
        entries: usize,
        beginning: Beginning,
        room: Room,
    ) -> Result<Option<Report>> {
        let budget = self.budget(room, beginning)?;
        let idle = || Report { tokens_before: total, tokens_after: total, budget: budget.limit, ..Report::default() };
        let high = self.high(budget, left, room, beginning);
        Ok((total <= high && !self.is_crowded(entries)).then(idle))
    }

    /// Returns the tokens above which a compaction is due. The last one left `left` tokens, or waits since then.
    fn high(&self, budget: Budget, left: usize, room: Room, beginning: Beginning) -> usize {
        let is_in_place = room.is_cached.is_none() && room.budget.is_none();
        let left = if is_in_place { left.max(self.conversations.waits(beginning)) } else { left };
        // Until this much has been added, another compaction cannot save enough.
        budget.high.max(left.saturating_add(share(left, PROGRESS))).min(budget.limit)
    }

    /// Returns the plan for a valid conversation if a soft compaction has nothing to do; otherwise `None`. O(length) at
    /// memory speed.
    ///
    /// # Errors
    /// `NoRoom` if the window leaves nothing for messages.
    pub fn nothing_due<T: Text + Sync>(&self, reading: &Reading<T>, room: Room) -> Result<Option<Plan>> {
        let tokens = self.ledger.now().measure(&reading.conversation);
        let budget = self.budget(room, tokens.beginning())?;
        let high = self.high(budget, 0, room, tokens.beginning());
        let is_due = tokens.total() > high || self.is_crowded(reading.conversation.messages.len());
        Ok((!is_due).then(|| Plan::idle(&reading.conversation, &tokens, reading.format, budget)))
    }

    /// Returns the fill level of the conversation.
    ///
    /// # Errors
    /// `NoRoom` if the window leaves nothing for messages.
    pub fn status<T: Text + Sync>(&self, reading: &Reading<T>, room: Room) -> Result<Status> {
        let counter = self.ledger.now();
        let measured = counter.measure(&reading.conversation);
        let budget = self.budget(room, measured.beginning())?;
        let tokens = measured.total();
        let mut parts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for (index, message) in reading.conversation.messages.iter().enumerate() {
            for (position, part) in message.parts.iter().enumerate() {
                *parts.entry(part_name(part, message.role)).or_default() += measured.part(index, position);
            }
            *parts.entry("framing").or_default() += counter.overhead().message;
        }
        let due = match tokens {
            tokens if tokens > budget.limit => "hard",
            tokens if tokens > budget.high || self.is_crowded(reading.conversation.messages.len()) => "soft",
            _ => "none",
        };
        let pairs = Pairs::of(&reading.conversation);
        let notable = crate::numbers::share(budget.limit, NOTABLE);
        let size = |message| Some(measured.message(message)).filter(|tokens| *tokens >= notable);
        let largest = occupant(&reading.conversation, &measured, &pairs, size);
        Ok(Status {
            tokens,
            window: self.policy.window,
            fixed: room.fixed.saturating_add(budget.learned),
            available: budget.limit,
            high: budget.high,
            low: budget.low,
            due,
            parts,
            largest: largest.map(|largest| largest.to_string()),
        })
    }
}

/// Checks that a place named by the caller is in the list.
///
/// # Errors
/// `Conversation` if it is not in the list.
pub fn require_entry(place: usize, count: usize) -> Result<()> {
    if place < count {
        return Ok(());
    }
    Err(Error::Conversation {
        problem: match place {
            usize::MAX => "a negative index names no message".to_owned(),
            _ => format!("index {place} names no message, because the list has {count}"),
        },
        remedy: "give indices from 0 up to the last message".to_owned(),
    })
}

fn part_name<T>(part: &Part<T>, role: Role) -> &'static str {
    match part {
        Part::Text(_) => role.name(),
        Part::Reasoning { .. } => "reasoning",
        Part::Call { .. } => "tool calls",
        Part::Result { .. } => "tool results",
        Part::Media(_) | Part::Document(_) => "media",
        Part::CachePoint => "cache points",
        Part::Opaque(_) => "other",
    }
}
