//! A plan: its edits, and their total effect.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::budget::Budget;
use crate::edit::{Action, Edit, ItemPlace, NoteAnswer, NotePlace};
use crate::ledger::Measured;
use crate::message::{Conversation, Role, Spans, Text};
use crate::report::{Report, StageReport, SummaryReport};
use crate::store::{NOTE_ANSWER, Reference};
use crate::wire::{Arguments, Change, Format};

/// The place of an artifact's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The text of an item of a tool result.
    Item(ItemPlace),
    /// The text of a reasoning part, or the arguments of a call.
    Part {
        /// Index of the message.
        message: usize,
        /// Index of the part in the message.
        part: usize,
    },
    /// Removed messages, as JSON lines.
    Transcript {
        /// Lines before the messages, with the references of messages that were removed earlier.
        notes: String,
        /// The messages.
        messages: Range<usize>,
    },
}

/// Content to be stored before a plan is applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its name.
    pub reference: Reference,
    /// The tool that returned it.
    pub tool: String,
    /// Place of the content.
    pub source: Source,
}

/// A summary that a plan waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingSummary {
    /// The edit with the note that will contain it.
    pub(super) edit: usize,
    /// Tokens that the note may grow by.
    pub(super) room: usize,
    /// Tokens that the summary may take.
    pub tokens: usize,
}

impl PendingSummary {
    /// True if one of `edits` has its note, and it fits into the `room` left in the budget.
    pub(super) fn fits(self, edits: &[Edit], room: usize) -> bool {
        let is_noted = edits.get(self.edit).is_some_and(|edit| matches!(edit.action, Action::Remove { .. }));
        is_noted && self.tokens <= self.room && self.room <= room
    }
}

/// The changes to a conversation, their reasons, and the resulting sizes. A plan by itself changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The wire format of the conversation.
    pub format: Format,
    /// The entries of the messages that it was made for.
    pub spans: Spans,
    /// Digest of the conversation. A plan fits only this one.
    pub fingerprint: u128,
    /// The budget that it had to fit.
    pub budget: Budget,
    /// Tokens of the messages before.
    pub tokens_before: usize,
    /// Tokens of the messages after.
    pub tokens_after: usize,
    /// Tokens before the first changed message, which stay in the provider's prompt cache.
    pub unchanged: usize,
    /// The edits, in the order of the conversation.
    pub edits: Vec<Edit>,
    /// Content that must be stored first.
    pub artifacts: Vec<Artifact>,
    /// The summary that the plan waits for. It can be applied without one.
    pub pending: Option<PendingSummary>,
    /// The summary in the plan.
    pub summary: Option<SummaryReport>,
    /// Goals that were not reached.
    pub warnings: Vec<String>,
    /// Repairs that were made to the messages first. Indices refer to the repaired list.
    pub repairs: Vec<String>,
}

impl Plan {
    /// Returns the plan that changes nothing. O(messages).
    pub fn idle<T: Text>(conversation: &Conversation<T>, tokens: &Measured, format: Format, budget: Budget) -> Plan {
        let total = tokens.total();
        Plan {
            format,
            spans: conversation.spans(),
            fingerprint: tokens.digest(0..conversation.messages.len()),
            budget,
            tokens_before: total,
            tokens_after: total,
            unchanged: total,
            edits: Vec::new(),
            artifacts: Vec::new(),
            pending: None,
            summary: None,
            warnings: Vec::new(),
            repairs: Vec::new(),
        }
    }

    /// Returns the tokens that the provider must cache again.
    pub fn rewritten(&self) -> usize {
        self.tokens_after.saturating_sub(self.unchanged)
    }

    /// Returns the removed messages.
    pub fn removals(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.edits.iter().filter_map(|edit| match &edit.action {
            Action::Remove { messages, .. } => Some(messages.clone()),
            Action::Shorten { .. } | Action::Rewrite { .. } | Action::Drop { .. } => None,
        })
    }

    /// Returns the plan that does nothing, with this reason.
    #[must_use]
    pub fn postponed(self, reason: &str) -> Plan {
        let warnings = std::iter::once(reason).chain(self.warnings.iter().map(String::as_str));
        let warnings = vec![warnings.collect::<Vec<_>>().join("; ")];
        Plan {
            tokens_after: self.tokens_before,
            unchanged: self.tokens_before,
            edits: Vec::new(),
            artifacts: Vec::new(),
            warnings,
            ..self
        }
    }

