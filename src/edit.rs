//! Edits: the changes of a plan, as data.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::message::{Role, Spans};
use crate::policy::StageName;
use crate::store::Reference;
use crate::wire::{Arguments, Step};

/// One item of a tool result. A text of a message is an item too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ItemPlace {
    /// Index of the message.
    pub message: usize,
    /// Index of the block in the message.
    pub part: usize,
    /// Index of the item in the block's result.
    pub item: usize,
}

/// The action of an edit. Indices are those of the conversation before any edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Replaces an item of a tool result, or a text of a message, with this text.
    Shorten {
        /// The position of the item or text.
        place: ItemPlace,
        /// The new text.
        text: String,
    },
    /// Shortens texts in the arguments of a call.
    Rewrite {
        /// Index of the message.
        message: usize,
        /// Index of the call in the message.
        part: usize,
        /// The new arguments.
        arguments: Arguments,
    },
    /// Removes a part.
    Drop {
        /// Index of the message.
        message: usize,
        /// Index of the part in the message.
        part: usize,
    },
    /// Replaces messages with a note.
    Remove {
        /// The messages.
        messages: Range<usize>,
        /// The note, and its position.
        note: Note,
    },
}

/// A note about removed messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its text.
    pub text: String,
    /// The position of the note.
    pub standing: NotePlace,
}

/// The position of a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotePlace {
    /// The last block of a kept message, in place of older notes there.
    In {
        /// The message.
        message: usize,
        /// Blocks of the message with older notes, which are removed.
        instead_of: Vec<usize>,
        /// `Follows` if the gap also contains an answer.
        answer: NoteAnswer,
    },
    /// A message of its own, with an answer if roles require one.
    Own {
        /// The message after it.
        before: usize,
        /// The role of the message.
        role: Role,
        /// `Follows` if the other role answers.
        answer: NoteAnswer,
    },
}

/// The answer after a note that is a message of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteAnswer {
    /// The note stands alone.
    None,
    /// A message of the other role follows.
    Follows,
}

/// One edit, with its reason and its effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The stage that proposed it.
    pub stage: StageName,
    /// The action.
    pub action: Action,
    /// Tokens of the affected content before the edit.
    pub tokens_before: usize,
    /// Tokens of the affected content after the edit.
    pub tokens_after: usize,
    /// The reference of the original, if it was stored.
    pub reference: Option<Reference>,
    /// The reason, if the content was superseded.
    pub superseded_by: Option<String>,
}

impl Edit {
    /// Returns the reason, for people.
    pub fn why(&self) -> String {
        match &self.superseded_by {
            Some(by) => format!("superseded by {by}"),
            None => self.stage.reason().to_owned(),
        }
    }

    /// Returns the tokens that it saves.
    pub fn saved(&self) -> usize {
        self.tokens_before.saturating_sub(self.tokens_after)
    }

    /// Returns the indices of the messages that it changes.
    pub fn touches(&self) -> impl Iterator<Item = usize> + '_ {
        let (messages, one) = match &self.action {
            Action::Shorten { place: ItemPlace { message, .. }, .. }
            | Action::Rewrite { message, .. }
            | Action::Drop { message, .. } => (0..0, Some(*message)),
            Action::Remove { messages, note } => match note.standing {
                NotePlace::In { message, .. } => (messages.clone(), Some(message)),
                NotePlace::Own { .. } => (messages.clone(), None),
            },
        };
        one.into_iter().chain(messages)
    }

    /// Returns the index of the first message that it changes or inserts something before.
    pub fn first_message(&self) -> usize {
        let beside = match &self.action {
            Action::Remove { note: Note { standing: NotePlace::Own { before, .. }, .. }, .. } => Some(*before),
            _ => None,
        };
        self.touches().chain(beside).min().unwrap_or_default() // OK because an edit touches at least one.
    }

    /// Returns the edit as JSON. Its indices are those of the caller's list.
    pub fn to_json(&self, spans: &Spans) -> Value {
        let mut out = json!({
            "stage": self.stage.name(),
            "why": self.why(),
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "reference": self.reference.as_ref().map(Reference::as_str),
        });
        match &self.action {
            Action::Shorten { place, text } => {
                out["action"] = json!("shorten");
                let (entry, part) = spans.place(place.message, place.part);
                out["place"] = json!({ "message": entry, "part": part, "item": place.item });
                out["text"] = json!(text);
            }
            Action::Rewrite { message, part, arguments } => {
                out["action"] = json!("rewrite");
                let (entry, part) = spans.place(*message, *part);
                out["place"] = json!({ "message": entry, "part": part });
                let steps = |steps: &[Step]| steps.iter().map(step_json).collect::<Vec<_>>();
                let texts = arguments.texts.iter().map(|(at, text)| json!({ "at": steps(at), "text": text }));
                out["texts"] = texts.collect();
            }
            Action::Drop { message, part } => {
                out["action"] = json!("drop");
                let (entry, part) = spans.place(*message, *part);
                out["place"] = json!({ "message": entry, "part": part });
            }
            Action::Remove { messages, note } => {
                out["action"] = json!("remove");
                let entries = spans.entries(messages.clone());
                out["messages"] = json!([entries.start, entries.end]);
                out["note"] = json!(note.text);
                out["note_in"] = match &note.standing {
                    NotePlace::In { message, .. } => json!(spans.entries(*message..message + 1).end - 1),
                    NotePlace::Own { role, .. } => json!(role.name()),
                };
            }
        }
        out
    }
}

fn step_json(step: &Step) -> Value {
    match step {
        Step::Field(name) => json!(name),
        Step::Element(index) => json!(index),
    }
}
