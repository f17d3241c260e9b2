//! Tracks the use of providers' prompt caches, to decide if a compaction is worth losing them.

use std::collections::VecDeque;

use crate::economics::{Account, PlanCost, Prices, ProviderCache, Removal, Savings, SentRequest};
use crate::ledger::{Beginning, Measured};
use crate::message::{Conversation as Messages, Role};
use crate::planner::Plan;
use crate::policy::Policy;
use crate::shared::Locked;

/// Number of remembered conversations: more than one engine works on at a time.
const REMEMBERED: usize = 64;

/// The most that a conversation may cost above doing nothing, as a share: a compaction that could wait is paid by earlier
/// savings and this.
const MOST_AT_RISK: f64 = 0.05;

/// The conversations that are compacted in place and have reported requests, the newest last. A view knows its own.
#[derive(Debug, Default)]
pub(super) struct Conversations(Locked<VecDeque<Conversation>>);

/// The requests of one conversation.
#[derive(Debug, Clone, Copy, Default)]
struct Conversation {
    /// Identifies it.
    beginning: Beginning,
    account: Account,
    cache: ProviderCache,
    /// The messages of the last plan.
    planned: Option<u128>,
    removal: Removal,
    /// Tokens of the messages when a compaction was postponed; 0 if none was, or if the messages have become fewer.
    waits: usize,
}

impl Conversations {
    /// Adds the last request of the conversation with this beginning, after the plans that were applied to it.
    pub(super) fn answered(&self, beginning: Beginning, sent: SentRequest) -> Savings {
        let mut all = self.0.lock();
        let at = all.iter().position(|other| other.beginning == beginning);
        let mut known = at.and_then(|at| all.remove(at)).unwrap_or_default();
        let before = known.account.last().saturating_sub(sent.prompt.saturating_sub(sent.messages));
        let sent = SentRequest { removal: known.removal, before, ..sent };
        known.beginning = beginning;
        known.cache = known.cache.after(sent);
        if sent.messages < known.waits {
            // The host has changed the history, or a summary from the background has replaced a part of it.
            known.waits = 0;
        }
        let added = known.account.add(sent);
        known.removal = Removal { removed: known.removal.removed, ..Removal::default() };
        if all.len() == REMEMBERED {
            all.pop_front();
        }
        all.push_back(known);
        added
    }

    /// True if the provider has the conversation in its cache.
    pub(super) fn is_cached(&self, beginning: Beginning) -> bool {
        self.0.lock().iter().any(|known| known.beginning == beginning && known.cache.is_used())
    }

    /// Notes that a plan was made for a conversation, and returns its account if its prompts are cached.
    pub(super) fn planned(&self, beginning: Beginning, plan: &Plan) -> Option<Account> {
        let mut all = self.0.lock();
        let known = all.iter_mut().find(|known| known.beginning == beginning)?;
        known.planned = Some(plan.fingerprint);
        known.cache.is_used().then_some(known.account)
    }

    /// Notes that a plan was applied.
    pub(super) fn compacted(&self, plan: &Plan) {
        let mut all = self.0.lock();
        let Some(known) = all.iter_mut().rev().find(|known| known.planned == Some(plan.fingerprint)) else { return };
        let Plan { tokens_before, tokens_after, unchanged, budget, .. } = *plan;
        known.removal = known.removal.and((tokens_before, tokens_after), unchanged, budget.limit);
        known.waits = 0;
    }

    /// Notes that a plan does nothing, although it was due.
    pub(super) fn postponed(&self, plan: &Plan) {
        let mut all = self.0.lock();
        let known = all.iter_mut().rev().find(|known| known.planned == Some(plan.fingerprint));
        if let Some(known) = known.filter(|known| known.cache.is_used()) {
            known.waits = plan.tokens_before;
        }
    }

