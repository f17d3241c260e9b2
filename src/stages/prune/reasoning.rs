//! Reasoning of turns that are over: what came of it stands behind it.

use crate::draft::{Draft, PartChange, Proposal};
use crate::message::{Part, Text};

/// Message and part of what may go, oldest first. O(reasoning).
pub(super) fn find<T: Text>(draft: &Draft<'_, T>) -> impl Iterator<Item = (usize, usize)> {
    draft.droppable().iter().copied().filter(|(message, part)| {
        match &draft.conversation.messages[*message].parts[*part] {
            // What stands for characters that are none would not come back as it was.
            Part::Reasoning { text, .. } => !draft.is_removed(*message) && !text.contains(char::REPLACEMENT_CHARACTER),
            _ => false,
        }
    })
}

pub(super) fn dropped(message: usize, part: usize) -> Proposal {
    Proposal::Change { message, part, change: PartChange::Drop }
}
