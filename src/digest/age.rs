//! The age of messages in tokens. A model mostly works on what it has seen recently.

use crate::ledger::Measured;

/// Distances of fewer tokens than this hardly differ.
const NEAR: f64 = 100.0;

/// Fraction of its own message by which text to be edited counts as newer. Several files that were read at once are in
/// one message: the first is no older than the last, because the model has worked with neither yet.
const WITHIN: f64 = 0.7;

/// The distance of each message from the end of the conversation.
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

    /// Returns the logarithm of a message's distance, in hundreds of tokens.
    pub(super) fn log(&self, message: usize) -> f64 {
        libm::log1p(self.since[message] / NEAR)
    }

    /// Returns the same for text inside the message.
    pub(super) fn log_within(&self, message: usize) -> f64 {
        libm::log1p((self.since[message] - WITHIN * self.own[message]) / NEAR)
    }

    /// Returns the position of a message in the conversation: 0 at the beginning, 1 at the end.
    pub(super) fn place(&self, message: usize) -> f64 {
        let all = self.since.first().copied().unwrap_or_default();
        if all == 0.0 { 1.0 } else { 1.0 - self.since[message] / all }
    }
}
