//! The shortening of five other systems, which cut by characters, with their numbers and their words, for users who
//! rely on them.
//!
//! Each measures characters instead of tokens, and looks at the type of a value instead of its content. If a system's
//! words would make a text longer, the text stays unchanged.

mod json;
mod systems;

pub use json::{JsonSample, json_sample};

use serde::{Deserialize, Serialize};
use systems::{amplifier, cyber_autoagent, sre_agent, sre_agent_payload, supyagent, valis};

/// The method that shortens a tool's output as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compressor {
    /// By content type, to a number of tokens: [`super::compress`].
    #[default]
    Content,
    /// Results of 10,000 characters or more: the first 8,000 of a text, three keys of an object, three elements of a
    /// list.
    CyberAutoagent,
    /// The first 250 characters, and a hint to call the tool again.
    Amplifier,
    /// The first 1,000 and the last 500 characters of a text of more than 2,000.
    Supyagent,
    /// A guard: 200,000 characters of a text, 500 items of a list, a preview of 100,000 characters of anything else.
    SreAgent,
    /// Three samples of a list of more than 50 items, or of anything of more than 100,000 characters.
    SreAgentPayload,
    /// The first ten lines of a text above a number of tokens.
    Valis,
}

impl Compressor {
    /// All of them, in order.
    pub const ALL: [Compressor; 7] = [
        Compressor::Content,
        Compressor::CyberAutoagent,
        Compressor::Amplifier,
        Compressor::Supyagent,
        Compressor::SreAgent,
        Compressor::SreAgentPayload,
        Compressor::Valis,
    ];

    /// Returns the public name.
    pub fn name(self) -> &'static str {
        match self {
            Compressor::Content => "content",
            Compressor::CyberAutoagent => "cyber-autoagent",
            Compressor::Amplifier => "amplifier",
            Compressor::Supyagent => "supyagent",
            Compressor::SreAgent => "sre-agent",
            Compressor::SreAgentPayload => "sre-agent-payload",
            Compressor::Valis => "valis",
        }
    }

    /// True if it shortens texts above a number of tokens, and has no threshold of its own.
    pub fn counts_tokens(self) -> bool {
        matches!(self, Compressor::Content | Compressor::Valis)
    }

    /// Cuts `text` by characters; `None` if it stays unchanged, and for [`Compressor::Content`], which needs a budget.
    /// JSON is sampled by its keys or elements if the system does that. O(length).
    pub fn plain(self, text: &str) -> Option<Plain> {
        let cut = match self {
            Compressor::Content => None,
            Compressor::CyberAutoagent => cyber_autoagent(text),
            Compressor::Amplifier => amplifier(text).map(Plain::text),
            Compressor::Supyagent => supyagent(text).map(Plain::text),
            Compressor::SreAgent => sre_agent(text),
            Compressor::SreAgentPayload => sre_agent_payload(text),
            Compressor::Valis => Some(Plain::text(valis(text))),
        };
        cut.filter(|cut| cut.text.len() < text.len())
    }
}

/// A text that was cut by characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    /// The shortened text.
    pub text: String,
    /// The content type of the original.
    pub content: PlainContent,
}

/// The types that these systems distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainContent {
    /// Plain text.
    Text,
    /// A JSON object with this many keys.
    Object(usize),
    /// A JSON list with this many elements.
    List(usize),
}

impl Plain {
    fn text(text: String) -> Plain {
        Plain { text, content: PlainContent::Text }
    }
}

/// Returns the first `count` characters, or all of them if there are fewer.
fn first(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

/// Returns the last `count` characters, or all of them if there are fewer.
fn last(text: &str, count: usize) -> &str {
    let start = text.char_indices().rev().take(count).last().map_or(text.len(), |(start, _)| start);
    &text[start..]
}

fn length(text: &str) -> usize {
    text.chars().count()
}
