//! A short text in place of removed messages.
//!
//! The host asks a model for the text: a [`SummaryRequest`] has the question. Information that the model omitted and
//! that is probably needed is [added](lost_lines). If no model answers, [`account`] writes what happened without one.
//! Everything here takes text, returns text, and is linear in the removed messages.

mod account;
mod audit;
mod body;
mod cut;
mod facts;
mod one_liners;
mod prompt;
mod removed;
mod request;
mod source;
mod words;

pub use account::account;
pub use audit::lost_lines;
pub use body::{body, joined, parts, quoted};
pub use cut::bounded;
pub use prompt::SummaryPrompt;
pub use removed::Removed;
pub use request::{SummaryRequest, request};

use serde::{Deserialize, Serialize};

use crate::message::Text;
use crate::tokens::CountTokens;

/// The condition for a summary of removed messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Summaries {
    /// A plan asks for a summary if the host has a summarizer.
    #[default]
    Offered,
    /// Every plan that removes messages has a summary. Without a summarizer, an account is written without a model.
    Always,
    /// Every plan has one from the host. A plan that gets none is refused.
    Required,
}

/// The text that replaces a summary if no model writes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SummaryFallback {
    /// Requests, tools, files, statements, errors and open tasks, each under its heading.
    #[default]
    Sections,
    /// A line for each call, result and statement in order, as in the SRE agent.
    OneLiners,
}

impl SummaryFallback {
    /// Returns a text about `removed` in at most `tokens`, with as much of the notes about older messages as fits. The
    /// bytes are the same on every machine. O(length).
    pub fn text<T: Text>(self, removed: &Removed<'_, T>, tokens: usize, counter: &dyn CountTokens) -> String {
        match self {
            SummaryFallback::Sections => account(removed, tokens, counter),
            SummaryFallback::OneLiners => one_liners::one_liners(removed, tokens, counter),
        }
    }
}
