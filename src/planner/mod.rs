//! From a conversation and a budget to a plan.
//!
//! [`outline`] decides: it runs the stages over a draft until the target is met, under growing pressure. [`seal`] then
//! makes the texts and references of what was decided and counts the outcome exactly.

mod explain;
mod gap;
mod neighbours;
mod pending;
mod plan;
mod seal;
mod shorten;
mod tools;

pub use pending::{Answer, Pending, request_of, reserve, resumed, wait_for_summary};
pub use plan::{Artifact, Plan, Source};
pub use seal::{Sealing, seal};
pub use shorten::{Referring, ShortText, marked_short, shorten};

use crate::budget::Budget;
use crate::draft::{Bounds, Draft, Pressure};
use crate::error::{Error, Result};
use crate::invariants::{Pairs, Violation};
use crate::ledger::Measured;
use crate::message::{Conversation, Text};
use crate::policy::Policy;
use crate::stages::propose;
use crate::store::Storing;

/// Whether a compaction waits for the high mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Nothing happens below the high mark.
    Soft,
    /// Down to the low mark, whatever the fill.
    Hard,
}

/// The draft that brings `conversation` as far inside `budget` as it can be brought. O(parts) for each level of pressure.
///
/// # Errors
/// `Message` if the conversation breaks a rule of the providers as it came.
pub fn outline<'a, T: Text>(
    conversation: &'a Conversation<T>,
    tokens: &'a Measured,
    policy: &'a Policy,
    budget: Budget,
    urgency: Urgency,
    storing: Storing,
    bounds: Bounds,
) -> Result<Draft<'a, T>> {
    let pairs = Pairs::of(conversation);
    if let Some(violation) = pairs.violations(conversation).into_iter().next() {
        return Err(refusal(&violation, conversation.entry(violation.message)));
    }
    let mut draft = Draft::new(conversation, tokens, pairs, policy, bounds);
    let starts_at = match urgency {
        Urgency::Soft => budget.high,
        Urgency::Hard => budget.low,
    };
    if draft.total() <= starts_at {
        return Ok(draft);
    }
    for pressure in Pressure::ALL {
        run_stages(&mut draft, policy, budget.low, pressure, storing);
        // Below the high mark the next turn has room; more pressure would take what the model still works with.
        if draft.total() <= budget.high {
            break;
        }
    }
    Ok(draft)
}

fn run_stages<T: Text>(draft: &mut Draft<'_, T>, policy: &Policy, target: usize, pressure: Pressure, storing: Storing) {
    for stage in &policy.stages {
        for proposal in propose(*stage, draft, pressure, storing) {
            if draft.total() <= target {
                return;
            }
            draft.accept(*stage, proposal);
        }
    }
}

fn refusal(violation: &Violation, index: usize) -> Error {
    Error::Message {
        index,
        problem: format!("{} ({})", violation.problem, violation.rule),
        remedy: violation.remedy.to_owned(),
    }
}

/// The error for a draft that comes to `floor` tokens and does not fit: what takes the room.
pub fn floor<T: Text>(draft: &Draft<'_, T>, budget: Budget, floor: usize) -> Error {
    Error::Budget { budget: budget.limit, learned: budget.learned, floor, messages: draft.remaining() }
}
