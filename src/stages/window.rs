//! Removes the oldest messages, a group at a time: calls with their results, thinking with its loop.

use crate::draft::{Draft, Pressure, Proposal};
use crate::message::Text;

pub(super) fn propose<T: Text>(draft: &Draft<'_, T>, pressure: Pressure) -> Vec<Proposal> {
    let recent = draft.recent_start(pressure);
    let mut proposals = Vec::new();
    // Notes of earlier removals are worth nothing to remove by themselves, since a note would take their place; they
    // go with the messages behind them.
    let mut notes_from = None;
    for group in draft.groups.iter().take_while(|group| group.end <= recent) {
        if !group.clone().all(|message| draft.may_remove(message)) {
            notes_from = None;
        } else if group.clone().all(|message| draft.is_note(message)) {
            notes_from.get_or_insert(group.start);
        } else {
            let start = notes_from.take().unwrap_or(group.start);
            proposals.push(Proposal::Remove {
                messages: start..group.end,
            });
        }
    }
    proposals
}
