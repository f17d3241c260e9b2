//! Checks that a plan is consistent and fits a conversation. A plan made by the engine always is. A plan that was read
//! from data may have any content.

use std::ops::Range;

use super::plan::{Plan, Source};
use crate::edit::{Action, Edit, ItemPlace, NotePlace};
use crate::error::{Error, Result};
use crate::message::{Conversation, Part, Text};

impl Plan {
    /// Checks that edits and artifacts refer to existing messages, in order, and that no edit refers to a message that
    /// another edit removes. O(messages + edits).
    ///
    /// # Errors
    /// The wrong key, and the problem.
    pub(super) fn is_whole(&self) -> Result<(), (String, &'static str)> {
        let messages = self.spans.messages();
        let is_range = |range: &Range<usize>| range.start < range.end && range.end <= messages;
        for (index, edit) in self.edits.iter().enumerate() {
            let known = match &edit.action {
                Action::Remove { messages: range, note } => {
                    is_range(range) && !matches!(note.standing, NotePlace::Own { before, .. } if before >= messages)
                }
                Action::Shorten { .. } | Action::Rewrite { .. } | Action::Drop { .. } => true,
            };
            if !known || edit.touches().any(|message| message >= messages) {
                return Err((format!("edits[{index}]"), "there is no such message"));
            }
        }
        if !self.edits.is_sorted_by_key(Edit::first_message) {
            return Err(("edits".to_owned(), "they are not in the order of the messages"));
        }
        if let Some(index) = self.contradiction() {
            return Err((format!("edits[{index}]"), "another edit changes the same content"));
        }
        for (index, artifact) in self.artifacts.iter().enumerate() {
            let known = match &artifact.source {
                Source::Item(place) => place.message < messages,
                Source::Part { message, .. } => *message < messages,
                Source::Transcript { messages, .. } => is_range(messages),
            };
            if !known {
                return Err((format!("artifacts[{index}]"), "there is no such message"));
            }
        }
        let room = self.budget.limit.saturating_sub(self.tokens_after);
        match self.pending {
            Some(pending) if !pending.fits(&self.edits, room) => {
                Err(("pending".to_owned(), "no edit has a note for the summary, or the budget has no room for it"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the first edit that changes the same content as another one. The messages of all edits must exist.
    fn contradiction(&self) -> Option<usize> {
        let mut removed = vec![false; self.spans.messages()];
        for (index, edit) in self.edits.iter().enumerate() {
            let Action::Remove { messages, .. } = &edit.action else { continue };
            if removed[messages.clone()].contains(&true) {
                return Some(index);
            }
            removed[messages.clone()].fill(true);
        }
        let mut places = Vec::new();
        for (index, edit) in self.edits.iter().enumerate() {
            match &edit.action {
                Action::Shorten { place, .. } => places.push((place.message, place.part, Some(place.item), index)),
                Action::Rewrite { message, part, .. } | Action::Drop { message, part } => {
                    places.push((*message, *part, None, index));
                }
                Action::Remove { note, .. } => {
                    if let NotePlace::In { message, instead_of, .. } = &note.standing {
                        places.extend(instead_of.iter().map(|part| (*message, *part, None, index)));
                        if removed[*message] {
                            return Some(index);
                        }
                    }
                }
            }
        }
        places.sort_unstable();
        let twice =
            places.windows(2).find(|pair| (pair[0].0, pair[0].1, pair[0].2) == (pair[1].0, pair[1].1, pair[1].2));
        let gone = places.iter().find(|(message, ..)| removed[*message]);
        twice.map(|pair| pair[1].3).or(gone.map(|(.., index)| *index))
    }

    /// Checks that `conversation` has everything that the plan changes and stores, and that each is of the right kind.
    /// O(edits).
    ///
    /// # Errors
    /// `Conversation` if not. The plan was then not made by the engine.
    pub fn fits<T: Text>(&self, conversation: &Conversation<T>) -> Result<()> {
        let edits = self.edits.iter().position(|edit| !is_there(&edit.action, conversation));
        let artifacts = self.artifacts.iter().position(|artifact| !is_stored(&artifact.source, conversation));
        let wrong = edits.map(|index| format!("edit {index}"));
        match wrong.or_else(|| artifacts.map(|index| format!("artifact {index}"))) {
            None => Ok(()),
            Some(wrong) => Err(Error::Conversation {
                problem: format!("{wrong} of the plan is about a place that the messages do not have"),
                remedy: "use the plan as the engine made it, or make a new one".to_owned(),
            }),
        }
    }
}

fn is_there<T: Text>(action: &Action, conversation: &Conversation<T>) -> bool {
    let part = |message, part| part_of(conversation, message, part);
    match action {
        Action::Shorten { place, .. } => is_item(*place, conversation),
        Action::Rewrite { message, part: at, .. } => matches!(part(*message, *at), Some(Part::Call { .. })),
        Action::Drop { message, part: at } => matches!(part(*message, *at), Some(Part::Reasoning { .. })),
        Action::Remove { messages, note } => {
            let noted = match &note.standing {
                NotePlace::In { message, instead_of, .. } => {
                    *message < conversation.messages.len()
                        && instead_of.iter().all(|at| matches!(part(*message, *at), Some(Part::Text(_))))
                }
                NotePlace::Own { .. } => true,
            };
            noted && messages.end <= conversation.messages.len()
        }
    }
}

fn is_stored<T: Text>(source: &Source, conversation: &Conversation<T>) -> bool {
    match source {
        Source::Item(place) => is_item(*place, conversation),
        Source::Part { message, part } => {
            matches!(part_of(conversation, *message, *part), Some(Part::Reasoning { .. } | Part::Call { .. }))
        }
        Source::Transcript { messages, .. } => messages.end <= conversation.messages.len(),
    }
}

/// True if `place` holds a text or a text of a tool result.
fn is_item<T: Text>(place: ItemPlace, conversation: &Conversation<T>) -> bool {
    match part_of(conversation, place.message, place.part) {
        Some(Part::Result { items, .. }) => items.get(place.item).is_some_and(|item| item.text().is_some()),
        Some(Part::Text(_)) => place.item == 0,
        _ => false,
    }
}

fn part_of<T>(conversation: &Conversation<T>, message: usize, part: usize) -> Option<&Part<T>> {
    conversation.messages.get(message)?.parts.get(part)
}
