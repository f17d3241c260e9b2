//! Tracks the use of providers' prompt caches, to decide if a compaction is worth losing them.

use std::collections::VecDeque;

use crate::economics::{PlanCost, Prices};
use crate::planner::Plan;
use crate::policy::Policy;
use crate::shared::Locked;

/// Number of remembered conversations: more than one engine works on at a time.
const REMEMBERED: usize = 64;

/// The conversations whose last request was answered from a cache, newest last.
#[derive(Debug, Default)]
pub(super) struct CacheHits(Locked<VecDeque<u128>>);

impl CacheHits {
    /// Notes how the last request of the conversation with this beginning was answered.
    pub(super) fn note(&self, beginning: u128, answer: CacheAnswer) {
        let mut known = self.0.lock();
        known.retain(|other| *other != beginning);
        if answer == CacheAnswer::Hit {
            if known.len() == REMEMBERED {
                known.pop_front();
            }
            known.push_back(beginning);
        }
    }

    /// True if the last request of the conversation with this beginning was answered from a cache.
    pub(super) fn has(&self, beginning: u128) -> bool {
        self.0.lock().contains(&beginning)
    }
}

/// A provider's report about its prompt cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheAnswer {
    /// At least half of the prompt was read from the cache: the history, and not only the tools before it.
    Hit,
    /// Less than half was read from the cache.
    Miss,
}

impl CacheAnswer {
    /// Returns the answer to a prompt of `prompt` tokens with `cached` tokens read from the cache.
    pub fn of(cached: usize, prompt: usize) -> CacheAnswer {
        if cached > 0 && cached >= prompt / 2 { CacheAnswer::Hit } else { CacheAnswer::Miss }
    }
}

/// Returns the reason to postpone a plan that can wait: it would not pay back in time. `None` if it should not wait.
pub(super) fn reason_to_wait(plan: &Plan, policy: &Policy) -> Option<String> {
    let fits = plan.tokens_before <= plan.budget.limit;
    if plan.edits.is_empty() || !fits {
        return None;
    }
    let cost = PlanCost::of(plan.tokens_before, plan.tokens_after, plan.unchanged, Prices::default());
    let requests = cost.pays_back_after.filter(|requests| *requests <= policy.pay_back_within as u64);
    match (requests, cost.pays_back_after) {
        (Some(_), _) => None,
        (None, Some(requests)) => Some(format!(
            "a compaction would pay back only after {requests} requests, more than {}: it waits until it must",
            policy.pay_back_within
        )),
        (None, None) => Some("a compaction would never pay back: it waits until it must".to_owned()),
    }
}
