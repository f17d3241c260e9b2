//! Counts how often each value occurs.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::{Map, Value as Json};

use super::text::truncated;

/// Number of values that are counted separately. If there are more, only their number is useful.
const TOLD_APART: usize = 10_000;

/// Number of characters of a value that are shown.
const SHOWN: usize = 120;

/// Values and their counts.
#[derive(Debug, Default)]
pub(super) struct Counts {
    known: HashMap<String, (usize, usize), RandomState>,
    is_full: bool,
}

impl Counts {
    /// Counts a value. If there are too many, a new one is dropped.
    pub(super) fn add(&mut self, value: String) {
        let turn = self.known.len();
        if let Some((count, _)) = self.known.get_mut(&value) {
            *count += 1;
        } else if turn < TOLD_APART {
            self.known.insert(value, (1, turn));
        } else {
            self.is_full = true;
        }
    }

    /// Returns the number of different values, and true if the count is incomplete because there are too many.
    pub(super) fn distinct(&self) -> (usize, bool) {
        (self.known.len(), self.is_full)
    }

    /// Returns the most frequent values, earlier ones first if counts are equal.
    pub(super) fn most(&self, named: usize) -> Map<String, Json> {
        let mut all: Vec<(&String, usize, usize)> =
            self.known.iter().map(|(value, (count, turn))| (value, *count, *turn)).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.2.cmp(&b.2)));
        all.into_iter().take(named).map(|(value, count, _)| (truncated(value, SHOWN), count.into())).collect()
    }

    /// True if a value occurs more than once.
    pub(super) fn repeat(&self) -> bool {
        self.known.values().any(|(count, _)| *count > 1)
    }
}
