//! Token counts, remembered.
//!
//! A turn adds a little to a long history, so counting the history again should cost little more than what is new. The
//! ledger keys each count by a 128-bit hash of the text itself: an edit in place is noticed, whoever made it, a text
//! that is repeated is counted once, and nothing of the host is held on to.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::media::Media;
use crate::message::{Conversation, Document, Item, Message, Part, Role, Signature, Text};
use crate::parallel;
use crate::tokens::{CountTokens, MediaRule, TextKind};

/// A text this short costs less to count than to look up.
const NOT_WORTH_REMEMBERING: usize = 8;

/// A count that no measurement asked for in this many measurements is forgotten.
const GENERATIONS_KEPT: u32 = 16;

/// Fewer counts than this are never swept: they take about 3 MB. Beyond it a sweep waits until the ledger has doubled, so
/// that its cost is spread over the counts that made it due.
const SMALLEST_SWEEP: usize = 65_536;

/// From this many bytes of unknown text on, counting is shared among threads; below it, starting one costs more.
const WORTH_A_THREAD: usize = 128 * 1024;

/// Tokens of a conversation, and a digest of what was counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Measured {
    messages: Vec<MeasuredMessage>,
    parts: Vec<MeasuredPart>,
    items: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MeasuredMessage {
    total: usize,
    first_part: usize,
    digest: u128,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MeasuredPart {
    total: usize,
    first_item: usize,
}

impl Measured {
    /// Tokens of everything, overheads included.
    pub fn total(&self) -> usize {
        self.messages.iter().map(|message| message.total).sum()
    }

    /// Tokens of a message, its overhead and that of its parts included.
    pub fn message(&self, message: usize) -> usize {
        self.messages[message].total
    }

    /// Tokens of a part of a message, its overhead included.
    pub fn part(&self, message: usize, part: usize) -> usize {
        self.parts[self.messages[message].first_part + part].total
    }

    /// Tokens of an item of a part that is a tool result.
    pub fn item(&self, message: usize, part: usize, item: usize) -> usize {
        self.items[self.item_index(message, part, item)]
    }

    /// Where the items of the tool results of a message are among all items of the conversation.
    pub fn items_of(&self, message: usize) -> Range<usize> {
        let first = |message: usize| match self.messages.get(message).map(|message| message.first_part) {
            Some(part) if part < self.parts.len() => self.parts[part].first_item,
            _ => self.items.len(),
        };
        first(message)..first(message + 1)
    }

    /// Where an item of a tool result is among all items of the conversation.
    pub fn item_index(&self, message: usize, part: usize, item: usize) -> usize {
        self.parts[self.messages[message].first_part + part].first_item + item
    }

    /// Number of items of tool results in the conversation.
    pub fn item_count(&self) -> usize {
        self.items.len()
    }

    /// A digest of some messages: of every text that counts, and of the order of roles and parts.
    pub fn digest(&self, messages: Range<usize>) -> u128 {
        self.messages[messages].iter().fold(0, |digest, message| mix(digest, message.digest))
    }
}

struct Remembered {
    count: usize,
    generation: u32,
}

#[derive(Default)]
struct Known {
    // Keyed against texts that are made to collide, which the hash that is the key is not.
    counts: HashMap<u128, Remembered, foldhash::fast::RandomState>,
    generation: u32,
    sweep_above: usize,
}

/// A counter that remembers what it has counted. Shared freely between threads.
pub struct Ledger {
    counter: Arc<dyn CountTokens>,
    known: Mutex<Known>,
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("counter", &self.counter).finish_non_exhaustive()
    }
}

impl Ledger {
    /// An empty ledger over `counter`.
    pub fn new(counter: Arc<dyn CountTokens>) -> Ledger {
        Ledger { counter, known: Mutex::default() }
    }

    /// The counter underneath.
    pub fn counter(&self) -> &dyn CountTokens {
        &*self.counter
    }

    /// Number of texts that it remembers.
    pub fn remembered(&self) -> usize {
        self.known.lock().counts.len()
    }

