//! Removes the oldest messages, a group at a time: calls with their results, thinking with its loop.

use crate::message::Text;
use crate::policy::Level;
use crate::working_copy::{Proposal, WorkingCopy};

pub(super) fn propose<T: Text>(working_copy: &WorkingCopy<'_, T>, level: &Level) -> Vec<Proposal> {
    let recent = working_copy.recent_start(level.recent);
    let note = working_copy.bounds.note;
    let mut proposals = Vec::new();
    // A gap costs its note. So a small group is removed together with the groups after it, and so are the notes of
    // earlier removals, because a new note replaces them.
    let (mut from, mut freed) = (None, 0);
    for group in working_copy.groups.iter().take_while(|group| group.end <= recent) {
        if !group.clone().all(|message| working_copy.may_remove(message)) {
            // After an existing gap, the cost of the note is already paid.
            (from, freed) = (None, if working_copy.is_removed(group.start) { note } else { 0 });
            continue;
        }
        let start = *from.get_or_insert(group.start);
        freed += group.clone().map(|message| working_copy.message_tokens(message)).sum::<usize>();
        if freed > note && !group.clone().all(|message| working_copy.is_note(message)) {
            proposals.push(Proposal::Remove { messages: start..group.end });
            (from, freed) = (None, note);
        }
    }
    proposals
}
