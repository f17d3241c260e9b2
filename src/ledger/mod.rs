//! Token counts, remembered.
//!
//! A turn adds a little to a long history, so counting the history again should cost little more than what is new. The
//! ledger keys each count by a 128-bit digest of the text itself: an edit in place is noticed, whoever made it, a text
//! that is repeated is counted once, and nothing of the host is held on to.

mod digest;
mod measured;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::message::{Conversation, Document, Item, Part, Text};
use crate::parallel;
use crate::tokens::{Calibration, CountTokens, Learned, MediaRule, Overhead, Precision, Scale, TextKind};

use digest::{beginning, digest, key};
use measured::{MeasuredMessage, MeasuredPart};

pub use digest::fingerprint;
pub use measured::Measured;

/// A text this short costs less to count than to look up.
const NOT_WORTH_REMEMBERING: usize = 8;

/// A count that nobody asked for in this many generations is forgotten.
const GENERATIONS_KEPT: u32 = 16;

/// Every measurement of a conversation is a generation, and so are this many texts that were asked for one by one.
const TEXTS_A_GENERATION: u32 = 1_024;

/// Fewer counts than this are never swept: they take about 3 MB. Beyond it a sweep waits until the ledger has doubled, so
/// that its cost is spread over the counts that made it due.
const SMALLEST_SWEEP: usize = 65_536;

/// From this many bytes of unknown text on, counting is shared among threads; below it, starting one costs more.
const WORTH_A_THREAD: usize = 128 * 1024;

struct Remembered {
    count: usize,
    generation: u32,
}

#[derive(Default)]
struct Known {
    // Keyed against texts that are made to collide, which the hash that is the key is not.
    counts: HashMap<u128, Remembered, foldhash::fast::RandomState>,
    generation: u32,
    /// Texts asked for one by one in this generation.
    texts: u32,
    sweep_above: usize,
}

impl Known {
    fn next_generation(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.texts = 0;
    }

    fn recall(&mut self, key: u128) -> Option<usize> {
        let remembered = self.counts.get_mut(&key)?;
        remembered.generation = self.generation;
        Some(remembered.count)
    }

    fn remember(&mut self, counts: impl Iterator<Item = (u128, usize)>) {
        let generation = self.generation;
        self.counts.extend(counts.map(|(key, count)| (key, Remembered { count, generation })));
        if self.counts.len() > self.sweep_above {
            self.counts.retain(|_, entry| generation.wrapping_sub(entry.generation) < GENERATIONS_KEPT);
            self.sweep_above = SMALLEST_SWEEP.max(2 * self.counts.len());
        }
    }
}

