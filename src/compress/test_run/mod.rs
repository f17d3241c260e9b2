//! Test runs: pytest, unittest, `cargo test`, `go test`, jest, vitest, TAP. Failures are kept, and passes are counted.
//!
//! A run may hold the output of several frameworks, so each framework's module ranks the lines that it knows, one after
//! the other.

mod go;
mod go_json;
mod javascript;
mod pytest;
mod rust;
mod status;
mod unittest;

use status::{Counts, Status, status};

use super::outline::{Outline, Rank};
use super::ranked::{RankedLines, Reports};
use super::sample::Sample;

/// The least percentage of lines with the outcome of a test, if there is no other sign of a test run.
const STATUSES: usize = 50;

/// At least this many consecutive passes in one file are counted on a line of their own.
const COUNTED_RUN: usize = 8;

/// Number of such lines that are essential. There may be one for each file.
const COUNTED_RUNS: usize = 60;

/// Number of skipped or expected failures that are essential, for their reasons.
const SKIPPED: usize = 5;

/// True if a line is one that only test runs print, or if most lines have the outcome of a test.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    go_json::claims(sample) || sample.any(is_sign) || sample.share(|line| status(line).is_some()) >= STATUSES
}

/// True for lines that only test runs print.
fn is_sign(line: &str) -> bool {
    let line = line.trim();
    let is_pytest = line.starts_with('=')
        && (line.contains(" test session starts ")
            || line.contains(" short test summary info ")
            || pytest::is_final(line));
    let is_counted = |start: &str, end: &str| {
        let number = line.strip_prefix(start).and_then(|rest| rest.split_once(' '));
        number.is_some_and(|(number, rest)| number.parse::<usize>().is_ok() && rest.starts_with(end))
    };
    is_pytest
        || line.starts_with("test result: ")
        || is_counted("running ", "test")
        || is_counted("Ran ", "test")
        || line.starts_with("=== RUN ")
        || line.starts_with("Test Suites: ")
        || line.starts_with("Test Files  ")
        || line.starts_with("TAP version ")
}

/// Splits the run into pieces, failures first. O(length).
pub(super) fn outline(text: &str) -> Outline<'_> {
    if let Some(outline) = go_json::outline(text) {
        return outline;
    }
    let mut run = RankedLines::of(text, Reports::ByWords);
    mark_statuses(&mut run);
    pytest::mark(&mut run);
    unittest::mark(&mut run);
    rust::mark(&mut run);
    go::mark(&mut run);
    javascript::mark(&mut run);
    run.outline()
}

/// Counts the passes, in all and for each file, and keeps the failures.
fn mark_statuses(run: &mut RankedLines<'_>) {
    let statuses: Vec<(usize, Status, &str)> = (0..run.len())
        .filter_map(|index| status(run.line(index)).map(|(status, group)| (index, status, group)))
        .collect();
    let Some((first, ..)) = statuses.first() else { return };
    let mut counts = Counts::default();
    for (index, status, _) in &statuses {
        counts.add(*status);
        match status {
            Status::Passed => {
                run.set(*index, Rank::Bulk);
                run.reports(*index, Reports::Nothing);
            }
            Status::Skipped | Status::Xfailed | Status::Xpassed => {
                run.set(*index, if counts.aside() <= SKIPPED { Rank::Sample } else { Rank::Ordinary });
                run.reports(*index, Reports::Nothing);
            }
            // The failure itself is in a section of its own, which ranks higher.
            Status::Failed => {
                run.set(*index, Rank::Key);
                run.reports(*index, Reports::Failure);
            }
        }
    }
    run.before(*first, counts.to_string(), Rank::Key);
    let runs: Vec<_> = statuses
        .chunk_by(|one, two| (one.1, one.2) == (two.1, two.2))
        .filter(|run| run[0].1 == Status::Passed && run.len() >= COUNTED_RUN && !run[0].2.is_empty())
        .collect();
    let rank = if runs.len() <= COUNTED_RUNS { Rank::Sample } else { Rank::Ordinary };
    for same in runs {
        let (first, status, group) = same[0];
        run.before(first, format!("{group}: {}", Counts::of(status, same.len())), rank);
    }
}
