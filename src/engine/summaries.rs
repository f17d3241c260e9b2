//! Plans that wait for a summary.

use super::Engine;
use crate::message::{Conversation, Text};
use crate::planner::{Answer, Plan, request_of, resumed};
use crate::policy::StageName;
use crate::summary::{Summaries, SummaryRequest};

/// Whether the host has something that makes summaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summarizer {
    /// It answers what [`Engine::request`] asks.
    Present,
    /// There is none.
    Absent,
}

impl Engine {
    /// The same for a host with or without a summarizer: with one, a plan that removes messages waits for its words.
    #[must_use]
    pub fn with_summarizer(self, summarizer: Summarizer) -> Engine {
        Engine { summarizer, ..self }
    }

    /// Whether plans that remove messages wait for a summary.
    pub(super) fn summarizes(&self) -> bool {
        let asked = self.summarizer == Summarizer::Present || self.policy.summaries != Summaries::Offered;
        asked && self.policy.stages.contains(&StageName::Summarize)
    }

    /// What `plan` asks a model for; `None` where it waits for no summary. `conversation` is what [`check`](super::check)
    /// gave for the messages. O(length of what it removes).
    pub fn request<T: Text + Sync>(&self, plan: &Plan, conversation: &Conversation<T>) -> Option<SummaryRequest> {
        request_of(plan, conversation, &self.policy, self.ledger.now())
    }

    /// The plan with the summary that it waits for, within its budget as before; any other plan as it is. Where the answer
    /// has no words, the engine says what happened as far as it can without a model, and the report gives the reason.
    /// `conversation` is what [`check`](super::check) gave for the messages. O(length of the conversation).
    pub fn resume<T: Text + Sync>(&self, plan: &Plan, conversation: &Conversation<T>, answer: Answer<'_>) -> Plan {
        let (plan, counter) = (plan.clone(), self.ledger.now());
        // To measure reads everything.
        if plan.pending.is_none() {
            return plan;
        }
        resumed(plan, conversation, &counter.measure(conversation), answer, &self.policy, counter)
    }
}
