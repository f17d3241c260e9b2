//! Fills the remaining room of a plan with the removed lines that will most likely be needed.

use crate::digest::{Digest, Past, digest};
use crate::message::Text;
use crate::numbers::{part_of, share};
use crate::summary::{Removed, account, body, parts};
use crate::tokens::{CountTokens, TextKind};
use crate::working_copy::WorkingCopy;

use super::gap::{Gap, older_notes, replaced_notes};
use super::rendering::Rendering;
use super::shorten::FramedCut;

/// Tokens that a body adds to its frame beside its own: the digits of its length, and the join.
const JOINT: usize = 4;

/// The share of the budget for the account, if a quarter of a conversation is kept or more, and if an eighth is kept or
/// less. The less room there is, the more important is the account. `benches/retention.py` measures the effect.
const ACCOUNT: [f64; 2] = [0.15, 0.25];
const STAYS: [f64; 2] = [0.25, 0.125];

/// Fills the empty texts of a plan in `room` tokens: the account of the removed messages in the largest gap, and lines
/// for the gaps and cuts. O(length of the conversation).
pub(super) fn fill<T: Text>(
    working_copy: &WorkingCopy<'_, T>,
    gaps: &[Gap],
    cuts: &[FramedCut<'_>],
    room: usize,
    with: &Rendering<'_>,
) -> Digest {
    let ranges: Vec<_> = gaps.iter().map(|gap| gap.messages.clone()).collect();
    let items: Vec<_> = cuts.iter().map(|cut| (cut.place.message, cut.place.part, cut.place.item)).collect();
    let older = gaps.iter().enumerate().flat_map(|(index, gap)| {
        let notes = replaced_notes(&working_copy.conversation.messages, &gap.standing);
        // The next summary continues from an older one, if there will be a next one.
        let goes_on = working_copy.bounds.summary > 0;
        notes.map(move |note| (index, if goes_on { parts(note.body).1 } else { note.body }))
    });
    let room = room.saturating_sub((gaps.len() + cuts.len()) * JOINT);
    let (at, account) = account_of(working_copy, gaps, room, with);
    let past = Past {
        conversation: working_copy.conversation,
        tokens: working_copy.tokens,
        pairs: &working_copy.pairs,
        gaps: &ranges,
        cuts: &items,
        older: older.collect(),
        beside: Vec::new(),
        account: &account,
    };
    let count = if account.is_empty() { 0 } else { with.counter.count(&account, TextKind::Prose) + JOINT };
    let mut digest = digest(&past, room.saturating_sub(count), &with.counter);
    if let Some(text) = digest.gaps.get_mut(at) {
        *text = body(&account, &[text]);
    }
    digest
}

/// Returns the gap that removes most, and the account of everything removed; empty if a summary will replace it.
fn account_of<T: Text>(
    working_copy: &WorkingCopy<'_, T>,
    gaps: &[Gap],
    room: usize,
    with: &Rendering<'_>,
) -> (usize, String) {
    let freed = |gap: &Gap| gap.messages.clone().map(|message| working_copy.tokens.message(message)).sum::<usize>();
    let largest = (0..gaps.len()).max_by_key(|gap| freed(&gaps[*gap])).filter(|_| working_copy.bounds.summary == 0);
    let Some(largest) = largest else { return (0, String::new()) };
    let messages = &working_copy.conversation.messages;
    let older = gaps.iter().flat_map(|gap| older_notes(messages, &gap.messages, &gap.standing));
    let ranges = gaps.iter().map(|gap| gap.messages.clone()).collect();
    let removed = Removed::of(working_copy.conversation, ranges, older.map(|note| note.body));
    let stays = part_of(with.aim.low, working_copy.tokens.total()).clamp(STAYS[1], STAYS[0]);
    let part = ACCOUNT[0] + (ACCOUNT[1] - ACCOUNT[0]) * (STAYS[0] - stays) / (STAYS[0] - STAYS[1]);
    (largest, account(&removed, share(with.aim.low, part).min(room), &with.counter))
}
