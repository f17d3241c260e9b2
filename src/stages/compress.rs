//! Shortens long tool results where they stand: the older ones first, on the ladder the recent ones too.

use crate::draft::{Draft, Proposal};
use crate::message::Text;
use crate::policy::{Level, ShortenTo};

pub(super) fn propose<T: Text>(draft: &Draft<'_, T>, level: &Level) -> Vec<Proposal> {
    let policy = draft.policy;
    let recent = draft.recent_start(level.recent_results);
    let keep = match level.shorten_to {
        ShortenTo::CompressTo => policy.compress_to,
        ShortenTo::OffloadPreview => policy.offload_preview.min(policy.compress_to),
    };
    draft
        .shortenable(level)
        .filter(|(place, tokens)| place.message < recent && *tokens > keep)
        .map(|(place, _)| Proposal::Shorten { place, keep })
        .collect()
}
