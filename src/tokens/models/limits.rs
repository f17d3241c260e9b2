//! How many tokens a model takes and gives, by its id.

use super::ids::by_beginning;
use super::known_limits::{KNOWN_LIMITS, open};

/// How many tokens a model takes and gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModelLimits {
    /// What a request and its answer may take together.
    pub window: usize,
    /// What a request may take; below `window` where the provider limits it by itself.
    pub max_input: usize,
    /// What an answer may take; `None` where nobody states a limit but the window.
    pub max_output: Option<usize>,
}

impl ModelLimits {
    /// What is assumed of a model that no table knows: 128,000, which nearly every hosted model that can call tools
    /// has. Guessing too small costs an early compaction, guessing too large a rejected request; 200,000 would be too
    /// large for about a third of those that models.dev lists.
    pub const UNKNOWN: Self = open(128_000);

    /// The window to plan with when `reserve` of it is kept free: what that leaves is never more than the provider
    /// takes as input.
    pub fn window_beside(self, reserve: usize) -> usize {
        self.window.min(self.max_input.saturating_add(reserve))
    }
}

/// The limits of a model, by the longest beginning of its id that [`KNOWN_LIMITS`] has; `None` if it has none. What
/// gateways write before an id is skipped.
///
/// ```
/// use ullage::tokens::limits_of_model;
///
/// let limits = limits_of_model("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0").unwrap();
/// assert_eq!((limits.window, limits.max_output), (200_000, Some(64_000)));
/// ```
pub fn limits_of_model(id: &str) -> Option<ModelLimits> {
    by_beginning(id, KNOWN_LIMITS).copied()
}
