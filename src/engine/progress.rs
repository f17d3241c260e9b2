//! Checks that a compaction ends well below its mark, so that the next one is not due on the next turn.

use crate::budget::{PROGRESS, progressed};
use crate::numbers::{share, thousands};
use crate::planner::Plan;
use crate::policy::Policy;

/// Of the messages that are too many, a compaction for their number removes at least one in this many, or waits.
const LEAST_REMOVED: usize = 2;

/// Why a soft plan does not get far enough, in numbers; `None` where it does, or where nothing is due. `summary` tokens may
/// come to it.
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
