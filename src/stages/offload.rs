//! Moves tool results of older messages to the store, oldest first. It is reversible: a preview and a reference stay.

use crate::message::Text;
use crate::policy::Level;
use crate::working_copy::{Proposal, WorkingCopy};

pub(super) fn propose<T: Text>(working_copy: &WorkingCopy<'_, T>, level: &Level) -> Vec<Proposal> {
    let policy = working_copy.policy;
    let recent = working_copy.recent_start(level.recent);
    working_copy
        .shortenable(level)
        .filter(|(place, tokens)| place.message < recent && *tokens > policy.offload_above)
        .map(|(place, _)| Proposal::Shorten { place, keep: policy.offload_preview })
        .collect()
}
