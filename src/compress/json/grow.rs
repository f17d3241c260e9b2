//! Orders the values of a JSON tree and chooses those to keep.
//!
//! A value is kept after its parent. Failures and their neighbours come first, then values in small containers and near
//! the root. The order does not depend on the budget.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use super::cut::shortened;
use super::failing::Failures;
use super::points::series;
use super::tape::{Kind, Tape, index};

/// Each doubling of the position in an array costs as much as this many levels of depth. So a few elements are kept
/// whole before many are kept in part.
const ARRAY_STEP: u32 = 2;

/// Number of an object's leaf members on one level. After them, each doubling costs a level. For members that are
/// containers, each doubling costs a level from the start.
const MEMBERS: usize = 8;

/// The longest possible marker, with the largest numbers that a text allows.
pub(super) const LONGEST_MARK: &str = r#","...": "123,456,789 more keys, 123,456,789 of them errors""#;

/// The part of a value that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kept {
    No,
    /// The value, without its children.
    Bare,
    /// The value, with some of its children.
    Filled,
}

/// A JSON tree, and its values that report a failure.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    pub(super) text: &'a str,
    pub(super) tape: Tape,
    failures: Failures,
    /// Arrays that are written as statistics of their numbers.
    series: HashMap<usize, String, RandomState>,
}

/// The priority of a value, lowest first: failures, their neighbours, and the rest by level.
type Want = (Class, u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Failing,
    Beside,
    Other,
}

/// A value that may be kept next. There may be as many candidates as values, so indices take 32 bits, as on the tape.
#[derive(Debug)]
struct Candidate {
    value: u32,
    parent: u32,
    /// The previous element of the array.
    before: Option<u32>,
}

impl Candidate {
    const ROOT: Candidate = Candidate { value: 0, parent: 0, before: None };
}

/// The values that may be kept next, by priority.
type Candidates = BTreeMap<Want, Vec<Candidate>>;

/// The limits of the kept values.
pub(super) struct Limit<'a> {
    /// The most that all values together may cost.
    pub(super) size: usize,
    /// The most that failures may cost.
    pub(super) failures: usize,
    /// The deepest level.
    pub(super) level: usize,
    /// Returns the cost of a text.
    pub(super) cost: &'a dyn Fn(&str) -> usize,
}

