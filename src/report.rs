//! Reports about a compaction, the state of a conversation, and the work of an engine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::economics::Savings;
use crate::policy::StageName;

/// The effect of one stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct StageReport {
    /// Number of its edits.
    pub edits: usize,
    /// Tokens that they saved.
    pub saved: usize,
}

/// The author of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummaryBy {
    /// The host's summarizer.
    Summarizer,
    /// The engine, without a model.
    Engine,
}

/// A summary in place of removed messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryReport {
    /// The author.
    pub by: SummaryBy,
    /// Tokens of the summary, including the added lines.
    pub tokens: usize,
    /// Number of the added lines.
    pub lines: usize,
}

/// The outcome of one compaction.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// Tokens of the messages before.
    pub tokens_before: usize,
    /// Tokens of the messages after.
    pub tokens_after: usize,
    /// Tokens from the first changed message on, which the provider must cache again.
    pub rewritten: usize,
    /// The limit for the messages.
    pub budget: usize,
    /// The stages that changed something.
    pub stages: BTreeMap<StageName, StageReport>,
    /// Number of removed messages.
    pub removed_messages: usize,
    /// References of stored content.
    pub references: Vec<String>,
    /// Index of the first changed message. From there on the provider's prompt cache is useless.
    pub first_changed: Option<usize>,
    /// The summary in place of the removed messages, if there is one.
    pub summary: Option<SummaryReport>,
    /// Goals that were not reached, and problems that occurred.
    pub warnings: Vec<String>,
    /// Repairs of messages that a provider would have refused.
    pub repairs: Vec<String>,
}

/// The state of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Tokens of the messages.
    pub tokens: usize,
    /// Context window of the model.
    pub window: usize,
    /// Tokens of the window for the system prompt and the tool definitions, or more if reports show more.
    pub fixed: usize,
    /// Tokens that the messages may take.
    pub available: usize,
    /// A compaction starts above this.
    pub high: usize,
    /// A compaction goes down to this.
    pub low: usize,
    /// The compaction that is due: `none`, `soft` above the high mark or the allowed number of messages, `hard` above
    /// the available tokens.
    pub due: &'static str,
    /// Tokens by kind of content.
    pub parts: BTreeMap<&'static str, usize>,
    /// The message that takes up the most room, and a remedy, as a sentence for people.
    pub largest: Option<String>,
}

/// The totals of an engine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Stats {
    /// Number of compactions that changed something.
    pub compactions: usize,
    /// Number of tool results shrunk at arrival.
    pub shrinks: usize,
    /// Tokens saved, by stage; `shrink` is the saving at arrival.
    pub saved: BTreeMap<&'static str, usize>,
    /// The requests with reported tokens, beside those of doing nothing.
    pub savings: Savings,
}

impl Stats {
    /// Adds a compaction.
    pub fn add_report(&mut self, report: &Report) {
        if report.stages.is_empty() {
            return;
        }
        self.compactions += 1;
        for (stage, part) in &report.stages {
            *self.saved.entry(stage.name()).or_default() += part.saved;
        }
    }

    /// Adds a tool result that was shrunk at arrival.
    pub fn add_shrink(&mut self, saved: usize) {
        self.shrinks += 1;
        *self.saved.entry("shrink").or_default() += saved;
    }
}
