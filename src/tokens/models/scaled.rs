//! Counts for models whose vocabulary is public but not part of this crate.

use crate::tokens::{CountTokens, Encoding, Exact, MediaRule, Overhead, Precision, TextKind};

const HUNDREDTHS: usize = 100;

/// An exact count by `o200k_base`, multiplied by the family's average ratio to it.
///
/// It is closer than an estimate by characters if a family's ratio is known, and as expensive as an exact count. The
/// ratio was measured on agent transcripts. A single text may differ more, especially if it is unlike them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scaled {
    name: &'static str,
    /// Tokens for a hundred of `o200k_base`.
    ratio: usize,
}

impl Scaled {
    /// Returns a counter that takes `ratio` tokens for a hundred of `o200k_base`.
    pub(super) const fn new(name: &'static str, ratio: usize) -> Self {
        Self { name, ratio }
    }

    const EXACT: Exact = Exact::new(Encoding::O200kBase);
}

impl CountTokens for Scaled {
    fn name(&self) -> &str {
        self.name
    }

    fn count(&self, text: &str, kind: TextKind) -> usize {
        Self::EXACT.count(text, kind).saturating_mul(self.ratio).div_ceil(HUNDREDTHS)
    }

    fn fits(&self, text: &str, kind: TextKind, limit: usize) -> bool {
        // The largest number that gives `limit` when scaled and rounded up.
        let most = limit.saturating_mul(HUNDREDTHS) / self.ratio;
        Self::EXACT.fits(text, kind, most)
    }

    fn overhead(&self) -> Overhead {
        Self::EXACT.overhead()
    }

    fn precision(&self) -> Precision {
        Precision::Estimated
    }

    fn media_rule(&self) -> MediaRule {
        MediaRule::Dearest
    }
}