/// A counter that remembers what it has counted and learns from what a provider reports. Shared freely between threads.
pub struct Ledger {
    counter: Arc<dyn CountTokens>,
    known: Mutex<Known>,
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
        Ledger { counter, known: Mutex::default(), calibration: Calibration::default() }
    }

    /// The counter underneath, which learns nothing.
    pub fn counter(&self) -> &dyn CountTokens {
        &*self.counter
    }

    /// Number of texts that it remembers.
    pub fn remembered(&self) -> usize {
        self.known.lock().counts.len()
    }

    /// The ledger as it counts at this moment. What is counted with it is counted at one scale, whatever is learned
    /// meanwhile.
    pub fn now(&self) -> Counting<'_> {
        Counting { ledger: self, scale: self.calibration.scale() }
    }

    /// What [`Counting::measure`] says at this moment.
    pub fn measure<T: Text + Sync>(&self, conversation: &Conversation<T>) -> Measured {
        self.now().measure(conversation)
    }

    /// Learns that the provider counted `reported` tokens for a request whose messages were measured with this beginning,
    /// at so many tokens unscaled. See [`Calibration::observe`].
    pub fn observe(&self, beginning: u128, unscaled: usize, reported: usize) -> Learned {
        self.calibration.observe(beginning, unscaled, reported)
    }

    /// Tokens beside the messages of the conversation with this beginning: `fixed`, or more if the provider counts more.
    pub fn beside(&self, beginning: u128, fixed: usize) -> usize {
        let reported = self.calibration.beside(beginning).and_then(|beside| usize::try_from(beside).ok());
        fixed.max(reported.unwrap_or_default())
    }

    /// Tokens of a whole request: its messages, of `total` tokens, and what stands beside them, which is the provider's
    /// own figure where the conversation was observed and `fixed` elsewhere.
    pub fn request(&self, total: usize, beginning: u128, fixed: usize) -> usize {
        match self.calibration.beside(beginning) {
            Some(beside) => total.saturating_add_signed(beside),
            None => total.saturating_add(fixed),
        }
    }

    /// Tokens of a single text, unscaled. O(length) at memory speed when seen before.
    pub fn count_text<T: Text + ?Sized>(&self, text: &T, kind: TextKind) -> usize {
        if text.len() < NOT_WORTH_REMEMBERING {
            return self.counter.count(text, kind);
        }
        let key = key(text, kind);
        {
            let mut known = self.known.lock();
            known.texts += 1;
            if known.texts == TEXTS_A_GENERATION {
                known.next_generation();
            }
            if let Some(count) = known.recall(key) {
                return count;
            }
        }
        let count = self.counter.count(text, kind);
        self.known.lock().remember(std::iter::once((key, count)));
        count
    }

    /// Counts of many texts, in their order. No lock is held while a text is counted.
    fn count_all(&self, texts: &Texts<'_>) -> Vec<usize> {
        let mut counts = vec![0; texts.texts.len()];
        let mut missing = Vec::new();
        {
            let mut known = self.known.lock();
            known.next_generation();
            for (index, (text, _)) in texts.texts.iter().enumerate() {
                let worth = text.len() >= NOT_WORTH_REMEMBERING;
                match worth.then(|| known.recall(texts.keys[index])).flatten() {
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
        let worth = missing.iter().filter(|index| texts.texts[**index].0.len() >= NOT_WORTH_REMEMBERING);
        self.known.lock().remember(worth.map(|index| (texts.keys[*index], counts[*index])));
        counts
    }
}

/// A ledger at one moment: every count is at the same scale.
#[derive(Debug, Clone, Copy)]
pub struct Counting<'a> {
    ledger: &'a Ledger,
    scale: Scale,
}

impl Counting<'_> {
    /// The scale that was learned.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Tokens of every message of `conversation`. Takes the digest of every text, O(length) at memory speed where the
    /// host does not know it, and counts only those not seen before, on several threads where they are long.
    pub fn measure<T: Text + Sync>(&self, conversation: &Conversation<T>) -> Measured {
        let texts = Texts::of(conversation);
        let counts = self.ledger.count_all(&texts);
        let unscaled_overhead = self.ledger.counter.overhead();
        let mut measuring = Measuring {
            counts: counts.iter(),
            scale: self.scale,
            rule: self.media_rule(),
            overhead: self.overhead(),
            unscaled_overhead,
            unscaled: 0,
        };
        let mut measured = Measured { beginning: beginning(conversation), ..Measured::default() };
        let mut digested = 0;
        for message in &conversation.messages {
            let first_part = measured.parts.len();
            let mut total = measuring.frame(|overhead| overhead.message);
            for part in &message.parts {
                let first_item = measured.items.len();
                let part = measuring.part(part, &mut measured.items);
                measured.parts.push(MeasuredPart { total: part, first_item });
                total += part;
            }
            let seen = counts.len() - measuring.counts.len();
            let digest = digest(message, &texts.keys[digested..seen]);
            digested = seen;
            measured.messages.push(MeasuredMessage { total, first_part, digest });
        }
        measured.unscaled = measuring.unscaled;
        measured
    }

    /// Tokens of a text that is asked for again and again, such as a system prompt. O(length) at memory speed when seen
    /// before.
    pub fn count_remembered<T: Text + ?Sized>(&self, text: &T, kind: TextKind) -> usize {
        self.scale.of(self.ledger.count_text(text, kind))
    }
}

