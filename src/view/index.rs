//! Finds the view of a history among many.
//!
//! A proxy serves many conversations, and nobody tells it which one a request belongs to. The index knows the histories that
//! each view was asked about by their digests, so a history is found by its longest beginning that was seen before.

use std::collections::{BTreeMap, HashMap};

use super::Prefixes;

/// Bytes of a digest in the index, with its place in two maps.
const DIGEST_BYTES: usize = 64;

/// Bytes of a view without messages and decisions, as measured by the growth of a process with 10,000 of them.
const VIEW_BYTES: usize = 512;

/// The view of a beginning of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundView<V> {
    /// The number of the view in the index.
    pub number: u64,
    /// The view.
    pub view: V,
    /// True if the history goes on from the last one that the view was asked about. Otherwise another branch of the
    /// conversation may have used the view since.
    pub is_last: bool,
}

/// Views that an index lets go of.
#[derive(Debug, PartialEq, Eq)]
pub struct DroppedViews<V> {
    /// They stay in the index, and may let go of the messages that they hold on to.
    pub released: Vec<V>,
    /// These views are no longer in the index.
    pub forgotten: Vec<V>,
}

#[derive(Debug)]
struct IndexedView<V> {
    view: V,
    /// Digests of the histories that it was asked about, oldest first.
    histories: Vec<u128>,
    /// Bytes of the messages that it holds on to; 0 once it is released.
    held: usize,
    /// Bytes of its decisions.
    decided: usize,
    /// The moment of its last use.
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
    /// The number of the view that was asked about a history, by the digest of the history.
    numbers: HashMap<u128, u64>,
    /// The numbers of the views, the least recently used first.
    order: BTreeMap<u64, u64>,
    /// Those of them that hold on to messages.
    holding: BTreeMap<u64, u64>,
    now: u64,
}

impl<V: Clone> Index<V> {
    /// An empty index. Views that hold on to more than `limit` bytes together are dropped, the least recently used first.
    pub fn new(limit: usize) -> Index<V> {
        let (views, numbers) = (HashMap::new(), HashMap::new());
        Index { limit, bytes: 0, views, numbers, order: BTreeMap::new(), holding: BTreeMap::new(), now: 0 }
    }

    /// Number of views.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// True if there are no views.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// The view that was asked about the longest beginning of a history. One lookup for each message that is new.
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

    /// Notes that a view is asked about a history of `held` bytes. `decided` are the bytes of its decisions.
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

    /// If there are too many bytes, all views but the newest release their messages; then views are dropped.
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
                // A branch may have been asked about the same history since.
                if self.numbers.get(history) == Some(&number) {
                    self.numbers.remove(history);
                }
            }
            dropped.forgotten.push(indexed.view);
        }
        dropped
    }
}
