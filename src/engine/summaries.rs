//! Summaries of removed messages, and of messages that the host chooses.

use std::ops::Range;

use serde::Serialize;

use super::{Engine, Reading};
use crate::error::{Error, Result};
use crate::invariants::{CutPoints, Pairs};
use crate::message::{Conversation, Pin, Role, Text};
use crate::planner::{Plan, SummaryAnswer, request_of, resumed, worded};
use crate::policy::StageName;
use crate::report::SummaryBy;
use crate::summary::{Removed, Summaries, SummaryRequest, body, lost_lines, request};

/// The presence of a summarizer in the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summarizer {
    /// The host has one, which answers the requests of [`Engine::request`].
    Present,
    /// The host has none.
    Absent,
}

/// Messages that a host chose for a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRange<'a> {
    /// Their places in the caller's list. System messages and pinned messages are kept, with the calls and results that
    /// belong to them.
    pub entries: Range<usize>,
    /// The previous summary, which this one continues; empty if there is none.
    pub previous: &'a str,
    /// The lines that belong to the previous summary.
    pub previous_lines: &'a str,
}

/// A summary of messages that a host chose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RangeSummary {
    /// The summary.
    pub text: String,
    /// Lines of the messages with information that the text does not have; may be empty.
    pub lines: String,
    /// The summarized messages, as places in the caller's list.
    pub messages: Vec<Range<usize>>,
    /// The author of the text.
    pub by: SummaryBy,
    /// Warnings about anything that went wrong.
    pub warnings: Vec<String>,
}

impl Engine {
    /// Returns the request for a summary of `chosen`. O(length of the chosen messages).
    ///
    /// # Errors
    /// `Conversation` if the places are not in the list.
    pub fn request_for<T: Text + Sync>(
        &self,
        reading: &Reading<T>,
        chosen: &SummaryRange<'_>,
    ) -> Result<SummaryRequest> {
        let counter = self.ledger.now();
        let (removed, measured) = (chosen.removed_messages(reading)?, counter.measure(&reading.conversation));
        let sizes: Vec<usize> = removed.messages().map(|message| measured.message(message)).collect();
        Ok(request(
            &removed,
            &sizes,
            self.policy.summary_prompt,
            self.policy.summary_tokens,
            self.policy.summary_input,
            &counter,
        ))
    }

    /// Returns the summary of `chosen`: the answer in at most the policy's `summary_tokens`, or an account written
    /// without a model. Lines with information that the text does not have are added. O(length of the conversation).
    ///
    /// # Errors
    /// `Conversation` if the places are not in the list.
    pub fn summary_of<T: Text + Sync>(
        &self,
        reading: &Reading<T>,
        chosen: &SummaryRange<'_>,
        answer: SummaryAnswer<'_>,
    ) -> Result<RangeSummary> {
        let counter = self.ledger.now();
        let (removed, measured) = (chosen.removed_messages(reading)?, counter.measure(&reading.conversation));
        let mut warnings = Vec::new();
        let policy = &self.policy;
        let (text, by) =
            worded(&removed, answer, policy.summary_tokens, policy.summary_fallback, &counter, &mut warnings);
        let lines = lost_lines(&removed, &measured, vec![&*text], policy.summary_lines, &counter);
        let spans = reading.conversation.spans();
        let Range { start, end } = chosen.entries;
        let clipped = |entries: Range<usize>| entries.start.max(start)..entries.end.min(end);
        let messages = removed.ranges.iter().map(|range| clipped(spans.entries(range.clone()))).collect();
        Ok(RangeSummary { text, lines, messages, by, warnings })
    }

    /// Returns the engine for a host with or without a summarizer. With one, a plan that removes messages waits for its
    /// summary.
    #[must_use]
    pub fn with_summarizer(self, summarizer: Summarizer) -> Engine {
        Engine { summarizer, ..self }
    }

    /// True if plans that remove messages wait for a summary.
    pub(super) fn summarizes(&self) -> bool {
        let asked = self.summarizer == Summarizer::Present || self.policy.summaries != Summaries::Offered;
        asked && self.policy.stages.contains(&StageName::Summarize)
    }

    /// Returns the request to a model for the summary that `plan` waits for; `None` if it waits for none.
    /// `conversation` is the value that [`check`](super::check) returned. O(length of the removed messages).
    pub fn request<T: Text + Sync>(&self, plan: &Plan, conversation: &Conversation<T>) -> Option<SummaryRequest> {
        request_of(plan, conversation, &self.policy, self.ledger.now())
    }

    /// Returns the plan with the summary that it waits for, still within its budget; any other plan is returned
    /// unchanged. If the answer has no text, the engine writes an account without a model, and the report gives the
    /// reason. `conversation` is the value that [`check`](super::check) returned for the messages. O(length of the
    /// conversation).
    pub fn resume<T: Text + Sync>(
        &self,
        plan: &Plan,
        conversation: &Conversation<T>,
        answer: SummaryAnswer<'_>,
    ) -> Plan {
        let (plan, counter) = (plan.clone(), self.ledger.now());
        // Checked first, because measuring reads everything.
        if plan.pending.is_none() {
            return plan;
        }
        resumed(plan, conversation, &counter.measure(conversation), answer, &self.policy, counter)
    }
}

impl SummaryRange<'_> {
    /// Returns the chosen messages without those that are kept.
    fn removed_messages<'b, T: Text>(&self, reading: &'b Reading<T>) -> Result<Removed<'b, T>> {
        let conversation = &reading.conversation;
        let count = conversation.spans().count();
        let Range { start, end } = self.entries;
        if start > end || end > count {
            return Err(Error::Conversation {
                problem: format!("the range {start}..{end} is not in the list of {count} messages"),
                remedy: "give the first message and the one after the last".to_owned(),
            });
        }
        // A message of several entries, such as the results of parallel calls, is included whole if one entry is
        // chosen.
        let all = &conversation.messages;
        let first = all.partition_point(|message| message.span.entries().end <= start);
        let messages = first..all.partition_point(|message| message.span.entries().start < end);
        let is_fixed = |message: usize| all[message].pin == Pin::Pinned || all[message].role == Role::System;
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for group in CutPoints::of(conversation, &Pairs::of(conversation)).groups() {
            let part = group.start.max(messages.start)..group.end.min(messages.end);
            if part.is_empty() || group.clone().any(is_fixed) {
                continue;
            }
            match ranges.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ => ranges.push(part),
            }
        }
        let previous = body(self.previous, &[self.previous_lines]);
        Ok(Removed::of(conversation, ranges, std::iter::once(&*previous)))
    }
}
