//! Shortens long tool results where they stand: the older ones first, under pressure the recent ones too.

use crate::draft::{Draft, Pressure, Proposal};
use crate::message::Text;

pub(super) fn propose<T: Text>(draft: &Draft<'_, T>, pressure: Pressure) -> Vec<Proposal> {
    let policy = draft.policy;
    let (recent, keep) = match pressure {
        Pressure::Normal => (draft.recent_start(pressure), policy.compress_to),
        Pressure::High => (draft.conversation.messages.len(), policy.compress_to),
        Pressure::Emergency => (draft.conversation.messages.len(), policy.offload_preview.min(policy.compress_to)),
    };
    draft
        .shortenable()
        .filter(|(place, tokens)| place.message < recent && *tokens > keep)
        .map(|(place, _)| Proposal::Shorten { place, keep })
        .collect()
}
