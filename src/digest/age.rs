//! Age of messages, in tokens: a model mostly works next on what it has just seen.

use crate::ledger::Measured;

/// Distances below this many tokens hardly differ.
const NEAR: f64 = 100.0;

/// The part of its own message by which what is to be edited counts as nearer. Several files that are read at once stand in
/// one message: the first of them is no older than the last, and the model has worked with neither yet.
const WITHIN: f64 = 0.7;

/// Distance of each message from the end of the conversation.
#[derive(Debug)]
pub(super) struct Ages {
    /// Tokens from the beginning of each message to the end.
    since: Vec<f64>,
    /// Tokens of each message.
    own: Vec<f64>,
}

impl Ages {
    pub(super) fn of(tokens: &Measured, messages: usize) -> Ages {
        let own: Vec<f64> = (0..messages).map(|message| tokens.message(message) as f64).collect();
        let mut since = vec![0.0; messages];
        let mut sum = 0.0;
        for message in (0..messages).rev() {
            sum += own[message];
            since[message] = sum;
        }
        Ages { since, own }
    }

    /// The logarithm of the distance of a message, in hundreds of tokens.
    pub(super) fn log(&self, message: usize) -> f64 {
        libm::log1p(self.since[message] / NEAR)
    }

    /// The same from inside the message.
    pub(super) fn log_within(&self, message: usize) -> f64 {
        libm::log1p((self.since[message] - WITHIN * self.own[message]) / NEAR)
    }

    /// Position of a message in the conversation: 0 at the beginning, 1 at the end.
    pub(super) fn place(&self, message: usize) -> f64 {
        let all = self.since.first().copied().unwrap_or_default();
        if all == 0.0 { 1.0 } else { 1.0 - self.since[message] / all }
    }
}
