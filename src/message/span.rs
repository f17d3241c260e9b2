//! The entries of the caller's list that form a message.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The entries of one message: several if the format has an entry for every call and result, otherwise one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    first: usize,
    /// The first part of each entry after the first.
    later: Vec<usize>,
}

impl Span {
    /// Returns the span of one entry of the list.
    pub fn of(entry: usize) -> Span {
        Span { first: entry, later: Vec::new() }
    }

    /// Adds the next entry of the list to the message. Its parts begin at `first_part`.
    pub fn grow(&mut self, first_part: usize) {
        self.later.push(first_part);
    }

    /// Returns the entries.
    pub fn entries(&self) -> Range<usize> {
        self.first..self.first + 1 + self.later.len()
    }

    /// Returns the first part of each entry after the first.
    pub fn later_entries(&self) -> &[usize] {
        &self.later
    }

    /// Returns the entry of a part, and the first part in that entry.
    pub fn entry_of(&self, part: usize) -> (usize, usize) {
        let before = self.later.partition_point(|first| *first <= part);
        (self.first + before, before.checked_sub(1).map_or(0, |index| self.later[index]))
    }

    /// Returns the parts that share an entry with a part, in a message of this many parts.
    pub fn parts_with(&self, part: usize, parts: usize) -> Range<usize> {
        let after = self.later.partition_point(|first| *first <= part);
        let start = after.checked_sub(1).map_or(0, |index| self.later[index]);
        start..self.later.get(after).copied().unwrap_or(parts)
    }
}

/// The entries of each message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Span>")]
pub struct Spans(Vec<Span>);

impl FromIterator<Span> for Spans {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Spans {
        Spans(spans.into_iter().collect())
    }
}

impl TryFrom<Vec<Span>> for Spans {
    type Error = &'static str;

    /// Reads spans from data that may be wrong. Each span must begin at or after the end of the one before it, and the
    /// parts of its entries must be in order.
    fn try_from(spans: Vec<Span>) -> Result<Spans, &'static str> {
        let mut end = 0;
        for span in &spans {
            if span.first < end || !span.later.is_sorted() {
                return Err("the messages are not in order");
            }
            let after = span.first.checked_add(1).and_then(|first| first.checked_add(span.later.len()));
            end = after.ok_or("an index of a message is too large for any list")?;
        }
        Ok(Spans(spans))
    }
}

impl Spans {
    /// Returns the number of messages.
    pub fn messages(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of entries in the caller's list.
    pub fn count(&self) -> usize {
        self.0.last().map_or(0, |span| span.entries().end)
    }

    /// Returns the entries of a range of messages.
    pub fn entries(&self, messages: Range<usize>) -> Range<usize> {
        let start = |message: usize| self.0.get(message).map_or(self.count(), |span| span.entries().start);
        start(messages.start)..start(messages.end)
    }

    /// Returns the entry of a message's part, and the index of the part in that entry.
    pub fn place(&self, message: usize, part: usize) -> (usize, usize) {
        let (entry, first) = self.0[message].entry_of(part);
        (entry, part - first)
    }
}
