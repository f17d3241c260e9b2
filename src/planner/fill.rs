//! What stands for that which a plan takes away: the lines that are most likely needed, in whatever room is left.

use crate::digest::{Digest, Past, digest};
use crate::draft::Draft;
use crate::message::Text;
use crate::summary::parts;

use super::gap::{Gap, replaced_notes};
use super::seal::Sealing;
use super::shorten::Framed;

/// Tokens that a body adds to its frame beside its own: the digits that say how long it is, and the joint.
const JOINT: usize = 4;

/// The lines for the gaps and cuts of a plan whose texts are empty so far, in `room` tokens. O(length of the conversation).
pub(super) fn fill<T: Text>(
    draft: &Draft<'_, T>,
    gaps: &[Gap],
    cuts: &[Framed<'_>],
    room: usize,
    with: &Sealing<'_>,
) -> Digest {
    let ranges: Vec<_> = gaps.iter().map(|gap| gap.messages.clone()).collect();
    let items: Vec<_> = cuts.iter().map(|cut| (cut.place.message, cut.place.part, cut.place.item)).collect();
    let older = gaps.iter().enumerate().flat_map(|(index, gap)| {
        let notes = replaced_notes(&draft.conversation.messages, &gap.standing);
        // An older summary is for the next one to go on from, where there will be one.
        let goes_on = draft.bounds.summary > 0;
        notes.map(move |note| (index, if goes_on { parts(note.body).1 } else { note.body }))
    });
    let past = Past {
        conversation: draft.conversation,
        tokens: draft.tokens,
        pairs: &draft.pairs,
        gaps: &ranges,
        cuts: &items,
        older: older.collect(),
        beside: Vec::new(),
    };
    let room = room.saturating_sub((gaps.len() + cuts.len()) * JOINT);
    digest(&past, room, &with.counter)
}
