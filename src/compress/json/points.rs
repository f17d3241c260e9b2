//! Arrays of numbers, or of pairs of a time and a number, as APIs for metrics return them.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::tape::{Kind, Tape};
use crate::compress::series::Series;

/// Fewer numbers are kept as they are.
const FEWEST: usize = 16;

/// The kinds of series.
pub(super) const NUMBERS: &str = "numbers";
pub(super) const POINTS: &str = "points";

/// Returns the arrays of `tape` that are series, each with its statistics as a JSON string. O(values).
pub(super) fn series(tape: &Tape, text: &str) -> HashMap<usize, String, RandomState> {
    let mut found = HashMap::with_hasher(RandomState::default());
    let mut index = 0;
    while index < tape.len() {
        let read = Some(index)
            .filter(|index| tape.node(*index).kind == Kind::Array)
            .and_then(|index| digest(tape, text, index));
        // A series contains no other series.
        index = if read.is_some() { tape.next(index) } else { index + 1 };
        found.extend(read);
    }
    found
}

fn digest(tape: &Tape, text: &str, index: usize) -> Option<(usize, String)> {
    // A value takes one place on the tape and a pair three, so short arrays are recognized at once.
    if tape.next(index) - index <= FEWEST {
        return None;
    }
    let raw = |node: usize| &text[tape.node(node).span()];
    let unquoted = |node: usize| raw(node).trim_matches('"');
    let mut series = Series::default();
    let (mut count, mut noun) = (0, NUMBERS);
    for element in tape.children(index) {
        count += 1;
        match tape.node(element).kind {
            Kind::Number if noun == NUMBERS => series.push(None, raw(element))?,
            Kind::Array if noun == POINTS || count == 1 => {
                noun = POINTS;
                let (time, value) = (element + 1, element + 2);
                let is_pair = tape.next(element) == element + 3 && is_time(tape, text, time);
                // Prometheus writes values as strings, because they may be infinite.
                let is_value = matches!(tape.node(value.min(tape.len() - 1)).kind, Kind::Number | Kind::String);
                (is_pair && is_value).then_some(())?;
                series.push(Some(unquoted(time)), unquoted(value))?;
            }
            _ => return None,
        }
    }
    let digest = format!("\"... {}\"", series.digest(noun));
    (count >= FEWEST && digest.len() < tape.node(index).span().len()).then_some((index, digest))
}

/// True if the value can be a time: ISO 8601, or seconds or smaller units since the epoch.
fn is_time(tape: &Tape, text: &str, index: usize) -> bool {
    /// Seconds at the beginning of 1990. Smaller numbers are coordinates and the like.
    const FIRST: f64 = 631_152_000.0;
    let raw = &text[tape.node(index).span()];
    match tape.node(index).kind {
        Kind::Number => raw.parse::<f64>().is_ok_and(|seconds| seconds >= FIRST),
        Kind::String => crate::compress::table::is_time(raw.trim_matches('"')),
        _ => false,
    }
}
