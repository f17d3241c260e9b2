//! Token counts, remembered.
//!
//! A turn adds a little to a long history, so counting the history again should cost little more than what is new. The
//! ledger keys each count by a 128-bit digest of the text itself: an edit in place is noticed, whoever made it, a text
//! that is repeated is counted once, and nothing of the host is held on to.

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
pub use digest::{EntryDigest, entry_digests, fingerprint};
pub use measured::Measured;

/// A text shorter than this costs less to count than to look up among all others.
const SHORT: usize = 8;

/// From this many bytes of unknown text on, counting is shared among threads; below it, starting one costs more.
const WORTH_A_THREAD: usize = 128 * 1024;

/// A counter that remembers what it has counted and learns from what a provider reports. Shared freely between threads.
pub struct Ledger {
    counter: Arc<dyn CountTokens>,
    known: Shared<Memory>,
    calibration: Calibration,
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("counter", &self.counter).finish_non_exhaustive()
    }
}

impl Ledger {
    /// An empty ledger over `counter`.
    pub fn new(counter: Arc<dyn CountTokens>) -> Ledger {
        Ledger { counter, known: Shared::default(), calibration: Calibration::default() }
    }

    /// The counter underneath, which learns nothing.
    pub fn counter(&self) -> &dyn CountTokens {
        &*self.counter
    }

    /// Number of texts that it remembers; 0 while that cannot be text digest.
    pub fn remembered(&self) -> usize {
        self.known.lock().map_or(0, |known| known.len())
    }

    /// Returns the ledger with its current scale. Everything that is counted with it has one scale, whatever is learned
    /// meanwhile.
    pub fn now(&self) -> Counting<'_> {
        Counting { ledger: self, scale: self.calibration.scale() }
    }

    /// Measures at the current scale, as [`Counting::measure`] does.
    pub fn measure<T: Text + Sync>(&self, conversation: &Conversation<T>) -> Measured {
        self.now().measure(conversation)
    }

    /// Learns that the provider counted `reported` tokens for a request whose messages were measured with this beginning,
    /// at so many tokens unscaled. See [`Calibration::observe`].
    pub fn observe(&self, beginning: u128, unscaled: usize, reported: usize) -> Learned {
        self.calibration.observe(beginning, unscaled, reported)
    }

    /// Tokens that the provider counts beside the messages of the conversation with this beginning, as far as reports say.
    pub fn beside(&self, beginning: u128) -> usize {
        self.calibration.remainder(beginning).map_or(0, Remainder::beside)
    }

    /// Tokens of a whole request: its messages, of `total` tokens, and what is beside them, which is the provider's
    /// own figure where the conversation was observed and `fixed` elsewhere. See [`Remainder::request`].
    pub fn request(&self, total: usize, beginning: u128, fixed: usize) -> usize {
        match self.calibration.remainder(beginning) {
            Some(remainder) => remainder.request(total),
            None => total.saturating_add(fixed),
        }
    }

    /// Tokens of a single text, unscaled. O(length) at memory speed when seen before.
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

    /// Counts of many texts, in their order. No lock is held while a text is counted.
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
