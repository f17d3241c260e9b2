//! A share of something, as two numbers that add up over sessions.

use serde::Serialize;

/// How much of something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Share {
    /// How much of it is there; below 0 for a context that misleads a prediction.
    pub kept: i64,
    /// How much there was.
    pub of: i64,
}

impl Share {
    pub(super) fn of(kept: usize, of: usize) -> Share {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        Share { kept: number(kept), of: number(of) }
    }
}
