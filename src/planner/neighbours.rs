//! The messages on both sides of a gap after the plan is applied.

use std::ops::Range;

use crate::edit::{NoteAnswer, NotePlace};
use crate::message::{Role, Text};
use crate::working_copy::WorkingCopy;

/// The message next to a gap. System messages do not count.
#[derive(Clone, Copy)]
pub(super) enum Neighbour {
    /// A kept message.
    Message(usize),
    /// A note that this plan inserts, with this role.
    Inserted(Role),
}

/// Finds the neighbours of a working copy's gaps, in order. It visits every message once on each side.
#[derive(Default)]
pub(super) struct Neighbours {
    /// The last message before `seen`.
    before: Option<Neighbour>,
    /// The end of the previous gap.
    seen: usize,
    /// The first kept message after the previous gap; the number of messages if there is none.
    after: usize,
}

impl Neighbours {
    /// Returns the messages before and after the next gap.
    pub(super) fn of<T: Text>(
        &mut self,
        gap: &Range<usize>,
        working_copy: &WorkingCopy<'_, T>,
    ) -> (Option<Neighbour>, Option<Neighbour>) {
        let messages = &working_copy.conversation.messages;
        let stays = |index: &usize| !working_copy.is_removed(*index) && messages[*index].role != Role::System;
        let between = (self.seen..gap.start).rev().find(stays);
        self.before = between.map(Neighbour::Message).or(self.before);
        self.seen = gap.end;
        if self.after < gap.end {
            self.after = (gap.end..messages.len()).find(stays).unwrap_or(messages.len());
        }
        let after = (self.after < messages.len()).then_some(Neighbour::Message(self.after));
        (self.before, after)
    }

    /// Adds the note of the gap.
    pub(super) fn add(&mut self, note: &NotePlace) {
        match note {
            NotePlace::Own { role, answer: NoteAnswer::None, .. } => self.before = Some(Neighbour::Inserted(*role)),
            NotePlace::Own { role, answer: NoteAnswer::Follows, .. } => {
                self.before = Some(Neighbour::Inserted(role.other()));
            }
            NotePlace::In { answer: NoteAnswer::Follows, .. } => {
                self.before = Some(Neighbour::Inserted(Role::Assistant));
            }
            NotePlace::In { answer: NoteAnswer::None, .. } => {}
        }
    }
}
