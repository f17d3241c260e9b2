//! Counts files by suffix.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::numbers::thousands;

/// Number of suffixes that are named. The others are counted together.
const NAMED: usize = 4;

/// Only a list with at least this many files can have rare suffixes.
const MANY: usize = 50;

/// A suffix of at most this many files is rare.
const FEW: usize = 2;

/// Returns the suffix of a name with its dot, or `""`.
pub(super) fn suffix(name: &str) -> &str {
    // Suffixes are short. The digits after the last dot of a version are not a suffix.
    const LONGEST: usize = 8;
    match name.rfind('.') {
        Some(at) if at > 0 && name.len() - at <= LONGEST && !name.ends_with('/') => &name[at..],
        _ => "",
    }
}

/// Counts the files of each suffix.
#[derive(Debug, Default)]
pub(super) struct Suffixes<'a> {
    counts: HashMap<&'a str, usize, RandomState>,
    files: usize,
}

impl<'a> Suffixes<'a> {
    pub(super) fn add(&mut self, name: &'a str) {
        *self.counts.entry(suffix(name)).or_default() += 1;
        self.files += 1;
    }

    /// True if few files of a long list have this suffix.
    pub(super) fn is_rare(&self, name: &str) -> bool {
        let suffix = suffix(name);
        self.files >= MANY && !suffix.is_empty() && self.counts.get(suffix).is_some_and(|count| *count <= FEW)
    }

    /// Returns `120 .rs, 3 .md, 2 others`, the same for the files in any order.
    pub(super) fn summary(&self) -> String {
        let mut kinds: Vec<(&str, usize)> = self.counts.iter().map(|(suffix, count)| (*suffix, *count)).collect();
        kinds.sort_by(|one, two| two.1.cmp(&one.1).then(one.0.cmp(two.0)));
        let (named, rest): (Vec<_>, Vec<_>) =
            kinds.into_iter().enumerate().partition(|(turn, (suffix, _))| *turn < NAMED && !suffix.is_empty());
        let mut parts: Vec<String> =
            named.into_iter().map(|(_, (suffix, count))| format!("{} {suffix}", thousands(count))).collect();
        let others: usize = rest.into_iter().map(|(_, (_, count))| count).sum();
        if others > 0 {
            parts.push(format!("{} other{}", thousands(others), if others == 1 { "" } else { "s" }));
        }
        parts.join(", ")
    }
}

/// Returns a size for people: `1.2 MB`.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    for (name, unit) in UNITS {
        if bytes >= unit {
            return format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit);
        }
    }
    format!("{bytes} B")
}
