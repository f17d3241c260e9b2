//! Repairs faults that a provider would refuse, before a plan is made.

use super::{Engine, Reading};
use crate::error::Result;
use crate::invariants::Demand;
use crate::message::Text;
use crate::validity::{OpenCalls, Repaired, broken, demands_of, repair, shared_demands};
use crate::wire::{self, Format, Node};

/// Returns the format of messages, and the rules of their provider. For an ambiguous format these are the rules that
/// all possible formats share.
///
/// The host decides the place of system messages: some hosts keep them in the list, and move them when they send it.
///
/// # Errors
/// `Message` or `Conversation` if they match no format.
pub fn demands_of_messages<N: Node>(messages: &N, named: Option<Format>) -> Result<(Format, Vec<Demand>)> {
    let (format, mut demands) = match named {
        Some(format) => (format, demands_of(format).to_vec()),
        None => (wire::format_to_read(messages)?, shared_demands(&wire::formats_of(messages)?)),
    };
    demands.retain(|demand| *demand != Demand::SystemApart);
    Ok((format, demands))
}

impl Engine {
    /// Returns the messages as a provider accepts them; `None` if it accepts them unchanged. Calls that may still be
    /// answered are not faults. O(parts).
    ///
    /// # Errors
    /// `Message` if a repair is needed and the policy allows none.
    pub fn repaired<T: Text>(&self, reading: &Reading<T>, demands: &[Demand]) -> Result<Option<Repaired>> {
        let violations = broken(&reading.conversation, demands);
        let Some(first) = violations.first() else { return Ok(None) };
        if !self.policy.repair {
            return Err(first.refusal(reading.conversation.entry(first.message)));
        }
        Ok(Some(repair(&reading.conversation, demands, OpenCalls::Wait)))
    }
}
