//! Token counts, remembered.
//!
//! A turn adds a little to a long history, so counting the history again should cost little more than what is new. The
//! ledger keys each count by a 128-bit hash of the text itself: an edit in place is noticed, whoever made it, a text
//! that is repeated is counted once, and nothing of the host is held on to.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::message::{Conversation, Item, Message, Part, Text};
use crate::tokens::{CountTokens, TextKind};

/// A text this short costs less to count than to look up.
const NOT_WORTH_REMEMBERING: usize = 32;

/// A count that no measurement asked for in this many measurements is forgotten.
const GENERATIONS_KEPT: u32 = 16;

/// From this many bytes of unknown text on, counting is shared among threads; below it, starting one costs more.
const WORTH_A_THREAD: usize = 256 * 1024;

/// Threads that one measurement may use: beyond this the reading of the history dominates.
const MOST_THREADS: usize = 4;

/// Tokens of one message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageTokens {
    /// Everything, its overhead included.
    pub total: usize,
    /// For each part, everything, its overhead included.
    pub parts: Vec<PartTokens>,
}

/// Tokens of one part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartTokens {
    /// Everything, its overhead included.
    pub total: usize,
    /// For a tool result, the tokens of each of its items; empty for other parts.
    pub items: Vec<usize>,
}

struct Remembered {
    count: usize,
    generation: u32,
}

#[derive(Default)]
struct Known {
    counts: HashMap<u128, Remembered>,
    generation: u32,
}

/// A counter that remembers what it has counted. Shared freely between threads.
pub struct Ledger {
    counter: Arc<dyn CountTokens>,
    known: Mutex<Known>,
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("counter", &self.counter)
            .finish_non_exhaustive()
    }
}

impl Ledger {
    /// An empty ledger over `counter`.
    pub fn new(counter: Arc<dyn CountTokens>) -> Ledger {
        Ledger {
            counter,
            known: Mutex::default(),
        }
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
    /// those not seen before.
    pub fn measure<T: Text + Sync>(&self, conversation: &Conversation<T>) -> Vec<MessageTokens> {
        let texts: Vec<(&str, TextKind)> = conversation
            .messages
            .iter()
            .flat_map(texts_of_message)
            .collect();
        let counts = self.count_all(&texts);
        let mut next = counts.into_iter();
        conversation
            .messages
            .iter()
            .map(|message| self.assemble(message, &mut next))
            .collect()
    }

    /// Tokens of a text that is asked for again and again, such as a system prompt. O(length) at memory speed when seen
    /// before.
    pub fn count_remembered(&self, text: &str, kind: TextKind) -> usize {
        self.count_all(&[(text, kind)])[0]
    }

    /// Tokens of one tool-result item that holds `text`, as [`Ledger::measure`] would count it in its place.
    pub fn count_text(&self, text: &str, kind: TextKind) -> usize {
        self.counter.count(text, kind)
    }

    fn assemble<T: Text>(
        &self,
        message: &Message<T>,
        counts: &mut impl Iterator<Item = usize>,
    ) -> MessageTokens {
        let overhead = self.counter.overhead();
        let parts: Vec<PartTokens> = message
            .parts
            .iter()
            .map(|part| {
                let mut items = Vec::new();
                let content = match part {
                    Part::CachePoint => return PartTokens::default(),
                    Part::Media(kind) => kind.tokens(),
                    Part::Result { items: pieces, .. } => {
                        let id = counts.next().unwrap_or_default();
                        items = pieces
                            .iter()
                            .map(|item| match item {
                                Item::Media(kind) => kind.tokens(),
                                _ => counts.next().unwrap_or_default(),
                            })
                            .collect();
                        id + items.iter().sum::<usize>()
                    }
                    _ => counts.by_ref().take(texts_of_part(part).count()).sum(),
                };
                PartTokens {
                    total: content + overhead.block,
                    items,
                }
            })
            .collect();
        MessageTokens {
            total: overhead.message + parts.iter().map(|part| part.total).sum::<usize>(),
            parts,
        }
    }

    /// Counts of many texts, in their order. No lock is held while a text is counted.
    fn count_all(&self, texts: &[(&str, TextKind)]) -> Vec<usize> {
        let keys: Vec<Option<u128>> = texts
            .iter()
            .map(|(text, kind)| key_of(text, *kind))
            .collect();
        let mut counts = vec![0; texts.len()];
        let mut missing = Vec::new();
        {
            let mut known = self.known.lock();
            let known = &mut *known;
            known.generation = known.generation.wrapping_add(1);
            for (index, key) in keys.iter().enumerate() {
                match key.and_then(|key| known.counts.get_mut(&key)) {
                    Some(remembered) => {
                        remembered.generation = known.generation;
                        counts[index] = remembered.count;
                    }
                    None => missing.push(index),
                }
            }
        }
        self.count_missing(texts, &missing, &mut counts);
        self.remember(&keys, &missing, &counts);
        counts
    }

    fn count_missing(&self, texts: &[(&str, TextKind)], missing: &[usize], counts: &mut [usize]) {
        let count = |index: &usize| {
            let (text, kind) = texts[*index];
            self.counter.count(text, kind)
        };
        let bytes: usize = missing.iter().map(|index| texts[*index].0.len()).sum();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = (bytes / WORTH_A_THREAD).clamp(1, cores.min(MOST_THREADS));
        if threads == 1 {
            for index in missing {
                counts[*index] = count(index);
            }
            return;
        }
        let shares = shares_of_equal_size(texts, missing, bytes.div_ceil(threads));
        let counted: Vec<Vec<usize>> = std::thread::scope(|scope| {
            let workers: Vec<_> = shares
                .iter()
                .map(|share| scope.spawn(|| share.iter().map(count).collect()))
                .collect();
            // A worker only panics if counting does, and then the panic belongs to the caller.
            workers
                .into_iter()
                .map(|worker| {
                    worker
                        .join()
                        .unwrap_or_else(|p| std::panic::resume_unwind(p))
                })
                .collect()
        });
        for (index, value) in missing.iter().zip(counted.into_iter().flatten()) {
            counts[*index] = value;
        }
    }

    fn remember(&self, keys: &[Option<u128>], missing: &[usize], counts: &[usize]) {
        let mut known = self.known.lock();
        let generation = known.generation;
        for index in missing {
            if let Some(key) = keys[*index] {
                known.counts.insert(
                    key,
                    Remembered {
                        count: counts[*index],
                        generation,
                    },
                );
            }
        }
        // Looked at only when the ledger has outgrown what is in use, so that a turn does not pay for it.
        if known.counts.len() > 2 * keys.len() + usize::from(u16::MAX) {
            known
                .counts
                .retain(|_, entry| generation.wrapping_sub(entry.generation) < GENERATIONS_KEPT);
        }
    }
}

fn shares_of_equal_size<'m>(
    texts: &[(&str, TextKind)],
    missing: &'m [usize],
    size: usize,
) -> Vec<&'m [usize]> {
    let mut shares = Vec::new();
    let (mut start, mut filled) = (0, 0);
    for (position, index) in missing.iter().enumerate() {
        filled += texts[*index].0.len();
        if filled >= size {
            shares.push(&missing[start..=position]);
            (start, filled) = (position + 1, 0);
        }
    }
    if start < missing.len() {
        shares.push(&missing[start..]);
    }
    shares
}

