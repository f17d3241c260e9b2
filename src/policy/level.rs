//! The ladder of escalation: what stages may remove if the levels before were not enough.

use serde::{Deserialize, Serialize};

use super::StageName;

/// Kinds of superseded content that [`StageName::Prune`] may take at a level. Each kind includes the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Superseded {
    /// Text repeated word for word further down; and, if a store keeps the old text, text repeated in a newer form.
    Recoverable,
    /// Text repeated further down in a newer form.
    Newer,
    /// Text that a call wrote, too: it is in the file.
    Elsewhere,
}

/// Size that is left of a result that is shortened in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShortenTo {
    /// `compress_to` of the policy.
    CompressTo,
    /// Its `offload_preview`, where that is less.
    OffloadPreview,
}

/// One level of the ladder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Level {
    /// Those of the policy's stages that run, in the policy's order; all of them if none is named.
    pub stages: Vec<StageName>,
    /// Share of the recent messages that is left alone.
    pub recent: f64,
    /// Share of the recent messages in which long results are not shortened where they are.
    pub recent_results: f64,
    /// Share of the tool results, oldest first, that may be moved out or shortened.
    pub results: f64,
    /// Tool results at the end that may not.
    pub keep_results: usize,
    /// Size that is left of results that are shortened.
    pub shorten_to: ShortenTo,
    /// Kinds of superseded outputs that may be removed.
    pub superseded: Superseded,
}

impl Default for Level {
    fn default() -> Level {
        Level {
            stages: Vec::new(),
            recent: 1.0,
            recent_results: 1.0,
            results: 1.0,
            keep_results: 0,
            shorten_to: ShortenTo::CompressTo,
            superseded: Superseded::Recoverable,
        }
    }
}

impl Level {
    /// The default ladder: no recent message changes; then half of them, except for long results; then only what
    /// must stay is.
    pub fn ladder() -> Vec<Level> {
        let high = Level { recent: 0.5, recent_results: 0.0, superseded: Superseded::Newer, ..Level::default() };
        let emergency = Level {
            recent: 0.0,
            shorten_to: ShortenTo::OffloadPreview,
            superseded: Superseded::Elsewhere,
            ..high.clone()
        };
        vec![Level::default(), high, emergency]
    }

    /// The level that takes everything it may: the floor does not depend on what a policy's own levels leave alone.
    pub fn least() -> Level {
        Level {
            recent: 0.0,
            recent_results: 0.0,
            shorten_to: ShortenTo::OffloadPreview,
            superseded: Superseded::Elsewhere,
            ..Level::default()
        }
    }

    /// True if `stage` runs at this level.
    pub fn runs(&self, stage: StageName) -> bool {
        self.stages.is_empty() || self.stages.contains(&stage)
    }

    /// The shares in it, each with its name.
    pub(super) fn shares(&self) -> [(&'static str, f64); 3] {
        [("recent", self.recent), ("recent_results", self.recent_results), ("results", self.results)]
    }
}
