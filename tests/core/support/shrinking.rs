//! Properties of every shortened text.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;
use ullage::compress::{Aim, Compressed, ContentKind, Request, compress, is_gap_line};
use ullage::tokens::TextKind;

use super::{estimate, exact};

pub const KIND: TextKind = TextKind::ToolOutput;

/// The least budget that is promised: below it the line that says what is left out may not fit.
pub const LEAST_BUDGET: usize = 48;

pub fn request(tool: &str, aim: Aim) -> Request<'_> {
    Request { tool, aim, kind: KIND, focus: None }
}

pub fn shrink(tool: &str, text: &str, aim: Aim) -> Option<Compressed> {
    compress(text, &request(tool, aim), &*exact())
}

/// Tokens of a text under the exact counter.
pub fn tokens(text: &str) -> usize {
    exact().count(text, KIND)
}

/// Percentage of tokens that are saved.
#[allow(clippy::cast_precision_loss, reason = "texts of tests have few tokens")]
pub fn saved(before: &str, after: &str) -> f64 {
    100.0 - 100.0 * tokens(after) as f64 / tokens(before) as f64
}

/// Shortens `text` to many budgets under two counters and checks what always holds. `failures` are texts that stand on a
/// line each that reports a failure.
pub fn check_guarantees(tool: &str, text: &str, failures: &[String]) {
    for counter in [exact(), estimate()] {
        let mut before: Option<Compressed> = None;
        for budget in [LEAST_BUDGET, 80, 130, 250, 500, 1_000, 2_000, 5_000, 20_000] {
            let request = request(tool, Aim::Tokens(budget));
            let Some(short) = compress(text, &request, &*counter) else { break };
            assert_eq!(Some(&short), compress(text, &request, &*counter).as_ref(), "twice");
            assert_eq!(compress(&short.text, &request, &*counter), None, "again: {}", short.text);
            let what = format!("{} at {budget}:\n{}", short.kind.name(), short.text);
            assert!(short.text.len() < text.len(), "longer: {what}");
            assert!(counter.fits(&short.text, KIND, budget), "over the budget: {what}");
            check_failures(&short.text, failures, &what);
            if let Some(before) = &before {
                match short.kind {
                    // The form of its own would be longer than the text: what the form added may be gone.
                    kind if kind != before.kind => check_contains(&short.text, &of_source(&before.text, text), &what),
                    ContentKind::Json => check_contains_json(&short.text, &before.text, &what),
                    _ => check_contains(&short.text, &before.text, &what),
                }
            }
            before = Some(short);
        }
        if let Some(short) = compress(text, &request(tool, Aim::Essence), &*counter) {
            assert!(short.text.len() < text.len());
            assert_eq!(compress(&short.text, &request(tool, Aim::Essence), &*counter), None, "again: {}", short.text);
            check_failures(&short.text, failures, &short.text);
        }
    }
}

/// Every failure stands in `short`, or is counted in one of its gaps.
fn check_failures(short: &str, failures: &[String], what: &str) {
    let missing = failures.iter().filter(|failure| !short.contains(*failure)).count();
    let counted: usize = short.match_indices(" of them ").filter_map(|(at, _)| number_before(&short[..at])).sum();
    assert!(counted >= missing, "{missing} failures are missing, {counted} counted: {what}");
}

/// The number in `[... lines 3-9 left out, 4 of them errors ...]`.
fn number_before(front: &str) -> Option<usize> {
    front.rsplit(' ').next()?.replace(',', "").parse().ok()
}

/// The lines of `short` that are lines of `text`.
fn of_source(short: &str, text: &str) -> String {
    let lines: HashSet<&str> = text.lines().collect();
    short.lines().filter(|line| lines.contains(line)).collect::<Vec<_>>().join("\n")
}

/// Every line of `smaller` that is no gap stands in `bigger` too.
fn check_contains(bigger: &str, smaller: &str, what: &str) {
    let mut lines: HashMap<&str, usize> = HashMap::new();
    for line in bigger.lines() {
        *lines.entry(line).or_default() += 1;
    }
    for line in smaller.lines().filter(|line| !is_gap_line(line) && !line.is_empty()) {
        // A slice of a line may have grown together with its neighbour.
        let found = lines.get_mut(line).filter(|left| **left > 0).map(|left| *left -= 1);
        assert!(found.is_some() || bigger.contains(line), "a smaller budget kept {line:?}: {what}");
    }
}

/// Every leaf of `smaller` that is no mark stands at its place in `bigger` too, elements of arrays at any.
fn check_contains_json(bigger: &str, smaller: &str, what: &str) {
    let [mut bigger, smaller] = [bigger, smaller].map(|text| {
        let mut found = BTreeMap::new();
        leaves(&serde_json::from_str(text).expect(what), "", &mut found);
        found
    });
    for (leaf, times) in smaller {
        let found = bigger.remove(&leaf).unwrap_or_default();
        assert!(found >= times, "a smaller budget kept {leaf}: {what}");
    }
}

fn leaves(value: &Value, path: &str, found: &mut BTreeMap<String, usize>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            members
                .iter()
                .filter(|(key, _)| *key != "...")
                .for_each(|(key, value)| leaves(value, &format!("{path}/{key}"), found));
        }
        Value::Array(elements) if !elements.is_empty() => {
            for value in elements {
                leaves(value, &format!("{path}/-"), found);
            }
        }
        Value::String(mark) if mark.starts_with("... ") => {}
        leaf => *found.entry(format!("{path}: {leaf}")).or_default() += 1,
    }
}
