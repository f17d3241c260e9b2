//! Repairs faults that a provider would refuse, before anything is decided.

use super::{Engine, Reading};
use crate::error::Result;
use crate::invariants::Demand;
use crate::message::Text;
use crate::validity::{OpenCalls, Repaired, broken, demands_of, repair, shared_demands};
use crate::wire::{self, Format, Node};

/// The format of messages, and what their provider demands of them: where nothing tells formats apart, what all of them do.
///
/// The host decides where system messages are: some keep them in the list, and move them to where the provider wants them
/// when they send the list.
///
/// # Errors
/// `Message` or `Conversation` if they are of no format.
pub fn demands_of_messages<N: Node>(messages: &N, named: Option<Format>) -> Result<(Format, Vec<Demand>)> {
    let (format, mut demands) = match named {
        Some(format) => (format, demands_of(format).to_vec()),
        None => (wire::format_to_read(messages)?, shared_demands(&wire::formats_of(messages)?)),
    };
    demands.retain(|demand| *demand != Demand::SystemApart);
    Ok((format, demands))
}

impl Engine {
    /// Returns the form of the messages that a provider takes; `None` if it takes them unchanged. Calls that may still be
    /// answered are not broken. O(parts).
    ///
    /// # Errors
    /// `Message` if the policy repairs nothing.
    pub fn repaired<T: Text>(&self, reading: &Reading<T>, demands: &[Demand]) -> Result<Option<Repaired>> {
        let violations = broken(&reading.conversation, demands);
        let Some(first) = violations.first() else { return Ok(None) };
        if !self.policy.repair {
            return Err(first.refusal(reading.conversation.entry(first.message)));
        }
        Ok(Some(repair(&reading.conversation, demands, OpenCalls::Wait)))
    }
}
