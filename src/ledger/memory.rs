//! Caches the counts of texts by their digests.

use std::collections::HashMap;

/// A count that was not used for this many generations is dropped.
const GENERATIONS_KEPT: u32 = 16;

/// Every measurement of a conversation begins a generation, and so does this number of texts that are counted one by
/// one.
const TEXTS_A_GENERATION: u32 = 1_024;

/// Fewer counts are never swept: they take about 3 MB. With more, a sweep waits until the number has doubled, so that
/// its cost is spread over the new counts.
const SMALLEST_SWEEP: usize = 65_536;

/// Number of cached counts of short texts, such as ids and names of tools. The table takes 512 KB, which fits into a
/// processor's second-level cache. A new count replaces the one in its place.
const SHORT: usize = 16_384;

struct MemoryEntry {
    count: usize,
    generation: u32,
}

/// The counts of texts. Counts that were not used for a while are dropped.
#[derive(Default)]
pub(super) struct Memory {
    // The map's hash is seeded, so texts that are made to collide do not. The digest that is the key is not seeded.
    counts: HashMap<u128, MemoryEntry, foldhash::fast::RandomState>,
    generation: u32,
    /// Number of texts counted one by one in this generation.
    texts: u32,
    sweep_above: usize,
    short: Vec<(u128, usize)>,
}

impl Memory {
    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Notes that one text was counted by itself.
    pub fn next_text(&mut self) {
        self.texts += 1;
        if self.texts == TEXTS_A_GENERATION {
            self.next_generation();
        }
    }

    /// Begins a new generation.
    pub fn next_generation(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.texts = 0;
    }

    /// Returns the cached count of a text.
    pub fn recall(&mut self, key: u128) -> Option<usize> {
        let remembered = self.counts.get_mut(&key)?;
        remembered.generation = self.generation;
        Some(remembered.count)
    }

    /// Returns the cached count of a short text.
    pub fn recall_short(&self, key: u128) -> Option<usize> {
        self.short.get(place(key)).filter(|(known, _)| *known == key).map(|(_, count)| *count)
    }

    /// Caches the count of a short text.
    pub fn remember_short(&mut self, key: u128, count: usize) {
        // A key is 0 only by a chance of one in 2^128.
        self.short.resize(SHORT, (0, 0));
        self.short[place(key)] = (key, count);
    }

    /// Caches counts, and sometimes drops old ones.
    pub fn remember(&mut self, counts: impl Iterator<Item = (u128, usize)>) {
        let generation = self.generation;
        self.counts.extend(counts.map(|(key, count)| (key, MemoryEntry { count, generation })));
        if self.counts.len() > self.sweep_above {
            self.counts.retain(|_, entry| generation.wrapping_sub(entry.generation) < GENERATIONS_KEPT);
            self.sweep_above = SMALLEST_SWEEP.max(2 * self.counts.len());
        }
    }
}

// The lowest bits of a hash are as good as any.
#[allow(clippy::cast_possible_truncation)]
fn place(key: u128) -> usize {
    key as usize % SHORT
}
