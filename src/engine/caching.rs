//! Tracks the use of providers' prompt caches, to decide if a compaction is worth losing them.

use std::collections::VecDeque;

use crate::economics::{Account, PlanCost, Prices, Removal, Savings, SentRequest};
use crate::planner::Plan;
use crate::policy::Policy;
use crate::shared::Locked;

/// Number of remembered conversations: more than one engine works on at a time.
const REMEMBERED: usize = 64;

/// Providers cache no shorter beginning of a prompt.
const LEAST_CACHED: usize = 1_024;

/// The most that a conversation may cost above doing nothing, as a share: a compaction that could wait is paid by earlier
/// savings and this.
const MOST_AT_RISK: f64 = 0.05;

/// The conversations with reported requests, the newest last.
#[derive(Debug, Default)]
pub(super) struct Conversations(Locked<VecDeque<Conversation>>);

/// The requests of one conversation.
#[derive(Debug, Clone, Copy, Default)]
struct Conversation {
    /// Identifies it.
    beginning: u128,
    account: Account,
    /// The messages of the last plan.
    planned: Option<u128>,
    removal: Removal,
}

impl Conversations {
    /// Adds the last request of the conversation with this beginning. A view gives its `own` account and the removal;
    /// without a view, they are those of this conversation and of the plans applied to it.
    pub(super) fn answered(&self, beginning: u128, sent: SentRequest, own: Option<&mut Account>) -> Savings {
        let mut all = self.0.lock();
        let at = all.iter().position(|other| other.beginning == beginning);
        let mut known = at.and_then(|at| all.remove(at)).unwrap_or_default();
        known.beginning = beginning;
        let sent = if own.is_some() { sent } else { SentRequest { removal: known.removal, ..sent } };
        let mut account = own.as_deref().copied().unwrap_or(known.account);
        note(&mut account, sent);
        let added = account.add(sent);
        known.account = account;
        if let Some(own) = own {
            *own = account;
        }
        known.removal = Removal { removed: known.removal.removed, ..Removal::default() };
        if all.len() == REMEMBERED {
            all.pop_front();
        }
        all.push_back(known);
        added
    }

    /// Adds a conversation with the account of a view that another process began, unless it is known.
    pub(super) fn resume(&self, beginning: u128, account: Account) {
        let mut all = self.0.lock();
        if account == Account::default() || all.iter().any(|known| known.beginning == beginning) {
            return;
        }
        if all.len() == REMEMBERED {
            all.pop_front();
        }
        all.push_back(Conversation { beginning, account, ..Conversation::default() });
    }

    /// True if the last request of the conversation was answered from a cache.
    pub(super) fn is_cached(&self, beginning: u128) -> bool {
        self.0.lock().iter().any(|known| known.beginning == beginning && known.account.is_cached)
    }

    /// Notes that a plan was made for a conversation, and returns its account if its prompts are cached.
    pub(super) fn planned(&self, beginning: u128, plan: &Plan) -> Option<Account> {
        let mut all = self.0.lock();
        let known = all.iter_mut().find(|known| known.beginning == beginning)?;
        known.planned = Some(plan.fingerprint);
        known.account.is_cached.then_some(known.account)
    }

    /// Notes that a plan was applied.
    pub(super) fn compacted(&self, plan: &Plan) {
        let mut all = self.0.lock();
        let Some(known) = all.iter_mut().rev().find(|known| known.planned == Some(plan.fingerprint)) else { return };
        let Plan { tokens_before, tokens_after, unchanged, budget, .. } = *plan;
        known.removal = known.removal.and((tokens_before, tokens_after), unchanged, budget.limit);
    }

    /// The requests so far of the conversation that a plan was made for.
    pub(super) fn savings(&self, plan: &Plan) -> Option<Savings> {
        let all = self.0.lock();
        let known = all.iter().rev().find(|known| known.planned == Some(plan.fingerprint))?;
        Some(known.account.savings)
    }
}

/// Notes whether the request was answered from a cache, if the provider said so.
fn note(account: &mut Account, sent: SentRequest) {
    let Some(cached) = sent.cached else { return };
    let could_be = match sent.removal.unchanged {
        // The engine has changed the rest, so a miss there says nothing about the cache.
        Some(unchanged) if account.is_cached && unchanged < LEAST_CACHED => return,
        Some(unchanged) if account.is_cached => unchanged,
        _ => account.last().min(sent.prompt),
    };
    // At least half: the history, and not just the tools in front.
    account.is_cached = cached > 0 && cached >= could_be / 2;
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
