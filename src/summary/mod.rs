//! A short text in place of messages that leave a conversation.
//!
//! The words come from a model that the host asks: a [`SummaryRequest`] says what to ask. What the model left out that is
//! likely to be needed is [looked up again](lost_lines), and where no model answers, [`account`] says without one what
//! happened. Everything here is text in, text out, and linear in the messages that leave.

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

/// When removed messages get a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Summaries {
    /// Where the host has something that makes them.
    #[default]
    Offered,
    /// Also without: then what happened is said without a model.
    Always,
    /// Always by the host's own means; a plan that gets none is refused.
    Required,
}

/// What is said where no model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SummaryFallback {
    /// Requests, tools, files, statements, errors and open tasks, each under its heading.
    #[default]
    Sections,
    /// A line for each call, result and statement in their order, as the SRE agent does.
    OneLiners,
}

impl SummaryFallback {
    /// What `removed` comes to in at most `tokens`, and as much of what was said of older messages as goes with it.
    /// The same bytes on every machine. O(length).
    pub fn text<T: Text>(self, removed: &Removed<'_, T>, tokens: usize, counter: &dyn CountTokens) -> String {
        match self {
            SummaryFallback::Sections => account(removed, tokens, counter),
            SummaryFallback::OneLiners => one_liners::one_liners(removed, tokens, counter),
        }
    }
}
