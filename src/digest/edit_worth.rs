//! The probability that the model works on a line next: an edit quotes it, or it states the current task.
//!
//! The weights were found with `benches/retention.py` on one half of the recorded coding sessions. Weights with another
//! source name it.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use xxhash_rust::xxh3::xxh3_64;

use super::age::Ages;
use super::files::Files;
use super::lines::Lines;
use super::sources::{Origin, Source};
use crate::compress::reports;

/// Worth of a token in the newest line of a file, relative to an anchor that is certainly needed.
const OF_FILES: f64 = 0.02;

/// The same for the first tokens of the user's words. A replay cannot show their use, so it did not choose this weight.
/// With it, the first line of 97 % of the requests is kept when 40,000 tokens become 5,000.
const OF_REQUESTS: f64 = 0.009;

/// Number of tokens after which the worth of the user's words has halved.
const BEGINNING: f64 = 30.0;

/// The same for a token of the model's words.
const OF_STATEMENTS: f64 = 0.1;

/// The same for a token of any other output, and of a line that has changed since. It is small, but not zero.
const OF_OTHERS: f64 = 1e-4;

/// Added for a token of a line in which a program reports a failure, unless an earlier line has the same words. It
/// keeps one such line among a hundred other lines of a log. On coding sessions `benches/retention.py` shows no
/// difference.
const OF_FAILURES: f64 = 0.03;

/// Exponent of the power law by which worth falls with the distance in tokens. Agents return to older text by such a
/// law.
const FALL: f64 = 0.8;

/// Worth added by nearby lines that were edited before, as a power of e.
const NEAR_EDITS: f64 = 2.07;

/// Number of lines after which that nearness has fallen to a third.
const NEARNESS: f64 = 4.5;

/// Worth added by nearby anchors that the model mentioned recently, as a power of e.
const NEAR_MENTIONS: f64 = 1.5;

/// Upper limit of the weight of mentions.
const MOST_MENTIONS: f64 = 3.0;

/// Share of either kind of nearness that one line passes on to the next.
const SPREAD: f64 = 0.95;

/// Returns the worth of each line per token. O(lines).
pub(super) fn of(sources: &[Source<'_>], lines: &Lines<'_>, ages: &Ages, files: &Files) -> Vec<f64> {
    let mut worths = vec![0.0; lines.all.len()];
    let (mut failures, mut known) = (Vec::new(), HashSet::default());
    for (index, source) in sources.iter().enumerate() {
        let range = lines.of_source[index].clone();
        if range.is_empty() {
            continue;
        }
        if source.origin == Origin::Output {
            failures.extend(failures_in(source, lines, range.clone(), &mut known));
        }
        let age = libm::exp(-FALL * ages.log_within(source.message));
        match (source.origin, source.file) {
            (Origin::Output | Origin::NewText, Some(file)) => {
                let near = nearness(source, file, lines, index, files);
                let mentions = spread(range.clone().map(|line| mentions_in(lines, line)).collect());
                for (at, line) in range.enumerate() {
                    let text = &source.text[lines.all[line].text.clone()];
                    if files.is_live(file, index, source.message, text) {
                        let power = NEAR_EDITS * near[at] + NEAR_MENTIONS * mentions[at];
                        // Most lines are near no edit and no mention.
                        let raised = if power > 0.0 { libm::exp(power) } else { 1.0 };
                        worths[line] = OF_FILES * age * raised;
                    } else {
                        worths[line] = OF_OTHERS * age;
                    }
                }
            }
            (Origin::Request, _) => requests(source, lines, range, &mut worths),
            (Origin::Statement, _) => worths[range].fill(OF_STATEMENTS * age),
            // Text that belongs to no file is not edited, but may fill room that nothing better needs.
            (Origin::Output | Origin::NewText, None) => worths[range].fill(OF_OTHERS * age),
            (Origin::Call | Origin::OldText | Origin::Names, _) => {}
        }
    }
    for line in failures {
        worths[line] += OF_FAILURES;
    }
    worths
}

/// Returns the lines of an output in which a program reports a failure, in words that are not among `known`. O(length).
fn failures_in(
    source: &Source<'_>,
    lines: &Lines<'_>,
    range: std::ops::Range<usize>,
    known: &mut HashSet<u64, RandomState>,
) -> Vec<usize> {
    let mut found = Vec::new();
    let mut line = range.start;
    for at in reports(&source.text) {
        while line < range.end && lines.all[line].text.end <= at {
            line += 1;
        }
        if line < range.end && lines.all[line].text.start <= at {
            let words: String =
                source.text[lines.all[line].text.clone()].chars().filter(|c| c.is_alphabetic()).collect();
            if known.insert(xxh3_64(words.as_bytes())) {
                found.push(line);
            }
        }
    }
    found
}

/// Ranks requests. A request counts until it is done, however old it is. Its first words state it.
fn requests(source: &Source<'_>, lines: &Lines<'_>, range: std::ops::Range<usize>, worths: &mut [f64]) {
    let mut tokens = 0.0;
    for line in range {
        worths[line] = OF_REQUESTS / (1.0 + tokens / BEGINNING);
        tokens += lines.all[line].text.len() as f64 * source.density;
    }
}

fn mentions_in(lines: &Lines<'_>, line: usize) -> f64 {
    let sum: f64 = lines.anchors_of(line).iter().map(|anchor| lines.mentions[*anchor as usize]).sum();
    sum.min(MOST_MENTIONS)
}

/// Returns how near each line of a source is to a line that was written before: 1 for such a line itself.
fn nearness(source: &Source<'_>, file: u32, lines: &Lines<'_>, index: usize, files: &Files) -> Vec<f64> {
    let range = lines.of_source[index].clone();
    if source.origin == Origin::NewText {
        return vec![1.0; range.len()];
    }
    let is_written = |line: usize| files.is_written(file, &source.text[lines.all[line].text.clone()]);
    let mut near: Vec<f64> = range.map(|line| if is_written(line) { 1.0 } else { 0.0 }).collect();
    let less = libm::exp(-1.0 / NEARNESS);
    spread_by(&mut near, less);
    near
}

fn spread(mut values: Vec<f64>) -> Vec<f64> {
    spread_by(&mut values, SPREAD);
    values
}

/// Raises each value to its neighbours' values, less a share for each step.
fn spread_by(values: &mut [f64], less: f64) {
    for at in 1..values.len() {
        values[at] = values[at].max(values[at - 1] * less);
    }
    for at in (1..values.len()).rev() {
        values[at - 1] = values[at - 1].max(values[at] * less);
    }
}
