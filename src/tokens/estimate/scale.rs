//! The correction of a counter.

/// A scale moves in steps of a hundredth: what was counted at the old one stays true until something was learned.
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
    /// The counter is taken at its word.
    pub const ONE: Scale = Scale { hundredths: HUNDREDTHS };

    /// The scale next to a ratio of tokens.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // From 40 to 250.
    pub(super) fn near(ratio: f64) -> Scale {
        Scale { hundredths: (ratio * HUNDREDTHS as f64).round() as usize }
    }

    /// Returns the scale as a number.
    #[allow(clippy::cast_precision_loss)] // From 0.4 to 2.5.
    pub fn factor(self) -> f64 {
        self.hundredths as f64 / HUNDREDTHS as f64
    }

    /// `tokens` at this scale, to the nearest whole number; something is never nothing.
    #[inline]
    #[must_use]
    pub fn of(self, tokens: usize) -> usize {
        if self == Scale::ONE {
            return tokens;
        }
        let scaled = tokens.saturating_mul(self.hundredths).saturating_add(HUNDREDTHS / 2) / HUNDREDTHS;
        scaled.max(usize::from(tokens > 0))
    }

    /// The most tokens that are at most `limit` at this scale.
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
