//! Finds the values of JSON that report a failure.

use super::tape::{Kind, Tape, after_space};
use crate::compress::alike::Alike;
use crate::compress::failure_words::failure_words;

/// Up to this many numbers may report a failure, such as `"errors": 3`. If there are more, they are measurements.
const COUNTED: usize = 3;

/// The evidence that a value reports a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compress) enum Sign {
    /// Words report it.
    Said,
    /// A number reports it, as in `"errors": 3`. If many values do, they are measurements.
    Counted,
}

/// Returns the values that report a failure, in order. Only values with one of `failure_words` in them or in their key
/// are checked. `failure_words` are sorted offsets in the text. O(failure words × log values).
pub(in crate::compress) fn failing(tape: &Tape, text: &str, failure_words: &[usize]) -> Vec<(usize, Sign)> {
    let mut found: Vec<(usize, Sign)> = Vec::new();
    for failure_word in failure_words {
        let Some(node) = tape.at(*failure_word).filter(|node| tape.node(*node).span().contains(failure_word)) else {
            continue;
        };
        if tape.node(node).kind != Kind::String {
            continue;
        }
        let sign = if is_key(tape, text, node) {
            sign_of(tape, text, node + 1).map(|sign| (node + 1, sign))
        } else {
            Some((node, Sign::Said))
        };
        let Some((node, sign)) = sign else { continue };
        match found.last_mut() {
            // A key and its value may both report it.
            Some(last) if last.0 == node => last.1 = sign,
            Some(last) if last.0 > node => {}
            _ => found.push((node, sign)),
        }
    }
    found
}

fn is_key(tape: &Tape, text: &str, node: usize) -> bool {
    let end = tape.node(node).span().end;
    text.as_bytes().get(after_space(text.as_bytes(), end)) == Some(&b':')
}

/// Interprets the value of a key such as `error`. `None` if it reports no failure.
fn sign_of(tape: &Tape, text: &str, value: usize) -> Option<Sign> {
    let node = tape.node(value);
    let raw = &text[node.span()];
    let says_none = match node.kind {
        Kind::Object | Kind::Array => tape.next(value) == value + 1,
        Kind::String => matches!(raw, "\"\"" | "\"0\"" | "\"none\"" | "\"None\"" | "\"false\"" | "\"no\""),
        Kind::Number => !raw.bytes().any(|digit| matches!(digit, b'1'..=b'9')),
        Kind::Word => raw != "true",
    };
    let sign = if node.kind == Kind::Number { Sign::Counted } else { Sign::Said };
    (!says_none).then_some(sign)
}

/// The values of a tree that report a failure.
#[derive(Debug)]
pub(super) struct Failures {
    all: Vec<usize>,
    /// The failures that are kept before everything else.
    wanted: Vec<usize>,
}

impl Failures {
    /// Finds the failures, and wants all of them. O(length).
    pub(super) fn of(tape: &Tape, text: &str) -> Failures {
        let found = failing(tape, text, &failure_words(text));
        let counted = found.iter().filter(|(_, sign)| *sign == Sign::Counted).count();
        let is_sure = |sign: Sign| sign == Sign::Said || counted <= COUNTED;
        let all: Vec<usize> = found.into_iter().filter(|(_, sign)| is_sure(*sign)).map(|(value, _)| value).collect();
        Failures { wanted: all.clone(), all }
    }

    /// Keeps only some of several similar failures wanted. O(failures).
    pub(super) fn count_alike(&mut self, tape: &Tape, text: &str) {
        let mut alike = Alike::default();
        self.wanted.retain(|value| alike.is_example(&text[tape.node(*value).span()]));
    }

    /// Returns the number of failures in the value at `index`. O(log failures).
    pub(super) fn within(&self, tape: &Tape, index: usize) -> usize {
        count(&self.all, tape, index)
    }

    /// True if the value at `index` contains a wanted failure. O(log failures).
    pub(super) fn are_wanted_within(&self, tape: &Tape, index: usize) -> bool {
        count(&self.wanted, tape, index) > 0
    }

    /// True if enough failures like this one are kept. The value is left out whole, because a part of it would not be
    /// counted.
    pub(super) fn is_counted(&self, value: usize) -> bool {
        self.all.binary_search(&value).is_ok() && self.wanted.binary_search(&value).is_err()
    }
}

/// Counts the sorted `values` at `index` or inside it.
fn count(values: &[usize], tape: &Tape, index: usize) -> usize {
    let first = values.partition_point(|value| *value < index);
    let end = tape.next(index);
    let rest = &values[first..];
    // A leaf is one value.
    if end == index + 1 {
        return usize::from(rest.first() == Some(&index));
    }
    rest.partition_point(|value| *value < end)
}
