//! Repeats a plan until it fits and uses its whole budget.

use super::Engine;
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::ledger::Measured;
use crate::message::{Conversation, Text};
use crate::numbers::share;
use crate::planner::{LastLoop, Plan, Rendering, floor, outline, render, trim};
use crate::policy::{Policy, StageName};
use crate::stages::cuts_last_request;
use crate::working_copy::{Bounds, WorkingCopy};

/// A plan that leaves more than this share of its target unused is made again, and keeps more content whole.
const UNUSED: f64 = 0.03;

/// Share of the budget that required content may use when it is shortened. The rest is for the account of the removed
/// messages.
const MOST_TRIMMED: f64 = 0.9;

/// Number of times a plan is repeated to use more of the budget. After that, little is unused, or no more content can
/// be kept.
const REFILLS: usize = 3;

/// If kept lines came out too long, this multiple of the excess is left free when they are chosen again.
const SPARED: usize = 2;

/// No lines are kept if the margin is at least the low mark divided by this. So few lines would be useless.
const LEAST_LINES: usize = 2;

impl Engine {
    /// Returns the plan for a conversation, within the budget of `with`.
    ///
    /// A working copy counts upper bounds, so the rendered plan is checked. If a mark is longer than its bound, the
    /// plan is repeated with a smaller target. If the kept lines leave room, it is repeated with more content kept
    /// whole.
    pub(super) fn fit<T: Text + Sync>(
        &self,
        conversation: &Conversation<T>,
        tokens: &Measured,
        bounds: Bounds,
        with: &mut Rendering<'_>,
    ) -> Result<Plan> {
        let history = History { conversation, tokens, policy: &self.policy, bounds };
        match history.lower(with)? {
            (working_copy, Ok(plan)) => history.filled(&working_copy, plan, with),
            _ if self.policy.stages.contains(&StageName::Trim) => history.trimmed(with).or_else(|error| {
                with.last_loop = LastLoop::MayGo;
                history.trimmed(with).map_err(|other| least_of(error, other))
            }),
            (working_copy, Err(least)) => Err(floor(&working_copy, with.budget, least)),
        }
    }
}

/// The history that a plan is made for.
struct History<'a, T> {
    conversation: &'a Conversation<T>,
    tokens: &'a Measured,
    policy: &'a Policy,
    bounds: Bounds,
}

/// A plan within its budget, or the smallest size that was reached; and its working copy.
type Fitted<'a, T> = (WorkingCopy<'a, T>, std::result::Result<Plan, usize>);