    /// Returns the outcome as a list of changes, one for each remaining message. O(messages + edits).
    pub fn changes(&self) -> Vec<Change<'_>> {
        let mut kept: Vec<Option<Change<'_>>> =
            (0..self.spans.messages()).map(|message| Some(Change::Keep { message })).collect();
        let mut inserts: Vec<(usize, Role, &str)> = Vec::new();
        for edit in &self.edits {
            match &edit.action {
                Action::Shorten { place, text } => {
                    editing(&mut kept, place.message).items.push((place.part, place.item, text));
                }
                Action::Rewrite { message, part, arguments } => {
                    editing(&mut kept, *message).calls.push((*part, arguments));
                }
                Action::Drop { message, part } => editing(&mut kept, *message).drop.push(*part),
                Action::Remove { messages, note } => {
                    kept[messages.clone()].fill(None);
                    match &note.standing {
                        NotePlace::In { message, instead_of, answer } => {
                            if *answer == NoteAnswer::Follows {
                                inserts.push((messages.start, Role::Assistant, NOTE_ANSWER));
                            }
                            let MessageEdits { drop, append, .. } = editing(&mut kept, *message);
                            drop.extend(instead_of);
                            append.push(&note.text);
                        }
                        NotePlace::Own { before, role, answer } => {
                            inserts.push((*before, *role, &note.text));
                            if *answer == NoteAnswer::Follows {
                                inserts.push((*before, role.other(), NOTE_ANSWER));
                            }
                        }
                    }
                }
            }
        }
        inserts.sort_by_key(|(before, ..)| *before);
        let mut inserts = inserts.into_iter().peekable();
        let mut changes = Vec::with_capacity(self.spans.messages());
        for (index, change) in kept.into_iter().enumerate() {
            while let Some((_, role, text)) = inserts.next_if(|(before, ..)| *before == index) {
                changes.push(Change::Insert { role, text });
            }
            changes.extend(change);
        }
        changes
    }

    /// Returns the figures of the plan.
    pub fn report(&self) -> Report {
        let mut report = Report {
            tokens_before: self.tokens_before,
            tokens_after: self.tokens_after,
            rewritten: self.rewritten(),
            budget: self.budget.limit,
            removed_messages: self.removals().map(|range| self.spans.entries(range).len()).sum(),
            references: self.artifacts.iter().map(|artifact| artifact.reference.to_string()).collect(),
            first_changed: self
                .edits
                .iter()
                .map(Edit::first_message)
                .min()
                .map(|first| self.spans.entries(first..first).start),
            summary: self.summary,
            warnings: self.warnings.clone(),
            repairs: self.repairs.clone(),
            ..Report::default()
        };
        for edit in &self.edits {
            let stage: &mut StageReport = report.stages.entry(edit.stage).or_default();
            stage.edits += 1;
            // A plan that was read back may have any number.
            stage.saved = stage.saved.saturating_add(edit.saved());
        }
        report
    }

    /// Returns the references in marks that the plan trusts. The text cut after those marks is not stored again.
    pub fn relied_on(&self) -> impl Iterator<Item = &Reference> {
        let stored: HashSet<&Reference> = self.artifacts.iter().map(|artifact| &artifact.reference).collect();
        self.edits
            .iter()
            .filter_map(|edit| edit.reference.as_ref())
            .filter(move |reference| !stored.contains(reference))
    }

    /// Returns the edits as JSON. Indices refer to the caller's list.
    pub fn edits_json(&self) -> Value {
        self.edits.iter().map(|edit| edit.to_json(&self.spans)).collect()
    }

    /// Returns the plan as JSON. [`Plan::from_json`] reads its key `replay`.
    pub fn to_json(&self) -> Value {
        json!({
            "format": self.format.name(),
            "messages": self.spans.count(),
            "fingerprint": format!("{:032x}", self.fingerprint),
            "budget": { "limit": self.budget.limit, "high": self.budget.high, "low": self.budget.low },
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "rewritten": self.rewritten(),
            "edits": self.edits_json(),
            "references": self.artifacts.iter().map(|artifact| artifact.reference.as_str()).collect::<Vec<_>>(),
            "pending": self.pending.as_ref().map(|pending| json!({ "summary_tokens": pending.tokens })),
            "summary": self.summary,
            "warnings": self.warnings,
            "repairs": self.repairs,
            "replay": self.exact(),
        })
    }
}

/// The parts of a message's edit.
struct MessageEdits<'e, 'a> {
    items: &'e mut Vec<(usize, usize, &'a str)>,
    drop: &'e mut Vec<usize>,
    append: &'e mut Vec<&'a str>,
    calls: &'e mut Vec<(usize, &'a Arguments)>,
}

/// Returns the parts of the edit of `message`, and marks the message as edited.
fn editing<'e, 'a>(kept: &'e mut [Option<Change<'a>>], message: usize) -> MessageEdits<'e, 'a> {
    let slot = &mut kept[message];
    if !matches!(slot, Some(Change::Edit { .. })) {
        *slot = Some(Change::Edit { message, items: vec![], drop: vec![], append: vec![], calls: vec![] });
    }
    match slot {
        Some(Change::Edit { items, drop, append, calls, .. }) => MessageEdits { items, drop, append, calls },
        _ => unreachable!("the slot was just made an edit"),
    }
}