    /// Tokens of every message of `conversation`. Hashes every text, O(length) at memory speed, and counts only
    /// those not seen before, on several threads where they are long.
    pub fn measure<T: Text + Sync>(&self, conversation: &Conversation<T>) -> Measured {
        let texts = Texts::of(conversation);
        {
            let mut known = self.known.lock();
            known.generation = known.generation.wrapping_add(1);
        }
        let counts = self.count_all(&texts);
        let mut measured = Measured::default();
        let (mut next, mut digested) = (counts.iter().copied(), 0);
        for message in &conversation.messages {
            let first_part = measured.parts.len();
            let mut total = self.counter.overhead().message;
            for part in &message.parts {
                let first_item = measured.items.len();
                let part = self.measure_part(part, &mut next, &mut measured.items);
                measured.parts.push(MeasuredPart { total: part, first_item });
                total += part;
            }
            let seen = counts.len() - next.len();
            let digest = digest(message, &texts.keys[digested..seen]);
            digested = seen;
            measured.messages.push(MeasuredMessage { total, first_part, digest });
        }
        measured
    }

    fn measure_part<T: Text>(
        &self,
        part: &Part<T>,
        counts: &mut impl Iterator<Item = usize>,
        items: &mut Vec<usize>,
    ) -> usize {
        let rule = self.counter.media_rule();
        let mut next = || counts.next().unwrap_or_default(); // OK because each text of a part has its count.
        let overhead = self.counter.overhead();
        match part {
            Part::CachePoint => 0,
            Part::Media(media) => rule.tokens(*media) + overhead.block,
            Part::Document(document) => document_tokens(document, rule, &mut next) + overhead.block,
            Part::Text(_) | Part::Opaque(_) => next() + overhead.block,
            Part::Reasoning { .. } => next() + overhead.reasoning,
            Part::Call { .. } => next() + next() + next() + overhead.call,
            Part::Result { items: pieces, .. } => {
                let mut total = next();
                for piece in pieces {
                    let tokens = match piece {
                        Item::Media(media) => rule.tokens(*media),
                        Item::Document(document) => document_tokens(document, rule, &mut next),
                        Item::Text(_) | Item::Json(_) | Item::Opaque(_) => next(),
                    };
                    items.push(tokens);
                    total += tokens;
                }
                total + overhead.result
            }
        }
    }

    /// Tokens of a text that is asked for again and again, such as a system prompt. O(length) at memory speed when seen
    /// before.
    pub fn count_remembered(&self, text: &str, kind: TextKind) -> usize {
        let mut texts = Texts::default();
        texts.push(text, kind);
        self.count_all(&texts)[0]
    }

    /// Counts of many texts, in their order. No lock is held while a text is counted.
    fn count_all(&self, texts: &Texts<'_>) -> Vec<usize> {
        let mut counts = vec![0; texts.texts.len()];
        let mut missing = Vec::new();
        {
            let mut known = self.known.lock();
            let known = &mut *known;
            for (index, (text, _)) in texts.texts.iter().enumerate() {
                let remembered =
                    if text.len() < NOT_WORTH_REMEMBERING { None } else { known.counts.get_mut(&texts.keys[index]) };
                match remembered {
                    Some(remembered) => {
                        remembered.generation = known.generation;
                        counts[index] = remembered.count;
                    }
                    None => missing.push(index),
                }
            }
        }
        let count = |index: &usize| {
            let (text, kind) = texts.texts[*index];
            self.counter.count(text, kind)
        };
        let counted = parallel::map(&missing, |index| texts.texts[*index].0.len(), WORTH_A_THREAD, count);
        for (index, count) in missing.iter().zip(counted) {
            counts[*index] = count;
        }
        self.remember(texts, &missing, &counts);
        counts
    }

    fn remember(&self, texts: &Texts<'_>, missing: &[usize], counts: &[usize]) {
        if missing.is_empty() {
            return;
        }
        let mut known = self.known.lock();
        let known = &mut *known;
        let generation = known.generation;
        for index in missing.iter().filter(|index| texts.texts[**index].0.len() >= NOT_WORTH_REMEMBERING) {
            known.counts.insert(texts.keys[*index], Remembered { count: counts[*index], generation });
        }
        if known.counts.len() > known.sweep_above {
            known.counts.retain(|_, entry| generation.wrapping_sub(entry.generation) < GENERATIONS_KEPT);
            known.sweep_above = SMALLEST_SWEEP.max(2 * known.counts.len());
        }
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
        for part in conversation.messages.iter().flat_map(|message| &message.parts) {
            match part {
                Part::Text(text) | Part::Reasoning { text, .. } => texts.push(text, TextKind::Prose),
                Part::Call { id, name, input } => {
                    texts.push(id, TextKind::Identifier);
                    texts.push(name, TextKind::Prose);
                    texts.push(input, TextKind::Json);
                }
                Part::Result { id, items } => {
                    texts.push(id, TextKind::Identifier);
                    for item in items {
                        match item {
                            Item::Document(document) => texts.push_document(document),
                            item => item_text(item).into_iter().for_each(|(text, kind)| texts.push(text, kind)),
                        }
                    }
                }
                Part::Opaque(text) => texts.push(text, TextKind::Json),
                Part::Document(document) => texts.push_document(document),
                Part::Media(_) | Part::CachePoint => {}
            }
        }
        texts
    }

