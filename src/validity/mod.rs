//! Finds the rules that a history breaks, and the nearest history that a provider accepts.

mod demands;
mod pairing;
mod repair;
mod working;

pub use demands::{demands_of, provider_says, shared_demands};
pub use pairing::LOST_CALL;
pub use repair::{OpenCalls, Repair, Repaired, repair};

use crate::invariants::{Demand, Pairs, Violation, violations, waiting_from, waits};
use crate::message::{Conversation, Text};

/// Returns the violations for which a provider with these rules would reject a conversation, sorted by message.
/// O(parts).
pub fn validate<T: Text>(conversation: &Conversation<T>, demands: &[Demand]) -> Vec<Violation> {
    violations(conversation, &Pairs::of(conversation), demands)
}

/// Returns the same for a conversation that may continue: without calls that may still be answered.
pub fn broken<T: Text>(conversation: &Conversation<T>, demands: &[Demand]) -> Vec<Violation> {
    let mut violations = validate(conversation, demands);
    if !violations.is_empty() {
        let waiting_from = waiting_from(conversation);
        violations.retain(|violation| !waits(violation, waiting_from));
    }
    violations
}
