//! Making a plan again until it fits, and uses what it may.

use super::Engine;
use crate::budget::Budget;
use crate::draft::{Bounds, Draft};
use crate::error::Result;
use crate::ledger::Measured;
use crate::message::{Conversation, Text};
use crate::numbers::share;
use crate::planner::{Plan, Sealing, floor, outline, seal, trim};
use crate::policy::StageName;

/// A plan that leaves more than this share of its target unused is made again with more that stays whole.
const UNUSED: f64 = 0.03;

/// Times that this is done at the most: by then what is left is little, or nothing more can stay.
const REFILLS: usize = 3;

/// Times the tokens by which lines came out too long are left free when they are chosen again.
const SPARED: usize = 2;

/// Where more than the budget by this must be left free, no lines are kept.
const LEAST_LINES: usize = 2;

impl Engine {
    /// The plan for a conversation, within the budget of `with`.
    ///
    /// A draft counts what its texts take at the most, so it is the sealed plan that is judged. Where a mark turns out longer
    /// than its bound, the plan is made again for as much less; where the lines that are kept of what goes leave room, for
    /// as much more that stays whole.
    pub(super) fn fitted<T: Text + Sync>(
        &self,
        conversation: &Conversation<T>,
        tokens: &Measured,
        bounds: Bounds,
        with: &mut Sealing<'_>,
    ) -> Result<Plan> {
        let budget = with.budget;
        let (mut least, mut unused, mut refills, mut best) = (usize::MAX, 0, 0, None::<Plan>);
        loop {
            let draft = outline(conversation, tokens, &self.policy, bounds, with, unused)?;
            let plan = seal(&draft, with);
            if plan.tokens_after > budget.limit {
                if let Some(best) = best {
                    return Ok(best);
                }
                let over = plan.tokens_after - budget.limit;
                if draft.is_digested() && with.spare < budget.limit {
                    let spare = (with.spare + over) * SPARED;
                    with.spare = if spare < budget.low / LEAST_LINES { spare } else { budget.limit };
                    continue;
                }
                if plan.tokens_after >= least {
                    return self.trimmed(draft, least, with);
                }
                least = plan.tokens_after;
                with.aim = with.aim.lowered(least - budget.limit);
                continue;
            }
            let left = unused_by(&plan, &draft, with);
            // Where room to stay whole changed nothing, more of it does not either.
            let again = best.as_ref().is_some_and(|best| best.tokens_after == plan.tokens_after);
            if best.as_ref().is_none_or(|best| plan.tokens_after > best.tokens_after) {
                best = Some(plan);
            }
            if refills == REFILLS || left == 0 || again || with.deadline.is_over() {
                return best.ok_or_else(|| floor(&draft, budget, least));
            }
            refills += 1;
            unused += left;
        }
    }
}

impl Engine {
    /// The plan of the last level, for a draft that comes to `least` at best: what must stay is shortened as little as the
    /// budget allows, and lines of what goes take what that leaves.
    fn trimmed<T: Text + Sync>(&self, draft: Draft<'_, T>, least: usize, with: &mut Sealing<'_>) -> Result<Plan> {
        let budget = with.budget;
        if !self.policy.stages.contains(&StageName::Trim) {
            return Err(floor(&draft, budget, least));
        }
        with.aim = Budget { low: budget.limit, ..budget };
        let (mut draft, mut target, mut before) = (draft, budget.limit, usize::MAX);
        let bare = loop {
            trim(&mut draft, target, with);
            with.spare = budget.limit;
            let plan = seal(&draft, with);
            match plan.tokens_after {
                tokens if tokens <= budget.limit => break plan,
                tokens if target == 0 => return Err(floor(&draft, budget, tokens)),
                // Where less came of nothing, all of it is taken once.
                tokens if tokens >= before => target = 0,
                tokens => {
                    target = target.min(draft.total()).saturating_sub(tokens - budget.limit);
                    before = tokens;
                }
            }
        };
        with.spare = 0;
        while with.spare < budget.limit && draft.is_digested() {
            let plan = seal(&draft, with);
            if plan.tokens_after <= budget.limit {
                return Ok(plan);
            }
            with.spare = (with.spare + plan.tokens_after - budget.limit) * SPARED;
        }
        Ok(bare)
    }
}

/// Tokens that more could stay whole in; 0 where they are too few to matter.
fn unused_by<T: Text>(plan: &Plan, draft: &Draft<'_, T>, with: &Sealing<'_>) -> usize {
    if !draft.is_digested() || plan.edits.is_empty() {
        return 0;
    }
    let summary = if draft.gaps().is_empty() { 0 } else { draft.bounds.summary };
    let left = with.budget.low.saturating_sub(plan.tokens_after + summary);
    if left <= share(with.budget.low, UNUSED) { 0 } else { left }
}
