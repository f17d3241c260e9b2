//! Checks that a compaction ends well below its mark, so that the next turn does not need another one.

use crate::budget::{PROGRESS, progressed};
use crate::numbers::{share, thousands};
use crate::planner::Plan;
use crate::policy::Policy;

/// If there are too many messages, a compaction removes at least one in this many of the excess, or waits.
const LEAST_REMOVED: usize = 2;

/// Returns the reason why a soft plan saves too little, with numbers; `None` if it saves enough or nothing is due.
/// `summary` tokens may be added to the outcome.
pub(super) fn shortfall(plan: &Plan, summary: usize, policy: &Policy) -> Option<String> {
    let messages = plan.spans.messages();
    let removed: usize = plan.removals().map(|range| range.len()).sum();
    let after = plan.tokens_after + if removed > 0 { summary } else { 0 };
    if after <= progressed(plan.tokens_before) {
        return None;
    }
    if let Some(most) = policy.max_messages.filter(|most| messages > *most) {
        let wanted = messages + 1 - share(most, policy.low_messages).max(1);
        if removed * LEAST_REMOVED >= wanted {
            return None;
        }
    } else if plan.tokens_before <= plan.budget.high {
        return None;
    }
    let saved = plan.tokens_before.saturating_sub(after);
    Some(format!(
        "a compaction saves {} of {} tokens, fewer than the {} that make it worthwhile",
        thousands(saved),
        thousands(plan.tokens_before),
        thousands(share(plan.tokens_before, PROGRESS)),
    ))
}
