//! Shortens long tool results in place: older ones first, and on the ladder recent ones too.

use crate::message::Text;
use crate::policy::{Level, ShortenTo};
use crate::working_copy::{Proposal, WorkingCopy};

pub(super) fn propose<T: Text>(working_copy: &WorkingCopy<'_, T>, level: &Level) -> Vec<Proposal> {
    let policy = working_copy.policy;
    let recent = working_copy.recent_start(level.recent_results);
    let keep = match level.shorten_to {
        ShortenTo::CompressTo => policy.compress_to,
        ShortenTo::OffloadPreview => policy.offload_preview.min(policy.compress_to),
    };
    working_copy
        .shortenable(level)
        .filter(|(place, tokens)| place.message < recent && *tokens > keep)
        .map(|(place, _)| Proposal::Shorten { place, keep })
        .collect()
}
