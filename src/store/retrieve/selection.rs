//! Selects lines of a text.

use std::ops::{Range, RangeInclusive};

use regex::{Regex, RegexBuilder};

use crate::error::{Error, Result};

/// Maximum memory of a compiled pattern: enough for any sensible one, and a limit for a hostile one.
const PATTERN_LIMIT: usize = 1 << 20;

/// Lines of a text by number from 0: ranges in order that neither touch nor overlap.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Selection {
    ranges: Vec<Range<usize>>,
}

impl Selection {
    /// Returns the lines of `asked`, counted from 1 with both ends included, in a text of `total` lines.
    pub(super) fn of(asked: Option<&RangeInclusive<usize>>, total: usize) -> Selection {
        let range = match asked {
            None => 0..total,
            Some(asked) => asked.start().saturating_sub(1)..(*asked.end()).min(total),
        };
        let mut selection = Selection::default();
        selection.add(range);
        selection
    }

    /// Returns the matching lines, with this many lines before and after each, and the number of matches. O(length).
    pub(super) fn matching(&self, text: &str, regex: &Regex, context: usize) -> (Selection, usize) {
        let Some(within) = self.ranges.first().cloned() else { return (Selection::default(), 0) };
        let mut found = Selection::default();
        let mut matches = 0;
        for (index, line) in text.lines().enumerate().take(within.end).skip(within.start) {
            if regex.is_match(line) {
                matches += 1;
                let end = index.saturating_add(context).saturating_add(1).min(within.end);
                found.add(index.saturating_sub(context).max(within.start)..end);
            }
        }
        (found, matches)
    }

    /// Returns the first `head` and the last `tail` of these lines; all of them if neither is given.
    pub(super) fn ends(self, head: Option<usize>, tail: Option<usize>) -> Selection {
        if head.is_none() && tail.is_none() {
            return self;
        }
        let total = self.lines();
        let first = head.unwrap_or(0).min(total);
        let last = total.saturating_sub(tail.unwrap_or(0)).max(first);
        let mut kept = Selection::default();
        let mut before = 0;
        for range in self.ranges {
            let length = range.len();
            // The same two positions, counted within this range.
            let (first, last) = (first.saturating_sub(before).min(length), last.saturating_sub(before).min(length));
            kept.add(range.start..range.start + first);
            kept.add(range.start + last..range.end);
            before += length;
        }
        kept
    }

    /// Returns the numbers of the lines, from 0.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.ranges.iter().flat_map(Clone::clone)
    }

    /// Returns the number of lines.
    pub(super) fn lines(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }

    /// Adds a range that begins at or after the beginning of the last one.
    fn add(&mut self, range: Range<usize>) {
        match self.ranges.last_mut() {
            _ if range.is_empty() => {}
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => self.ranges.push(range),
        }
    }
}

/// Compiles the regular expression `pattern` with limited memory.
///
/// # Errors
/// `Store` if it is not a regular expression, or too large.
pub fn compiled(pattern: &str) -> Result<Regex> {
    RegexBuilder::new(pattern).size_limit(PATTERN_LIMIT).build().map_err(|error| Error::Store {
        problem: format!("the pattern cannot be used: {error}"),
        remedy: "give a regular expression without look-around or back-references".to_owned(),
    })
}