impl CountTokens for Counting<'_> {
    fn name(&self) -> &str {
        self.ledger.counter.name()
    }

    fn count(&self, text: &str, kind: TextKind) -> usize {
        self.scale.of(self.ledger.counter.count(text, kind))
    }

    fn fits(&self, text: &str, kind: TextKind, limit: usize) -> bool {
        self.ledger.counter.fits(text, kind, self.scale.most_within(limit))
    }

    fn overhead(&self) -> Overhead {
        self.ledger.counter.overhead().map(|tokens| self.scale.of(tokens))
    }

    fn precision(&self) -> Precision {
        if self.scale == Scale::ONE { self.ledger.counter.precision() } else { Precision::Estimated }
    }

    fn media_rule(&self) -> MediaRule {
        self.ledger.counter.media_rule()
    }
}

/// Adds up the counts of a conversation, at a scale and without.
struct Measuring<'a> {
    /// Those of its texts, in their order.
    counts: std::slice::Iter<'a, usize>,
    scale: Scale,
    rule: MediaRule,
    overhead: Overhead,
    unscaled_overhead: Overhead,
    unscaled: usize,
}

impl Measuring<'_> {
    fn frame(&mut self, which: impl Fn(&Overhead) -> usize) -> usize {
        self.unscaled += which(&self.unscaled_overhead);
        which(&self.overhead)
    }

    fn text(&mut self) -> usize {
        let count = self.counts.next().copied().unwrap_or_default(); // OK because each text has its count.
        self.unscaled += count;
        self.scale.of(count)
    }

    fn document<T>(&mut self, document: &Document<T>) -> usize {
        let media: usize = document.media.iter().map(|media| self.rule.tokens(*media)).sum();
        self.unscaled += media;
        self.scale.of(media) + document.texts.iter().map(|_| self.text()).sum::<usize>()
    }

    fn part<T>(&mut self, part: &Part<T>, items: &mut Vec<usize>) -> usize {
        match part {
            Part::CachePoint => 0,
            Part::Media(media) => self.media(self.rule.tokens(*media)) + self.frame(|overhead| overhead.block),
            Part::Document(document) => self.document(document) + self.frame(|overhead| overhead.block),
            Part::Text(_) | Part::Opaque(_) => self.text() + self.frame(|overhead| overhead.block),
            Part::Reasoning { .. } => self.text() + self.frame(|overhead| overhead.reasoning),
            Part::Call { .. } => self.text() + self.text() + self.text() + self.frame(|overhead| overhead.call),
            Part::Result { items: pieces, .. } => {
                let mut total = self.text() + self.frame(|overhead| overhead.result);
                for piece in pieces {
                    let tokens = match piece {
                        Item::Media(media) => self.media(self.rule.tokens(*media)),
                        Item::Document(document) => self.document(document),
                        Item::Text(_) | Item::Json(_) | Item::Opaque(_) => self.text(),
                    };
                    items.push(tokens);
                    total += tokens;
                }
                total
            }
        }
    }

    fn media(&mut self, tokens: usize) -> usize {
        self.unscaled += tokens;
        self.scale.of(tokens)
    }
}

/// The texts of a conversation that count, in their order, with the keys that they are remembered by.
#[derive(Default)]
struct Texts<'a> {
    texts: Vec<(&'a str, TextKind)>,
    keys: Vec<u128>,
}

impl<'a> Texts<'a> {
    fn of<T: Text>(conversation: &'a Conversation<T>) -> Texts<'a> {
        /// Most messages have a call or a result, with its id.
        const TEXTS_A_MESSAGE: usize = 4;
        let expected = conversation.messages.len() * TEXTS_A_MESSAGE;
        let mut texts = Texts { texts: Vec::with_capacity(expected), keys: Vec::with_capacity(expected) };
        for message in &conversation.messages {
            message.texts(|text, kind| {
                texts.texts.push((text, kind));
                texts.keys.push(key(text, kind));
            });
        }
        texts
    }
}

/// The text of an item and its kind; `None` for media and files.
pub fn item_text<T: Text>(item: &Item<T>) -> Option<(&str, TextKind)> {
    match item {
        Item::Text(text) => Some((text, TextKind::ToolOutput)),
        Item::Json(text) | Item::Opaque(text) => Some((text, TextKind::Json)),
        Item::Media(_) | Item::Document(_) => None,
    }
}
