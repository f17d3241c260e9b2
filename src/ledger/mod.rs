//! Cached token counts.
//!
//! A turn adds a little to a long history, so counting it again should cost little more than its new messages. The
//! ledger caches each count by a 128-bit digest of the text itself. So every edit in place is noticed, a repeated text
//! is counted once, and no object of the host is kept alive.

mod counting;
mod digest;
mod measured;
mod measuring;
mod memory;

use std::fmt;
use std::sync::Arc;

use crate::message::{Conversation, Text};
use crate::parallel;
use crate::shared::Shared;
use crate::tokens::{Calibration, CountTokens, Learned, Remainder, TextKind};

use digest::key;
use measuring::Texts;
use memory::Memory;

pub use counting::Counting;
pub use digest::{Beginning, EntryDigest, entry_digests, fingerprint};
pub use measured::Measured;

/// Counting a shorter text is cheaper than looking it up.
const SHORT: usize = 8;

/// With at least this many bytes of new text, threads share the counting. With less, starting a thread costs more.
const WORTH_A_THREAD: usize = 128 * 1024;

/// A counter that caches its counts and learns from the provider's reports. Threads may share it.
pub struct Ledger {
    counter: Arc<dyn CountTokens>,
    known: Shared<Memory>,
    calibration: Arc<Calibration>,
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("counter", &self.counter).finish_non_exhaustive()
    }
}

impl Ledger {
    /// Returns an empty ledger over `counter`.
    pub fn new(counter: Arc<dyn CountTokens>) -> Ledger {
        Ledger { counter, known: Shared::default(), calibration: Arc::default() }
    }

    /// Returns the ledger, learning together with another one if both count the tokens of one family.
    #[must_use]
    pub fn learning_with(self, other: &Ledger) -> Ledger {
        if self.counter.name() != other.counter.name() {
            return self;
        }
        Ledger { calibration: Arc::clone(&other.calibration), ..self }
    }

    /// Returns the underlying counter, which learns nothing.
    pub fn counter(&self) -> &dyn CountTokens {
        &*self.counter
    }

    /// Returns the number of cached texts; 0 if another thread holds the cache.
    pub fn remembered(&self) -> usize {
        self.known.lock().map_or(0, |known| known.len())
    }

    /// Returns the ledger at its current scale. Everything counted with it has the same scale, whatever is learned in
    /// the meantime.
    pub fn now(&self) -> Counting<'_> {
        Counting { ledger: self, scale: self.calibration.scale() }
    }

    /// Measures at the current scale, as [`Counting::measure`] does.
    pub fn measure<T: Text + Sync>(&self, conversation: &Conversation<T>) -> Measured {
        self.now().measure(conversation)
    }

    /// Learns that the provider counted `reported` tokens for a request whose messages have this beginning and this
    /// many unscaled tokens. See [`Calibration::observe`].
    pub fn observe(&self, beginning: Beginning, unscaled: usize, reported: usize) -> Learned {
        self.calibration.observe(beginning.first, unscaled, reported)
    }

    /// Returns the tokens that the provider counts beside the messages of the conversation with this beginning, by its
    /// reports.
    pub fn beside(&self, beginning: Beginning) -> usize {
        self.calibration.remainder(beginning.first).map_or(0, Remainder::beside)
    }

    /// Returns the tokens of a whole request: `total` tokens of messages, and the rest. The rest is the provider's own
    /// figure if the conversation was observed, otherwise `fixed`. See [`Remainder::request`].
    pub fn request(&self, total: usize, beginning: Beginning, fixed: usize) -> usize {
        match self.calibration.remainder(beginning.first) {
            Some(remainder) => remainder.request(total),
            None => total.saturating_add(fixed),
        }
    }

    /// Returns the scaled tokens of `limit` unscaled ones, at most `limit`.
    pub fn within_unscaled(&self, limit: usize) -> usize {
        self.calibration.scale().of(limit).min(limit)
    }

    /// Returns the unscaled tokens of a single text. O(length) at memory speed if it was counted before.
    pub fn count_text<T: Text + ?Sized>(&self, text: &T, kind: TextKind) -> usize {
        if text.len() < SHORT {
            return self.counter.count(text, kind);
        }
        let key = key(text, kind);
        if let Some(mut known) = self.known.lock() {
            known.next_text();
            if let Some(count) = known.recall(key) {
                return count;
            }
        }
        let count = self.counter.count(text, kind);
        if let Some(mut known) = self.known.lock() {
            known.remember(std::iter::once((key, count)));
        }
        count
    }

    /// Returns the counts of many texts, in order. No lock is held while a text is counted.
    fn count_all(&self, texts: &Texts<'_>) -> Vec<usize> {
        let mut counts = vec![0; texts.texts.len()];
        let mut missing = Vec::new();
        {
            let mut known = self.known.lock();
            if let Some(known) = &mut known {
                known.next_generation();
            }
            for (index, (text, _)) in texts.texts.iter().enumerate() {
                let key = texts.keys[index];
                let recall = |known: &mut Memory| match text.len() {
                    ..SHORT => known.recall_short(key),
                    _ => known.recall(key),
                };
                match known.as_deref_mut().and_then(recall) {
                    Some(count) => counts[index] = count,
                    None => missing.push(index),
                }
            }
        }
        if missing.is_empty() {
            return counts;
        }
        let count = |index: &usize| {
            let (text, kind) = texts.texts[*index];
            self.counter.count(text, kind)
        };
        let counted = parallel::map(&missing, |index| texts.texts[*index].0.len(), WORTH_A_THREAD, count);
        for (index, count) in missing.iter().zip(counted) {
            counts[*index] = count;
        }
        if let Some(mut known) = self.known.lock() {
            let (short, long): (Vec<usize>, Vec<usize>) =
                missing.into_iter().partition(|index| texts.texts[*index].0.len() < SHORT);
            for index in short {
                known.remember_short(texts.keys[index], counts[index]);
            }
            known.remember(long.into_iter().map(|index| (texts.keys[index], counts[index])));
        }
        counts
    }
}
