//! The escalation ladder: what stages may remove if the earlier levels were not enough.

use serde::{Deserialize, Serialize};

use super::StageName;

/// Kinds of superseded content that [`StageName::Prune`] may take at a level. Each kind includes the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Superseded {
    /// Text that is repeated word for word later. With a store for the old text, also text that is repeated in a newer
    /// form.
    Recoverable,
    /// Text that is repeated later in a newer form.
    Newer,
    /// Also text that a call wrote, because it is in the file.
    Elsewhere,
}

/// The size to which a result is shortened in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShortenTo {
    /// `compress_to` of the policy.
    CompressTo,
    /// The policy's `offload_preview`, if that is less.
    OffloadPreview,
}

/// One level of the ladder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Level {
    /// The policy's stages that run, in the policy's order; all of them if none is named.
    pub stages: Vec<StageName>,
    /// Share of the recent messages that stays unchanged.
    pub recent: f64,
    /// Share of the recent messages in which long results are not shortened in place.
    pub recent_results: f64,
    /// Share of the tool results, oldest first, that may be moved out or shortened.
    pub results: f64,
    /// Number of tool results at the end that may not be.
    pub keep_results: usize,
    /// The size to which results are shortened.
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
    /// Returns the default ladder. First no recent message changes, then half of them do except for long results, then
    /// all but the required content may.
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

    /// Returns the level that removes everything it may. So the floor does not depend on what a policy's own levels
    /// spare.
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

    /// Returns its shares with their names.
    pub(super) fn shares(&self) -> [(&'static str, f64); 3] {
        [("recent", self.recent), ("recent_results", self.recent_results), ("results", self.results)]
    }
}
