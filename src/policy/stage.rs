//! The steps of compaction, by name.

use serde::{Deserialize, Serialize};

/// One step of compaction. Their order in [`Policy::stages`](super::Policy::stages) is the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StageName {
    /// Moves older tool results to the store and leaves a preview and a reference.
    Offload,
    /// Shortens long tool results where they are.
    Compress,
    /// Leaves a line in place of what is superseded: said again, out of date, or in a file by now.
    Prune,
    /// Removes the oldest messages.
    Window,
    /// Keeps, of all that the others take away, the lines that are most likely needed.
    Digest,
    /// Says in a few words what was in them, where the engine has a summarizer.
    Summarize,
    /// Shortens what must stay, where the budget cannot be met in any other way.
    Trim,
}

impl StageName {
    /// Why the stage does what it does, for people.
    pub fn reason(self) -> &'static str {
        match self {
            StageName::Offload => "an older tool result; its preview and reference stay",
            StageName::Compress => "a long tool result; what is needed most in it stays",
            StageName::Prune => "what is superseded; a line stays that says so",
            StageName::Window => "the oldest messages that may go",
            StageName::Digest => "the lines most likely needed of what goes",
            StageName::Summarize => "what was in the messages that went",
            StageName::Trim => "the last level: what must stay, since nothing else was enough",
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
