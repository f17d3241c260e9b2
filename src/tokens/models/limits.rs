//! Finds the token limits of a model by its id.

use super::ids::by_beginning;
use super::known_limits::{KNOWN_LIMITS, open};

/// The token limits of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModelLimits {
    /// Maximum tokens of a request and its answer together.
    pub window: usize,
    /// Maximum tokens of a request; below `window` if the provider limits it separately.
    pub max_input: usize,
    /// Maximum tokens of an answer; `None` if only the window limits it.
    pub max_output: Option<usize>,
}

impl ModelLimits {
    /// The limits of an unknown model: 128,000, which nearly every hosted model with tools has. Too small a window
    /// causes an early compaction, too large a window a rejected request. 200,000 would be too large for about a third
    /// of the models that models.dev lists.
    pub const UNKNOWN: Self = open(128_000);

    /// Returns the window to plan with if `reserve` of it is kept free. The rest never exceeds the provider's input
    /// limit.
    pub fn window_beside(self, reserve: usize) -> usize {
        self.window.min(self.max_input.saturating_add(reserve))
    }
}

/// Returns the limits of a model, by the longest beginning of its id in [`KNOWN_LIMITS`]; `None` if it has none.
/// Prefixes of gateways are skipped.
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
