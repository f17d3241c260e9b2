//! From a conversation and a budget to a plan.
//!
//! [`outline`] decides: it runs the stages over a draft until the target is met, under growing pressure. [`seal`] then
//! makes the texts and references of what was decided and counts the outcome exactly. The two are apart because the
//! second needs the host's own messages (what is removed is stored as it was) and the first does not.

mod explain;
mod plan;
mod seal;

pub use plan::{Artifact, Plan, Source};
pub use seal::{ShortText, Transcripts, seal, shorten};

use crate::budget::Budget;
use crate::draft::{Draft, Pressure};
use crate::error::{Error, Result};
use crate::invariants::{Pairs, Violation};
use crate::ledger::MessageTokens;
use crate::message::{Conversation, Text};
use crate::numbers::thousands;
use crate::policy::Policy;
use crate::stages::{Storing, propose};

/// Messages that an error about the floor names; more would hide the largest.
const MESSAGES_NAMED: usize = 4;

/// Whether a compaction waits for the high mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Nothing happens below the high mark.
    Soft,
    /// Down to the low mark, whatever the fill.
    Hard,
}

/// The draft that brings `conversation` inside `budget`. O(parts) for each level of pressure.
///
/// # Errors
/// `Message` if the conversation breaks a rule of the providers as it came; `Budget` if what must stay does not fit.
pub fn outline<'a, T: Text>(
    conversation: &'a Conversation<T>,
    tokens: &'a [MessageTokens],
    policy: &'a Policy,
    budget: Budget,
    urgency: Urgency,
    storing: Storing,
) -> Result<Draft<'a, T>> {
    let pairs = Pairs::of(conversation);
    if let Some(violation) = pairs.violations(conversation).into_iter().next() {
        return Err(refusal(&violation));
    }
    let mut draft = Draft::new(conversation, tokens, &pairs, policy);
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
    if draft.total() > budget.limit {
        return Err(floor(&draft, budget));
    }
    Ok(draft)
}

fn run_stages<T: Text>(
    draft: &mut Draft<'_, T>,
    policy: &Policy,
    target: usize,
    pressure: Pressure,
    storing: Storing,
) {
    for stage in &policy.stages {
        for proposal in propose(*stage, draft, pressure, storing) {
            if draft.total() <= target {
                return;
            }
            draft.accept(*stage, proposal);
        }
    }
}

fn refusal(violation: &Violation) -> Error {
    Error::Message {
        index: violation.message,
        problem: format!("{} ({})", violation.problem, violation.rule),
        remedy: violation.remedy.to_owned(),
    }
}

fn floor<T: Text>(draft: &Draft<'_, T>, budget: Budget) -> Error {
    let rest = draft.remaining();
    let mut parts: Vec<String> = rest
        .iter()
        .take(MESSAGES_NAMED)
        .map(|(message, tokens)| format!("message {message} ({} tokens)", thousands(*tokens)))
        .collect();
    if rest.len() > MESSAGES_NAMED {
        parts.push(format!(
            "{} smaller ones",
            thousands(rest.len() - MESSAGES_NAMED)
        ));
    }
    Error::Budget {
        budget: budget.limit,
        floor: draft.total(),
        messages: rest.into_iter().map(|(message, _)| message).collect(),
        parts: parts.join(", "),
    }
}