impl<'a> Tree<'a> {
    /// Parses `text`. `None` unless it is a JSON object or array. O(length).
    pub(super) fn of(text: &'a str) -> Option<Tree<'a>> {
        let tape = Tape::of(text).filter(|tape| tape.node(0).is_container())?;
        let failures = Failures::of(&tape, text);
        let series = series(&tape, text);
        Some(Tree { text, tape, failures, series })
    }

    /// Keeps only some of several similar failures wanted. The others are counted in the gaps. O(failures).
    pub(super) fn count_alike(&mut self) {
        self.failures.count_alike(&self.tape, self.text);
    }

    /// True if the value has children that are kept or left out separately.
    pub(super) fn is_inner(&self, index: usize) -> bool {
        self.tape.node(index).is_container() && self.tape.next(index) > index + 1 && !self.series.contains_key(&index)
    }

    /// Returns the number of failures in the value at `index`.
    pub(super) fn failures(&self, index: usize) -> usize {
        self.failures.within(&self.tape, index)
    }

    /// Returns the values to keep, by priority. O(v log v) for the v children of the kept values.
    pub(super) fn order(&self, limit: &Limit<'_>) -> Vec<usize> {
        let mark = (limit.cost)(LONGEST_MARK);
        let mut kept = vec![false; self.tape.len()];
        let mut order = Vec::new();
        let mut used = 0;
        // A child has a lower priority than its parent, so nothing is added to those already taken.
        let mut waiting: Candidates = BTreeMap::from([((self.class(0, 0, Class::Other), 0), vec![Candidate::ROOT])]);
        while let Some(((class, level), mut candidates)) = waiting.pop_first() {
            if class == Class::Other && level as usize > limit.level {
                break;
            }
            let most = if class == Class::Failing { limit.failures } else { limit.size };
            candidates.sort_by_key(|candidate| candidate.value);
            for candidate in candidates {
                let (value, parent) = (candidate.value as usize, candidate.parent as usize);
                used += self.cost(value, parent, limit.cost);
                // An array has a mark in each gap; an object has one mark for everything left out.
                if self.is_inner(value) {
                    used += mark;
                }
                if self.tape.node(parent).kind == Kind::Array && value > 0 {
                    let is_left_out = |value: Option<usize>| usize::from(value.is_some_and(|value| !kept[value]));
                    let before = candidate.before.map(|before| before as usize);
                    let after = Some(self.tape.next(value)).filter(|after| *after < self.tape.next(parent));
                    used += is_left_out(before) * mark + is_left_out(after) * mark;
                    used = used.saturating_sub(mark);
                }
                // The first value that does not fit ends the choice. A smaller value after it would have to be removed
                // again under a bigger budget, which keeps this one.
                if used > most {
                    return order;
                }
                kept[value] = true;
                order.push(value);
                if self.is_inner(value) {
                    self.expand(value, (class, level), &mut waiting);
                }
            }
        }
        order
    }

    /// Returns the kept part of each value.
    pub(super) fn selection(&self, order: &[usize]) -> Vec<Kept> {
        let mut kept = vec![Kept::No; self.tape.len()];
        for value in order {
            kept[*value] = Kept::Bare;
        }
        // Backwards, so that children are known before their parents.
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        let mut open: Vec<usize> = Vec::new();
        for value in sorted {
            while open.last().is_some_and(|parent| self.tape.next(*parent) <= value) {
                open.pop();
            }
            if let Some(parent) = open.last() {
                kept[*parent] = Kept::Filled;
            }
            if self.is_inner(value) {
                open.push(value);
            }
        }
        kept
    }

    /// Returns the class of a value. `beside` is the class of its parent.
    fn class(&self, value: usize, parent: usize, beside: Class) -> Class {
        let is_in_object = self.tape.node(parent).kind == Kind::Object;
        match beside {
            _ if self.failures.are_wanted_within(&self.tape, value) => Class::Failing,
            // Enough failures like the ones in it are kept.
            _ if self.failures(value) > 0 => Class::Other,
            // Names and places of the failure, on the path to it.
            Class::Failing if is_in_object && self.tape.node(value).kind != Kind::Array => Class::Beside,
            Class::Beside if is_in_object && !self.tape.node(value).is_container() => Class::Beside,
            _ => Class::Other,
        }
    }

    fn expand(&self, parent: usize, (class, level): Want, waiting: &mut Candidates) {
        let is_array = self.tape.node(parent).kind == Kind::Array;
        let children = || self.tape.children(parent).skip(usize::from(!is_array)).step_by(2 - usize::from(is_array));
        let count = children().count();
        let (mut inner, mut before) = (0_usize, None);
        for (place, child) in children().enumerate() {
            // The last elements of an array rank with the first ones.
            let from_end = 2 * (count - 1 - place) + 1;
            let further = match is_array {
                true => ARRAY_STEP * (place.min(from_end) + 1).ilog2(),
                false if self.tape.node(child).is_container() => {
                    inner += 1;
                    inner.ilog2()
                }
                false => (place / MEMBERS + 1).ilog2(),
            };
            let want = (self.class(child, parent, class), level + 1 + further);
            let value = index(child);
            if !self.failures.is_counted(child) {
                waiting.entry(want).or_default().push(Candidate { value, parent: index(parent), before });
            }
            before = Some(value);
        }
    }

    /// Returns the cost of a value without its children.
    fn cost(&self, value: usize, parent: usize, cost: &dyn Fn(&str) -> usize) -> usize {
        let node = self.tape.node(value);
        let mut written = String::new();
        if value > 0 && self.tape.node(parent).kind == Kind::Object {
            written.push_str(&self.leaf(value - 1));
            written.push(':');
        }
        match node.kind {
            Kind::Object => written.push_str("{}"),
            Kind::Array if self.is_inner(value) => written.push_str("[]"),
            _ => written.push_str(&self.leaf(value)),
        }
        written.push(',');
        cost(&written)
    }

    /// Returns a leaf or a key as it is written.
    pub(super) fn leaf(&self, index: usize) -> String {
        let node = self.tape.node(index);
        let raw = &self.text[node.span()];
        match node.kind {
            Kind::Array if self.series.contains_key(&index) => self.series[&index].clone(),
            Kind::String => format!("\"{}\"", shortened(&raw[1..raw.len() - 1])),
            _ => raw.to_owned(),
        }
    }
}
