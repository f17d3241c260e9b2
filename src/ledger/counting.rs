//! A ledger at one moment.

use crate::message::{Conversation, Text};
use crate::tokens::{CountTokens, MediaRule, Overhead, Precision, Scale, TextKind};

use super::Ledger;
use super::measured::Measured;
use super::measuring::{Texts, add_up};

/// A ledger at one moment: all counts have the same scale.
#[derive(Debug, Clone, Copy)]
pub struct Counting<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) scale: Scale,
}

impl Counting<'_> {
    /// Returns the learned scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Returns the tokens of every message of `conversation`. Computes the digest of each text that the host does not
    /// know, O(length) at memory speed. Counts only new texts, on several threads if they are long.
    pub fn measure<T: Text + Sync>(&self, conversation: &Conversation<T>) -> Measured {
        let texts = Texts::of(conversation);
        let counts = self.ledger.count_all(&texts);
        add_up(conversation, &texts, &counts, &*self.ledger.counter, self.scale)
    }

    /// Returns the tokens of a text that is counted often, such as a system prompt. O(length) at memory speed if it was
    /// counted before.
    pub fn count_remembered<T: Text + ?Sized>(&self, text: &T, kind: TextKind) -> usize {
        self.scale.of(self.ledger.count_text(text, kind))
    }
}

impl CountTokens for Counting<'_> {
    fn name(&self) -> &str {
        self.ledger.counter.name()
    }

    fn count(&self, text: &str, kind: TextKind) -> usize {
        self.scale.of(self.ledger.counter.count(text, kind))
    }

    fn fits(&self, text: &str, kind: TextKind, limit: usize) -> bool {
        self.ledger.counter.fits(text, kind, self.scale.most_within(limit))
    }

    fn overhead(&self) -> Overhead {
        self.ledger.counter.overhead().map(|tokens| self.scale.of(tokens))
    }

    fn precision(&self) -> Precision {
        if self.scale == Scale::ONE { self.ledger.counter.precision() } else { Precision::Estimated }
    }

    fn media_rule(&self) -> MediaRule {
        self.ledger.counter.media_rule()
    }
}
