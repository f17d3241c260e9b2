//! Counts tokens.
//!
//! A [`CountTokens`] returns the tokens of a text. [`Exact`] runs the published byte-pair encodings. [`Estimate`]
//! serves model families without a public tokenizer. [`counter_for_model`] chooses one by a model's id, and
//! [`limits_of_model`] returns the model's limits.

mod bpe;
mod estimate;
mod media;
mod models;

pub use bpe::{Encoding, Exact, Pieces};
pub use estimate::{Calibration, Estimate, Learned, NAMED_RATIOS, Remainder, Scale, ratio_named};
pub use media::MediaRule;
pub use models::{
    Family, KNOWN_LIMITS, ModelLimits, by_beginning, counter_for_model, family_of_model, limits_of_model,
};

use std::fmt::Debug;

/// The kind of a text, for counters whose ratio depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// Words of a person or a model.
    Prose,
    /// JSON: the arguments of a tool call, a structured result.
    Json,
    /// Output of a tool: logs, listings, code, search results.
    ToolOutput,
    /// The id of a tool call, which only some providers write.
    Identifier,
}

/// Tokens that the provider adds around the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overhead {
    /// For each message: role markers and separators.
    pub message: usize,
    /// For a tool call: its framing.
    pub call: usize,
    /// For a tool result: its framing.
    pub result: usize,
    /// For a block of reasoning.
    pub reasoning: usize,
    /// For each other content block.
    pub block: usize,
}

impl Overhead {
    /// No overhead.
    pub const NONE: Overhead = Overhead { message: 0, call: 0, result: 0, reasoning: 0, block: 0 };

    /// Applies `change` to each number.
    #[must_use]
    pub fn map(self, change: impl Fn(usize) -> usize) -> Overhead {
        Overhead {
            message: change(self.message),
            call: change(self.call),
            result: change(self.result),
            reasoning: change(self.reasoning),
            block: change(self.block),
        }
    }

    /// Returns `message` tokens for each message and `block` tokens for each block of any kind.
    pub const fn even(message: usize, block: usize) -> Overhead {
        Overhead { message, call: block, result: block, reasoning: block, block }
    }
}

/// The accuracy of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Token for token as the published tokenizer. No report changes it.
    Exact,
    /// Approximate. The provider's reports improve it.
    Estimated,
}

/// Returns the tokens of a text.
///
/// An implementation is deterministic: the same text and kind give the same count on every machine. A method that a
/// wrapper could forget to pass on has no default here.
pub trait CountTokens: Debug + Send + Sync {
    /// Returns a name for people: the encoding or the family.
    fn name(&self) -> &str;

    /// Returns the number of tokens in `text`. O(length).
    fn count(&self, text: &str, kind: TextKind) -> usize;

    /// True if `text` takes at most `limit` tokens. Stops reading once the answer is known.
    fn fits(&self, text: &str, kind: TextKind, limit: usize) -> bool {
        self.count(text, kind) <= limit
    }

    /// Returns the tokens of each message and block beside its text.
    fn overhead(&self) -> Overhead;

    /// Returns the accuracy of the counts.
    fn precision(&self) -> Precision;

    /// Returns the rule for images, documents, sound and video.
    fn media_rule(&self) -> MediaRule;
}
