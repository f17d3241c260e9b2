//! Moves tool results out of the older part of the conversation, oldest first. Reversible: a preview and a reference stay.

use crate::draft::{Draft, Proposal};
use crate::message::Text;
use crate::policy::Level;

pub(super) fn propose<T: Text>(draft: &Draft<'_, T>, level: &Level) -> Vec<Proposal> {
    let policy = draft.policy;
    let recent = draft.recent_start(level.recent);
    draft
        .shortenable(level)
        .filter(|(place, tokens)| place.message < recent && *tokens > policy.offload_above)
        .map(|(place, _)| Proposal::Shorten { place, keep: policy.offload_preview })
        .collect()
}
