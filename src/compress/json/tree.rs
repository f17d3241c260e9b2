//! JSON that is not a table: becomes smaller, and stays JSON.

use std::fmt::Write;

use super::cut::{BYTES_MARK, compact};
use super::grow::{Kept, LONGEST_MARK, Limit, Tree};
use super::points::{NUMBERS, POINTS};
use super::tape::Kind;
use crate::compress::choose::Aim;
use crate::compress::gap::push_errors;
use crate::compress::sample::Sample;
use crate::numbers::thousands;
use crate::tokens::{CountTokens, TextKind};

/// The deepest level that describes the whole: four levels of whole objects, and about seven elements of an array on
/// the way.
const ESSENTIAL_LEVEL: usize = 10;

/// The percentage of the bytes that is enough to describe the whole.
const ESSENTIAL_SHARE: usize = 40;

/// Values up to this length are kept, because a marker would take as much room.
const SMALL: usize = 16;

/// True if the text begins like an object or an array.
pub(in crate::compress) fn claims(sample: &Sample<'_>) -> bool {
    let start = sample.start.trim_start();
    let inside = start.strip_prefix(['{', '[']).map(str::trim_start);
    inside.is_some_and(|inside| {
        inside.starts_with(|c: char| matches!(c, '"' | '{' | '[' | '-' | '0'..='9' | 't' | 'f' | 'n'))
    })
}

/// Returns `text` with fewer values; `None` if it is not JSON. O(length). With a small budget, most of the time is
/// parsing.
pub(in crate::compress) fn shrink(text: &str, aim: Aim, kind: TextKind, counter: &dyn CountTokens) -> Option<String> {
    let mut tree = Tree::of(text)?;
    let Aim::Tokens(budget) = aim else {
        tree.count_alike();
        let size = text.len() * ESSENTIAL_SHARE / 100;
        let order = tree.order(&Limit { size, failures: usize::MAX, level: ESSENTIAL_LEVEL, cost: &|text| text.len() });
        return Some(write(&tree, &tree.selection(&order)));
    };
    let mut order = tree.order(&Limit {
        size: budget,
        failures: budget,
        level: usize::MAX,
        cost: &|text| counter.count(text, kind),
    });
    let mut short = write(&tree, &tree.selection(&order));
    // The whole text may have a token or two more than its pieces together.
    while !counter.fits(&short, kind, budget) && order.pop().is_some() {
        short = write(&tree, &tree.selection(&order));
    }
    Some(short)
}

/// The text before the count in a marker. The plural has one more letter.
const KEYS_MARK: &str = "\"...\":\"";
const ITEMS_MARK: &str = "\"... ";
const MORE_KEYS: &str = "more key";
const MORE_ITEMS: &str = "more item";

/// True if the JSON has a marker of missing values. O(length), at memory speed if it has none.
pub(in crate::compress) fn is_shortened(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit() || c == ',';
    let is_counted = |mark: &str, nouns: &[&str]| {
        text.contains(mark)
            && text.match_indices(mark).any(|(at, _)| {
                let count = &text[at + mark.len()..];
                let behind = count.trim_start_matches(is_digit);
                behind.len() < count.len() && nouns.iter().any(|noun| behind.trim_start_matches(' ').starts_with(noun))
            })
    };
    let is_cut = || {
        text.contains(BYTES_MARK)
            && text.match_indices(BYTES_MARK).any(|(at, _)| {
                let before = text[..at].trim_end_matches(is_digit);
                before.len() < at && before.ends_with("... ")
            })
    };
    text.trim_start().starts_with(['{', '['])
        && (is_counted(KEYS_MARK, &[MORE_KEYS]) || is_counted(ITEMS_MARK, &[MORE_ITEMS, NUMBERS, POINTS]) || is_cut())
}

/// A container that is being written.
struct OpenContainer {
    index: usize,
    is_empty: bool,
    /// The next value or key in it.
    next: usize,
    /// True if the omitted part of the object is so short that it is written anyway.
    is_small: bool,
    left_out: usize,
    failures: usize,
}

