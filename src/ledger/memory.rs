//! The counts of texts, by their digests.

use std::collections::HashMap;

/// A count that was not used for this many generations is dropped.
const GENERATIONS_KEPT: u32 = 16;

/// Every measurement of a conversation is a generation, and so are this many texts that were asked for one by one.
const TEXTS_A_GENERATION: u32 = 1_024;

/// Fewer counts than this are never swept: they take about 3 MB. Beyond it a sweep waits until the ledger has doubled, so
/// that its cost is spread over the counts that made it due.
const SMALLEST_SWEEP: usize = 65_536;

/// Counts of short texts, such as ids and names of tools, in a table of 512 KB, which the second cache of a processor holds: one
/// takes the place of another.
const SHORT: usize = 16_384;

struct MemoryEntry {
    count: usize,
    generation: u32,
}

/// Counts of texts. Counts that were not used for a while are dropped.
#[derive(Default)]
pub(super) struct Memory {
    // Keyed against texts that are made to collide, which the hash that is the key is not.
    counts: HashMap<u128, MemoryEntry, foldhash::fast::RandomState>,
    generation: u32,
    /// Texts asked for one by one in this generation.
    texts: u32,
    sweep_above: usize,
    short: Vec<(u128, usize)>,
}

impl Memory {
    /// Number of texts.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// A text is asked for by itself.
    pub fn next_text(&mut self) {
        self.texts += 1;
        if self.texts == TEXTS_A_GENERATION {
            self.next_generation();
        }
    }

    /// From here on what is asked for is younger.
    pub fn next_generation(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.texts = 0;
    }

    /// The count of a text that is remembered.
    pub fn recall(&mut self, key: u128) -> Option<usize> {
        let remembered = self.counts.get_mut(&key)?;
        remembered.generation = self.generation;
        Some(remembered.count)
    }

    /// The count of a short text that is remembered.
    pub fn recall_short(&self, key: u128) -> Option<usize> {
        self.short.get(place(key)).filter(|(known, _)| *known == key).map(|(_, count)| *count)
    }

    /// Remembers the count of a short text.
    pub fn remember_short(&mut self, key: u128, count: usize) {
        // No key is 0, but by a chance of one in 2^128.
        self.short.resize(SHORT, (0, 0));
        self.short[place(key)] = (key, count);
    }

    /// Remembers counts, and now and then forgets old ones.
    pub fn remember(&mut self, counts: impl Iterator<Item = (u128, usize)>) {
        let generation = self.generation;
        self.counts.extend(counts.map(|(key, count)| (key, MemoryEntry { count, generation })));
        if self.counts.len() > self.sweep_above {
            self.counts.retain(|_, entry| generation.wrapping_sub(entry.generation) < GENERATIONS_KEPT);
            self.sweep_above = SMALLEST_SWEEP.max(2 * self.counts.len());
        }
    }
}

// The lowest bits are as good as any of a hash.
#[allow(clippy::cast_possible_truncation)]
fn place(key: u128) -> usize {
    key as usize % SHORT
}