impl<'a, T: Text + Sync> History<'a, T> {
    fn outlined(&self, unused: usize, with: &Rendering<'_>) -> Result<WorkingCopy<'a, T>> {
        outline(self.conversation, self.tokens, self.policy, self.bounds, with, unused)
    }

    /// Lowers the target until the plan fits. It ends, because `margin` at least doubles up to the budget, and after
    /// that every plan is smaller than the one before.
    fn lower(&self, with: &mut Rendering<'_>) -> Result<Fitted<'a, T>> {
        let (limit, mut least) = (with.budget.limit, usize::MAX);
        loop {
            let working_copy = self.outlined(0, with)?;
            let plan = render(&working_copy, with);
            let over = plan.tokens_after.saturating_sub(limit);
            if over == 0 {
                return Ok((working_copy, Ok(plan)));
            }
            if working_copy.is_digested() && with.margin < limit {
                let margin = (with.margin + over) * SPARED;
                with.margin = if margin < with.budget.low / LEAST_LINES { margin } else { limit };
            } else if plan.tokens_after < least {
                least = plan.tokens_after;
                with.aim = with.aim.reduced_by(over);
            } else {
                return Ok((working_copy, Err(least)));
            }
        }
    }

    /// Returns the fullest of at most [`REFILLS`] further plans that use the room left by `plan`.
    fn filled(&self, working_copy: &WorkingCopy<'a, T>, plan: Plan, with: &Rendering<'_>) -> Result<Plan> {
        let (mut left, mut unused, mut best) = (unused_by(&plan, working_copy, with), 0, plan);
        for _ in 0..REFILLS {
            if left == 0 || with.deadline.is_over() {
                break;
            }
            unused += left;
            let working_copy = self.outlined(unused, with)?;
            let plan = render(&working_copy, with);
            // If more room for whole content changed nothing, still more room does not either.
            if plan.tokens_after > with.budget.limit || plan.tokens_after == best.tokens_after {
                break;
            }
            left = unused_by(&plan, &working_copy, with);
            if plan.tokens_after > best.tokens_after {
                best = plan;
            }
        }
        Ok(best)
    }

    /// Returns the plan of the last level. Required content is shortened as little as the budget allows, and lines of
    /// removed content fill the rest.
    fn trimmed(&self, with: &mut Rendering<'_>) -> Result<Plan> {
        let limit = with.budget.limit;
        with.aim = Budget { low: limit, ..with.budget };
        with.margin = limit;
        let (working_copy, bare) = self.bare(with)?;
        let (working_copy, bare) = self.loosened(working_copy, bare, with)?;
        with.margin = 0;
        // This ends, because `margin` at least doubles.
        while with.margin < limit && working_copy.is_digested() {
            let plan = render(&working_copy, with);
            if plan.tokens_after <= limit {
                return Ok(plan);
            }
            with.margin = (with.margin + plan.tokens_after - limit) * SPARED;
        }
        Ok(bare)
    }

    fn trimmed_to(&self, target: usize, with: &Rendering<'_>) -> Result<(WorkingCopy<'a, T>, Plan)> {
        let mut working_copy = self.outlined(0, with)?;
        trim(&mut working_copy, target, with);
        let plan = render(&working_copy, with);
        Ok((working_copy, plan))
    }

    /// Returns a plan without lines that fits. It ends, because its target falls each time.
    fn bare(&self, with: &Rendering<'_>) -> Result<(WorkingCopy<'a, T>, Plan)> {
        let (limit, mut target, mut before) = (with.budget.limit, with.budget.limit, usize::MAX);
        loop {
            let (working_copy, plan) = self.trimmed_to(target, with)?;
            match plan.tokens_after {
                tokens if tokens <= limit => return Ok((working_copy, plan)),
                tokens if target == 0 => return Err(floor(&working_copy, with.budget, tokens)),
                // If a smaller target did not help, the target is set to zero once.
                tokens if tokens >= before => target = 0,
                tokens => {
                    target = target.min(working_copy.total()).saturating_sub(tokens - limit);
                    before = tokens;
                }
            }
        }
    }

    /// Returns the plan, or one that shortens less and still fits, because a working copy overestimates its texts.
    /// Tries at most [`REFILLS`] plans.
    fn loosened(
        &self,
        working_copy: WorkingCopy<'a, T>,
        plan: Plan,
        with: &Rendering<'_>,
    ) -> Result<(WorkingCopy<'a, T>, Plan)> {
        // The words of the last request are more important than the account.
        let part = if cuts_last_request(&working_copy) { 1.0 } else { MOST_TRIMMED };
        let most = share(with.budget.limit, part);
        let mut best = (working_copy, plan);
        for tries in 0..REFILLS {
            let left = most.saturating_sub(best.1.tokens_after) >> tries;
            if left <= share(most, UNUSED) || with.deadline.is_over() {
                break;
            }
            let looser = self.trimmed_to(best.0.total() + left, with)?;
            if looser.1.tokens_after <= most && looser.1.tokens_after > best.1.tokens_after {
                best = looser;
            }
        }
        Ok(best)
    }
}

/// Returns the error with the smaller floor.
fn least_of(one: Error, other: Error) -> Error {
    match (&one, &other) {
        (Error::Budget { floor: first, .. }, Error::Budget { floor: second, .. }) if first <= second => one,
        _ => other,
    }
}

/// Returns the tokens in which more content could stay whole; 0 if they are too few to matter.
fn unused_by<T: Text>(plan: &Plan, working_copy: &WorkingCopy<'_, T>, with: &Rendering<'_>) -> usize {
    if !working_copy.is_digested() || plan.edits.is_empty() {
        return 0;
    }
    let summary = if working_copy.gaps().is_empty() { 0 } else { working_copy.bounds.summary };
    let left = with.budget.low.saturating_sub(plan.tokens_after + summary);
    if left <= share(with.budget.low, UNUSED) { 0 } else { left }
}