    /// A file is a table, code or a log as often as prose, and what a tool prints is no less dense.
    fn push_document<T: Text>(&mut self, document: &'a Document<T>) {
        document.texts.iter().for_each(|text| self.push(text, TextKind::ToolOutput));
    }

    fn push(&mut self, text: &'a str, kind: TextKind) {
        self.texts.push((text, kind));
        self.keys.push(xxh3_128_with_seed(text.as_bytes(), kind as u64));
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

/// The digest that [`Measured::digest`] gives of the whole conversation, without counting it.
pub fn fingerprint<T: Text>(conversation: &Conversation<T>) -> u128 {
    let keys = Texts::of(conversation).keys;
    let mut rest = keys.as_slice();
    conversation.messages.iter().fold(0, |fingerprint, message| {
        let (own, others) = rest.split_at(texts_in(message));
        rest = others;
        mix(fingerprint, digest(message, own))
    })
}

fn texts_in<T>(message: &Message<T>) -> usize {
    let in_part = |part: &Part<T>| match part {
        Part::Media(_) | Part::CachePoint => 0,
        Part::Text(_) | Part::Reasoning { .. } | Part::Opaque(_) => 1,
        Part::Call { .. } => 3,
        Part::Document(document) => document.texts.len(),
        Part::Result { items, .. } => 1 + items.iter().map(texts_in_item).sum::<usize>(),
    };
    message.parts.iter().map(in_part).sum()
}

fn texts_in_item<T>(item: &Item<T>) -> usize {
    match item {
        Item::Media(_) => 0,
        Item::Text(_) | Item::Json(_) | Item::Opaque(_) => 1,
        Item::Document(document) => document.texts.len(),
    }
}

/// A digest of the texts of a message, and of the kinds and the order of everything in it.
fn digest<T>(message: &Message<T>, keys: &[u128]) -> u128 {
    /// Apart from every number that stands for a kind of part or item.
    const MEDIA: u128 = 1 << 127;
    let role = match message.role {
        Role::System => 1,
        Role::User => 2,
        Role::Assistant => 3,
    };
    let sized = |digest, media: &Media| mix(digest, MEDIA | media.key());
    let file = |digest, document: &Document<T>| {
        document.media.iter().fold(mix(digest, MEDIA ^ document.texts.len() as u128), sized)
    };
    let mut digest = mix(role, message.parts.len() as u128);
    for part in &message.parts {
        digest = match part {
            Part::Text(_) => mix(digest, 1),
            Part::Reasoning { signature, .. } => mix(digest, 2 + 8 * u128::from(*signature == Signature::Signed)),
            Part::Call { .. } => mix(digest, 3),
            Part::CachePoint => mix(digest, 4),
            Part::Opaque(_) => mix(digest, 5),
            Part::Media(media) => sized(digest, media),
            Part::Document(document) => file(digest, document),
            Part::Result { items, .. } => items.iter().fold(mix(digest, 6), |digest, item| match item {
                Item::Text(_) => mix(digest, 1),
                Item::Json(_) => mix(digest, 2),
                Item::Opaque(_) => mix(digest, 3),
                Item::Media(media) => sized(digest, media),
                Item::Document(document) => file(digest, document),
            }),
        };
    }
    keys.iter().fold(digest, |digest, key| mix(digest, *key))
}

/// Tokens of a file: `count` gives those of its texts, one after the other.
fn document_tokens<T>(document: &Document<T>, rule: MediaRule, mut count: impl FnMut() -> usize) -> usize {
    let texts: usize = document.texts.iter().map(|_| count()).sum();
    texts + document.media.iter().map(|media| rule.tokens(*media)).sum::<usize>()
}

/// Folds a hash into a digest so that order matters.
fn mix(digest: u128, hash: u128) -> u128 {
    /// An odd constant with evenly spread bits (the golden ratio in 128 bits), as multiplicative hashing asks for.
    const SPREAD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    (digest.rotate_left(29) ^ hash).wrapping_mul(SPREAD)
}