    /// The tokens of a conversation when its compaction was last postponed; 0 if none waits.
    pub(super) fn waits(&self, beginning: Beginning) -> usize {
        let all = self.0.lock();
        let known = all.iter().find(|known| known.beginning == beginning && known.cache.is_used());
        known.map_or(0, |known| known.waits)
    }

    /// The requests so far of the conversation that a plan was made for.
    pub(super) fn savings(&self, plan: &Plan) -> Option<Savings> {
        let all = self.0.lock();
        let known = all.iter().rev().find(|known| known.planned == Some(plan.fingerprint))?;
        Some(known.account.savings)
    }
}

/// The requests of a view's conversation, as the history and the last compaction show them. Reports of the provider are not
/// part of them, because another process does not know those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Past {
    /// The requests up to the last compaction.
    pub account: Account,
    /// Tokens that the last compaction and earlier ones removed.
    pub removed: usize,
    /// Entries of the list that were known when the last compaction was made, with the answer to that request.
    pub entries: usize,
}

impl Past {
    /// Returns the account of all requests before the next: there was one before each answer of the model. The provider
    /// read the messages of the request before from its cache. O(messages).
    pub fn until_now<T>(self, messages: &Messages<T>, tokens: &Measured, fixed: usize) -> Account {
        let mut account = self.account;
        let removal = Removal { removed: self.removed, ..Removal::default() };
        let later = requests(messages, tokens).filter(|(answer, _)| messages.entry(*answer) >= self.entries);
        later.for_each(|(_, size)| _ = account.add(sent(size, fixed, removal)));
        account
    }
}

/// Returns the first message of each answer of the model, and the tokens of the messages before it. O(messages).
fn requests<T>(messages: &Messages<T>, tokens: &Measured) -> impl Iterator<Item = (usize, usize)> {
    let (mut size, mut before) = (0, None);
    messages.messages.iter().enumerate().filter_map(move |(index, message)| {
        let is_answer = message.role == Role::Assistant && before.is_some_and(|role| role != Role::Assistant);
        let request = (index, size);
        size += tokens.message(index);
        before = Some(message.role);
        is_answer.then_some(request)
    })
}

/// Returns the tokens of the messages before the model's last answer; 0 without one. O(messages).
pub fn before_answer<T>(messages: &Messages<T>, tokens: &Measured) -> usize {
    requests(messages, tokens).last().map_or(0, |(_, size)| size)
}

/// Returns a request with so many tokens of messages. The provider reads all that it can from its cache.
pub(super) fn sent(messages: usize, fixed: usize, removal: Removal) -> SentRequest {
    SentRequest { prompt: messages.saturating_add(fixed), messages, before: 0, cached: None, removal }
}

/// Returns the reason to postpone a plan that can wait: it would not pay back in time. `None` if it should not wait.
pub(super) fn reason_to_wait(plan: &Plan, policy: &Policy, prices: Prices, account: Account) -> Option<String> {
    let limit = plan.budget.limit;
    if plan.edits.is_empty() || plan.tokens_before > limit {
        return None;
    }
    let cost = PlanCost::of(plan.tokens_before, plan.tokens_after, plan.unchanged, prices);
    let Some(requests) = cost.pays_back_after else {
        return Some("a compaction would never pay back: it waits until it must".to_owned());
    };
    let pays = format!("a compaction would pay back only after {requests} requests");
    if requests > policy.pay_back_within as u64 {
        return Some(format!("{pays}, more than {}: it waits until it must", policy.pay_back_within));
    }
    let until_full = account.requests_until(limit - plan.tokens_before);
    if let Some(until_full) = until_full.filter(|until_full| requests > *until_full as u64) {
        return Some(format!("{pays}, and the window is full after about {until_full}: it waits until it must"));
    }
    let savings = account.savings;
    let (spent, without) = (savings.cost(prices), savings.cost_without(prices));
    let at_risk = spent + cost.debt(prices) - without;
    (at_risk > without * MOST_AT_RISK)
        .then(|| format!("{pays}, and the session has not saved as much as it may lose: it waits until it must"))
}