fn key_of(text: &str, kind: TextKind) -> Option<u128> {
    let seed = match kind {
        TextKind::Prose => 1,
        TextKind::Json => 2,
        TextKind::ToolOutput => 3,
    };
    (text.len() >= NOT_WORTH_REMEMBERING).then(|| xxh3_128_with_seed(text.as_bytes(), seed))
}

/// The texts that count towards a message, in the order of its parts.
fn texts_of_message<T: Text>(message: &Message<T>) -> impl Iterator<Item = (&str, TextKind)> {
    message.parts.iter().flat_map(texts_of_part)
}

fn texts_of_part<T: Text>(part: &Part<T>) -> Box<dyn Iterator<Item = (&str, TextKind)> + '_> {
    match part {
        Part::Text(text) | Part::Reasoning { text, .. } => {
            Box::new(std::iter::once((&**text, TextKind::Prose)))
        }
        Part::Call { id, name, input } => Box::new(
            [
                (&**id, TextKind::Prose),
                (&**name, TextKind::Prose),
                (&**input, TextKind::Json),
            ]
            .into_iter(),
        ),
        Part::Result { id, items } => Box::new(
            std::iter::once((&**id, TextKind::Prose))
                .chain(items.iter().filter_map(|item| item_text(item))),
        ),
        Part::Opaque(text) => Box::new(std::iter::once((&**text, TextKind::Json))),
        Part::Media(_) | Part::CachePoint => Box::new(std::iter::empty()),
    }
}

/// The text of an item and its kind; `None` for media.
pub fn item_text<T: Text>(item: &Item<T>) -> Option<(&str, TextKind)> {
    match item {
        Item::Text(text) => Some((text, TextKind::ToolOutput)),
        Item::Json(text) | Item::Opaque(text) => Some((text, TextKind::Json)),
        Item::Media(_) => None,
    }
}

/// A digest of everything that [`Ledger::measure`] reads: two conversations with one fingerprint are the same to the
/// engine. O(length) at memory speed.
pub fn fingerprint<T: Text>(conversation: &Conversation<T>) -> u128 {
    let mut digest: u128 = 0;
    for message in &conversation.messages {
        digest = chain(
            digest ^ message.role as u128,
            &message.parts.len().to_le_bytes(),
        );
        for part in &message.parts {
            for (text, kind) in texts_of_part(part) {
                digest = chain(digest ^ kind as u128, text.as_bytes());
            }
        }
    }
    digest
}

fn chain(digest: u128, bytes: &[u8]) -> u128 {
    let hash = xxh3_128_with_seed(bytes, u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    xxh3_128_with_seed(&[digest.to_le_bytes(), hash.to_le_bytes()].concat(), 0)
}
