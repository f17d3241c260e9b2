//! The input tokens of a conversation's requests, beside those of doing nothing.
//!
//! Doing nothing sends the whole history with each request: the provider reads the messages of the request before from
//! its cache, and the others are new. That is possible until the history is larger than the window. The request that
//! would not have fit costs the same in both sums, and doing nothing goes on from the messages of that request.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::Prices;
use crate::numbers::share;

/// A prompt with a smaller share of the tokens of the one before belongs to a changed history. Reminders and tools that
/// come and go take less.
const STILL_THE_SAME: f64 = 0.9;

/// The input tokens of requests, as they were sent and as doing nothing would have sent them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Savings {
    /// Requests.
    pub requests: usize,
    /// Tokens that were not in the provider's cache.
    pub new: usize,
    /// Tokens that were read from the cache.
    pub cached: usize,
    /// Tokens that would not have been in the cache.
    pub new_without: usize,
    /// Tokens that would have been read from the cache.
    pub cached_without: usize,
}

/// One request, and the compaction before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentRequest {
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Tokens of its messages.
    pub messages: usize,
    /// Tokens of the messages of the request before; 0 if there was none.
    pub before: usize,
    /// Tokens of the prompt that were read from the cache; `None` if the provider did not say.
    pub cached: Option<usize>,
    /// The changes since the request before.
    pub removal: Removal,
}

/// The tokens that compactions have removed from a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removal {
    /// All tokens that are missing in the messages.
    pub removed: usize,
    /// Tokens before the first message that changed since the request before; `None` if no message changed.
    pub unchanged: Option<usize>,
    /// True if the messages did not fit the window before the compaction.
    pub is_forced: bool,
    /// Tokens that messages may take; 0 if no compaction was made.
    pub limit: usize,
}

impl SentRequest {
    /// Tokens of the prompt that the provider may have in its cache; 0 for the first request.
    pub fn known(self) -> usize {
        let beside = self.prompt.saturating_sub(self.messages);
        if self.before == 0 { 0 } else { (self.before + beside).min(self.prompt) }
    }
}

impl Removal {
    /// The same after earlier changes that the provider has not seen.
    #[must_use]
    pub fn after(self, earlier: Removal) -> Removal {
        let unchanged = self.unchanged.into_iter().chain(earlier.unchanged).min();
        Removal { unchanged, is_forced: self.is_forced || earlier.is_forced, ..self }
    }

    /// The same after one more compaction, from so many tokens to so many, with `unchanged` ones at the beginning.
    #[must_use]
    pub fn and(self, (before, after): (usize, usize), unchanged: usize, limit: usize) -> Removal {
        let is_forced = before > limit;
        Removal {
            // After a forced one, doing nothing goes on from the same messages.
            removed: if is_forced { 0 } else { self.removed.saturating_add(before.saturating_sub(after)) },
            unchanged: self.unchanged.into_iter().chain([unchanged]).min(),
            is_forced: self.is_forced || is_forced,
            limit,
        }
    }
}

/// The sums of one conversation, and its last request. A saved account may have any numbers, so its sums stop at the
/// largest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The sums.
    pub savings: Savings,
    /// Tokens of the last prompt.
    last: usize,
    /// Tokens that the last prompt would have had.
    last_without: usize,
    /// Removed tokens that doing nothing does not have either, because the window was full.
    shared: usize,
    /// All removed tokens at the last request.
    removed: usize,
    /// Tokens by which the prompts would have grown.
    grown: usize,
    /// Tokens that messages could take at the last compaction.
    limit: usize,
    /// Tokens that were read from the cache when the beginning of the prompt was last unchanged, and its tokens.
    read: usize,
    unchanged: usize,
}

impl Account {
    /// Adds a request, and returns what it added. O(1).
    pub fn add(&mut self, sent: SentRequest) -> Savings {
        let SentRequest { prompt, removal, .. } = sent;
        let unchanged = match removal.unchanged {
            Some(messages) => (messages + prompt.saturating_sub(sent.messages)).min(self.last),
            None => self.last,
        };
        let cached = sent.cached.unwrap_or(unchanged).min(prompt);
        let removed = removal.removed.saturating_sub(self.shared);
        let without = prompt.saturating_add(removed);
        if removal.limit > 0 {
            self.limit = removal.limit;
        }
        let is_full = removed > 0 && sent.messages.saturating_add(removed) > self.limit;
        // The cost of a compaction is unknown if its request was not reported. Then its savings do not count either.
        let is_unreported = removed > 0 && removal.unchanged.is_none() && removal.removed != self.removed;
        // Doing nothing does not make a history so much shorter, so the host has changed it.
        let is_changed = without < share(self.last_without, STILL_THE_SAME);
        let is_same = self.savings.requests == 0 || removal.is_forced || is_full || is_changed || is_unreported;
        if removal.unchanged.is_none() && self.last > 0 {
            (self.read, self.unchanged) = (cached.min(self.last), self.last);
        }
        let mut added = Savings { requests: 1, new: prompt - cached, cached, ..Savings::default() };
        if is_same {
            (added.new_without, added.cached_without) = (added.new, added.cached);
            (self.last_without, self.shared) = (prompt, removal.removed);
        } else {
            added.cached_without = match removal.unchanged {
                Some(_) => self.read_of(self.last_without),
                None => cached.saturating_add(self.read_of(self.missing())),
            }
            .min(without);
            added.new_without = without - added.cached_without;
            self.grown = self.grown.saturating_add(without.saturating_sub(self.last_without));
            self.last_without = without;
        }
        (self.last, self.removed) = (prompt, removal.removed);
        self.savings += added;
        added
    }

    /// Tokens of the last prompt; 0 before the first.
    pub fn last(self) -> usize {
        self.last
    }

    /// Tokens that the provider reads from its cache of so many unchanged ones: as large a share as the last time.
    fn read_of(self, tokens: usize) -> usize {
        tokens.saturating_mul(self.read).checked_div(self.unchanged).unwrap_or(tokens)
    }

    /// Tokens that the last request would have had more.
    fn missing(self) -> usize {
        self.last_without.saturating_sub(self.last)
    }

    /// Returns the number of requests until doing nothing fills `room` more tokens; `None` if that is not known yet.
    pub fn requests_until(self, room: usize) -> Option<usize> {
        let earlier = self.savings.requests.checked_sub(1)?;
        room.saturating_sub(self.missing()).saturating_mul(earlier).checked_div(self.grown)
    }
}

impl Savings {
    /// Returns the cost of the requests that were sent, in tokens of plain input.
    pub fn cost(self, prices: Prices) -> f64 {
        cost(self.new, self.cached, prices)
    }

    /// Returns the cost that they would have had.
    pub fn cost_without(self, prices: Prices) -> f64 {
        cost(self.new_without, self.cached_without, prices)
    }
}

#[allow(clippy::cast_precision_loss)] // Tokens stay far below 2^52.
fn cost(new: usize, cached: usize, prices: Prices) -> f64 {
    new as f64 * prices.cache_write + cached as f64 * prices.cache_read
}

impl AddAssign for Savings {
    fn add_assign(&mut self, other: Savings) {
        self.requests = self.requests.saturating_add(other.requests);
        self.new = self.new.saturating_add(other.new);
        self.cached = self.cached.saturating_add(other.cached);
        self.new_without = self.new_without.saturating_add(other.new_without);
        self.cached_without = self.cached_without.saturating_add(other.cached_without);
    }
}
