//! Finds the view that belongs to a history.
//!
//! A proxy serves many conversations, and is not told which one a request belongs to. The index has the digests of the
//! histories that each view was asked about, so it finds a history by its longest known beginning.

use std::collections::{BTreeMap, HashMap};

use super::Prefixes;

/// Bytes of a digest in the index, with its place in two maps.
const DIGEST_BYTES: usize = 64;

/// Bytes of a view without messages and decisions. `benches/capacity.py` measures the growth of a process with 10,000.
const VIEW_BYTES: usize = 512;

/// The view that knows a beginning of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundView<V> {
    /// The number of the view in the index.
    pub number: u64,
    /// The view.
    pub view: V,
    /// True if the history continues the last one that the view was asked about. Otherwise another branch of the
    /// conversation may have used the view since.
    pub is_last: bool,
}

/// Views that an index drops to free memory.
#[derive(Debug, PartialEq, Eq)]
pub struct DroppedViews<V> {
    /// These stay in the index, but may release their messages.
    pub released: Vec<V>,
    /// These views are no longer in the index.
    pub forgotten: Vec<V>,
}

#[derive(Debug)]
struct IndexedView<V> {
    view: V,
    /// Digests of the histories that the view was asked about, oldest first.
    histories: Vec<u128>,
    /// Bytes of the messages that the view holds; 0 after it was released.
    held: usize,
    /// Bytes of the view's decisions.
    decided: usize,
    /// The time of its last use, as a counter.
    used: u64,
}

impl<V> IndexedView<V> {
    fn bytes(&self) -> usize {
        VIEW_BYTES + self.held + self.decided + self.histories.len() * DIGEST_BYTES
    }
}

/// Views of many conversations, within a limit in bytes.
#[derive(Debug)]
pub struct Index<V> {
    limit: usize,
    bytes: usize,
    views: HashMap<u64, IndexedView<V>>,
    /// The number of the view for each history, by the digest of the history.
    numbers: HashMap<u128, u64>,
    /// The numbers of the views, least recently used first.
    order: BTreeMap<u64, u64>,
    /// The numbers of the views that hold messages.
    holding: BTreeMap<u64, u64>,
    now: u64,
}

impl<V: Clone> Index<V> {
    /// Returns an empty index. If the views together exceed `limit` bytes, the least recently used ones are dropped.
    pub fn new(limit: usize) -> Index<V> {
        let (views, numbers) = (HashMap::new(), HashMap::new());
        Index { limit, bytes: 0, views, numbers, order: BTreeMap::new(), holding: BTreeMap::new(), now: 0 }
    }

    /// Returns the number of views.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// True if there are no views.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Returns the view that knows the longest beginning of a history. One look-up for each new message.
    pub fn find(&self, prefixes: &Prefixes) -> Option<FoundView<V>> {
        let (prefix, number) = (1..=prefixes.len()).rev().find_map(|count| {
            let prefix = prefixes.at(count)?;
            Some((prefix, *self.numbers.get(&prefix)?))
        })?;
        let indexed = self.views.get(&number)?;
        Some(FoundView { number, view: indexed.view.clone(), is_last: indexed.histories.last() == Some(&prefix) })
    }

    /// Adds a view, and returns its number.
    pub fn add(&mut self, view: V) -> u64 {
        self.now += 1;
        let indexed = IndexedView { view, histories: Vec::new(), held: 0, decided: 0, used: self.now };
        self.bytes += indexed.bytes();
        self.views.insert(self.now, indexed);
        self.order.insert(self.now, self.now);
        self.now
    }

    /// Notes that a view was asked about a history of `held` bytes. `decided` is the size of its decisions.
    pub fn note(&mut self, number: u64, prefixes: &Prefixes, held: usize, decided: usize) -> DroppedViews<V> {
        if let Some(indexed) = self.views.get_mut(&number) {
            self.bytes -= indexed.bytes();
            let history = prefixes.last();
            if indexed.histories.last() != Some(&history) {
                indexed.histories.push(history);
            }
            self.numbers.insert(history, number);
            (indexed.held, indexed.decided) = (held, decided);
            self.bytes += indexed.bytes();
            self.now += 1;
            let before = std::mem::replace(&mut indexed.used, self.now);
            for order in [&mut self.order, &mut self.holding] {
                order.remove(&before);
                order.insert(self.now, number);
            }
        }
        self.shrink()
    }

    /// If there are too many bytes, all views but the newest release their messages. Then views are dropped.
    fn shrink(&mut self) -> DroppedViews<V> {
        let mut dropped = DroppedViews { released: Vec::new(), forgotten: Vec::new() };
        while self.bytes > self.limit && self.holding.len() > 1 {
            let Some((_, number)) = self.holding.pop_first() else { break };
            if let Some(indexed) = self.views.get_mut(&number) {
                self.bytes -= std::mem::take(&mut indexed.held);
                dropped.released.push(indexed.view.clone());
            }
        }
        while self.bytes > self.limit && self.views.len() > 1 {
            let oldest = self.order.pop_first().and_then(|(_, number)| Some((number, self.views.remove(&number)?)));
            let Some((number, indexed)) = oldest else { break };
            self.bytes -= indexed.bytes();
            self.holding.remove(&indexed.used);
            for history in &indexed.histories {
                // Another branch may have taken over the same history.
                if self.numbers.get(history) == Some(&number) {
                    self.numbers.remove(history);
                }
            }
            dropped.forgotten.push(indexed.view);
        }
        dropped
    }
}
