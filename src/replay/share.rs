//! A share, as two numbers that can be added over sessions.

use serde::Serialize;

/// A share of a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Share {
    /// The part; below 0 for a context that misleads a prediction.
    pub kept: i64,
    /// The whole.
    pub of: i64,
}

impl Share {
    pub(super) fn of(kept: usize, of: usize) -> Share {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        Share { kept: number(kept), of: number(of) }
    }
}
