//! The correction of a counter.

/// A scale changes in steps of a hundredth, so counts at the old scale stay valid until something was learned.
const HUNDREDTHS: usize = 100;

/// The provider's tokens for each token of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    pub(super) hundredths: usize,
}

impl Default for Scale {
    fn default() -> Scale {
        Scale::ONE
    }
}

impl Scale {
    /// The counter's own numbers, unchanged.
    pub const ONE: Scale = Scale { hundredths: HUNDREDTHS };

    /// Returns the scale nearest to a ratio of tokens.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // From 40 to 250.
    pub(super) fn near(ratio: f64) -> Scale {
        Scale { hundredths: (ratio * HUNDREDTHS as f64).round() as usize }
    }

    /// Returns the scale as a number.
    #[allow(clippy::cast_precision_loss)] // From 0.4 to 2.5.
    pub fn factor(self) -> f64 {
        self.hundredths as f64 / HUNDREDTHS as f64
    }

    /// Scales `tokens` and rounds to the nearest integer. A positive number stays positive.
    #[inline]
    #[must_use]
    pub fn of(self, tokens: usize) -> usize {
        if self == Scale::ONE {
            return tokens;
        }
        let scaled = tokens.saturating_mul(self.hundredths).saturating_add(HUNDREDTHS / 2) / HUNDREDTHS;
        scaled.max(usize::from(tokens > 0))
    }

    /// Returns the most tokens that are at most `limit` at this scale.
    #[must_use]
    pub fn most_within(self, limit: usize) -> usize {
        if self == Scale::ONE || limit == 0 {
            return limit;
        }
        // `of(n) <= limit` where `n * hundredths + 50 < (limit + 1) * 100`.
        let below = limit.saturating_add(1).saturating_mul(HUNDREDTHS) - HUNDREDTHS / 2;
        (below - 1) / self.hundredths
    }
}