/// Writes the kept values as JSON. O(children of kept values).
fn write(tree: &Tree<'_>, kept: &[Kept]) -> String {
    let mut out = String::new();
    let mut stack = vec![open(tree, kept, 0, &mut out)];
    while let Some(top) = stack.last_mut() {
        let is_array = tree.tape.node(top.index).kind == Kind::Array;
        if top.next == tree.tape.next(top.index) {
            mark(top, is_array, &mut out);
            out.push(if is_array { ']' } else { '}' });
            stack.pop();
            continue;
        }
        let value = top.next + usize::from(!is_array);
        let is_shown = is_shown(tree, kept, top.index, value);
        if !is_shown && !top.is_small && is_array {
            top.is_small = top.left_out == 0 && is_small(tree, kept, top.index, value);
        }
        if !is_shown && !top.is_small {
            top.left_out += 1;
            top.failures += tree.failures(value);
            top.next = tree.tape.next(value);
            continue;
        }
        if is_array && is_shown {
            top.is_small = false;
            mark(top, is_array, &mut out);
        }
        if !std::mem::replace(&mut top.is_empty, false) {
            out.push(',');
        }
        if !is_array {
            out.push_str(&tree.leaf(top.next));
            out.push(':');
        }
        top.next = tree.tape.next(value);
        let node = tree.tape.node(value);
        if !is_shown {
            out.push_str(&compact(&tree.text[node.span()]));
        } else if tree.is_inner(value) {
            let inner = open(tree, kept, value, &mut out);
            stack.push(inner);
        } else {
            out.push_str(&tree.leaf(value));
        }
    }
    out
}

fn open(tree: &Tree<'_>, kept: &[Kept], index: usize, out: &mut String) -> OpenContainer {
    let is_array = tree.tape.node(index).kind == Kind::Array;
    out.push(if is_array { '[' } else { '{' });
    let is_small = !is_array && is_small(tree, kept, index, index + 2);
    OpenContainer { index, is_empty: true, next: index + 1, is_small, left_out: 0, failures: 0 }
}

/// True if the value is written. An element without any kept child is not, because it says nothing.
fn is_shown(tree: &Tree<'_>, kept: &[Kept], parent: usize, value: usize) -> bool {
    match kept[value] {
        Kept::No => false,
        Kept::Filled => true,
        Kept::Bare => tree.tape.node(parent).kind == Kind::Object || !tree.is_inner(value),
    }
}

/// True if the omitted values take less room than a marker for them. For an array these are the elements from `value`
/// to the next one that is written; for an object, all omitted members.
fn is_small(tree: &Tree<'_>, kept: &[Kept], parent: usize, value: usize) -> bool {
    let is_array = tree.tape.node(parent).kind == Kind::Array;
    let (mut at, mut bytes) = (value, 0);
    let end = tree.tape.next(parent) + usize::from(!is_array);
    while at < end && bytes <= SMALL {
        if !is_shown(tree, kept, parent, at) {
            let start = if is_array { at } else { at - 1 };
            bytes += 1 + tree.tape.node(at).span().end - tree.tape.node(start).span().start;
        } else if is_array {
            break;
        }
        at = tree.tape.next(at) + usize::from(!is_array);
    }
    bytes <= SMALL
}

/// Writes a marker for the values omitted since the last one.
fn mark(top: &mut OpenContainer, is_array: bool, out: &mut String) {
    if top.left_out == 0 {
        return;
    }
    if !std::mem::replace(&mut top.is_empty, false) {
        out.push(',');
    }
    let start = out.len();
    let (mark, more) = if is_array { (ITEMS_MARK, MORE_ITEMS) } else { (KEYS_MARK, MORE_KEYS) };
    let plural = if top.left_out == 1 { "" } else { "s" };
    // Writing to a string cannot fail.
    let _ = write!(out, "{mark}{} {more}{plural}", thousands(top.left_out));
    push_errors(out, top.failures);
    out.push('"');
    debug_assert!(out.len() - start < LONGEST_MARK.len());
    (top.left_out, top.failures) = (0, 0);
}
