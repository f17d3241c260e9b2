//! Finds the values of JSON that report a failure.

use super::tape::{Kind, Tape, after_space};
use crate::compress::alike::Alike;
use crate::compress::failure_words::failure_words;

/// Numbers that report a failure, such as `"errors": 3`; where more do, they are a measure.
const COUNTED: usize = 3;

/// The confidence that a value reports a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compress) enum Sign {
    /// It says so.
    Said,
    /// A number says so, as in `"errors": 3`; where many values do, it is a measure.
    Counted,
}

/// The values that report a failure, in their order, of those in which one of `failure_words` is or in whose key.
/// `failure_words` are offsets in the text, sorted. O(failure words × log values).
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
            // A key and its value may both say so.
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
    /// Those of them that are wanted before all else.
    wanted: Vec<usize>,
}

impl Failures {
    /// Wants all of them. O(length).
    pub(super) fn of(tape: &Tape, text: &str) -> Failures {
        let found = failing(tape, text, &failure_words(text));
        let counted = found.iter().filter(|(_, sign)| *sign == Sign::Counted).count();
        let is_sure = |sign: Sign| sign == Sign::Said || counted <= COUNTED;
        let all: Vec<usize> = found.into_iter().filter(|(_, sign)| is_sure(*sign)).map(|(value, _)| value).collect();
        Failures { wanted: all.clone(), all }
    }

    /// Wants of those that are alike some only. O(failures).
    pub(super) fn count_alike(&mut self, tape: &Tape, text: &str) {
        let mut alike = Alike::default();
        self.wanted.retain(|value| alike.is_example(&text[tape.node(*value).span()]));
    }

    /// Counts the failures in the value at `index`. O(log failures).
    pub(super) fn within(&self, tape: &Tape, index: usize) -> usize {
        count(&self.all, tape, index)
    }

    /// True if any of them is wanted. O(log failures).
    pub(super) fn are_wanted_within(&self, tape: &Tape, index: usize) -> bool {
        count(&self.wanted, tape, index) > 0
    }

    /// True if the value reports one of which enough are kept. Left out whole: in part, it would not be counted.
    pub(super) fn is_counted(&self, value: usize) -> bool {
        self.all.binary_search(&value).is_ok() && self.wanted.binary_search(&value).is_err()
    }
}

/// Counts the `values`, which are sorted, at `index` or inside it.
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
