//! The steps of compaction, by name.

use serde::{Deserialize, Serialize};

/// One step of compaction. Steps run in the order of [`Policy::stages`](super::Policy::stages).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StageName {
    /// Moves older tool results to the store, and leaves a preview and a reference.
    Offload,
    /// Shortens long tool results in place.
    Compress,
    /// Replaces superseded content by a line: content that is repeated, outdated, or written to a file.
    Prune,
    /// Removes the oldest messages.
    Window,
    /// Keeps the removed lines that will most likely be needed.
    Digest,
    /// Adds a summary of the removed messages, if the engine has a summarizer.
    Summarize,
    /// Shortens messages that must stay, if the budget cannot be met in any other way.
    Trim,
}

impl StageName {
    /// The reason for the stage's edits, for people.
    pub fn reason(self) -> &'static str {
        match self {
            StageName::Offload => "an older tool result; its preview and reference stay",
            StageName::Compress => "a long tool result; its most useful lines stay",
            StageName::Prune => "superseded content; a line that says so stays",
            StageName::Window => "the oldest messages that may be removed",
            StageName::Digest => "the most useful lines of the removed messages",
            StageName::Summarize => "a summary of the removed messages",
            StageName::Trim => "the last level: messages that must stay, because nothing else was enough",
        }
    }

    /// The public name.
    pub fn name(self) -> &'static str {
        match self {
            StageName::Offload => "offload",
            StageName::Compress => "compress",
            StageName::Prune => "prune",
            StageName::Window => "window",
            StageName::Digest => "digest",
            StageName::Summarize => "summarize",
            StageName::Trim => "trim",
        }
    }
}
