//! Whether a provider takes a history, and the nearest history that it takes.

mod demands;
mod pairing;
mod repair;
mod working;

pub use demands::{demands_of, provider_says};
pub use repair::{OpenCalls, Repair, Repaired, repair};

use crate::invariants::{Pairs, Violation, violations};
use crate::message::{Conversation, Text};
use crate::wire::Format;

/// What a provider would reject in a conversation of this format, sorted by message. O(parts).
pub fn validate<T: Text>(conversation: &Conversation<T>, format: Format) -> Vec<Violation> {
    violations(conversation, &Pairs::of(conversation), demands_of(format))
}
