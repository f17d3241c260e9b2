//! pytest: sections follow rules of `=`, failures follow rules of `_`, and captured output follows rules of `-`.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::super::outline::Rank;
use super::super::ranked::{RankedLines, shape};

/// Number of lines of captured output that are essential, at its beginning and its end. The cause of the failure is
/// last.
const CAPTURED: usize = 10;

/// Number of lines after `test session starts` that describe the run.
const PREAMBLE: usize = 10;

/// Number of essential lines of a section about skips, durations or coverage.
const REPORTED: usize = 10;

/// Number of failures with similar assertions that are kept whole. They may have different causes.
const ALIKE: usize = 3;

/// Number of lines of an assertion that come first: the difference, without the whole of both sides.
const ASSERTION: usize = 6;

/// The section of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Before the first rule, or in the list of tests.
    Run,
    Failures,
    Warnings,
    Summary,
    /// Coverage, durations, output of passing tests.
    Report,
}

/// True for the last line of a run: `=== 3 failed, 20 passed in 1.20s ===`.
pub(super) fn is_final(line: &str) -> bool {
    let line = line.trim_matches(['=', ' ']);
    line.split_once(" in ").is_some_and(|(counts, time)| {
        time.starts_with(|c: char| c.is_ascii_digit())
            && ["passed", "failed", "error", "skipped", "no tests ran", "warning", "deselected"]
                .iter()
                .any(|word| counts.contains(word))
    })
}

/// Ranks the lines that pytest printed.
pub(super) fn mark(run: &mut RankedLines<'_>) {
    let mut section = Section::Run;
    let mut start = 0;
    let mut kinds = Kinds::default();
    for index in 0..run.len() {
        let line = run.line(index);
        if let Some(title) = title(line, '=') {
            mark_section(run, section, start..index, &mut kinds);
            run.raise(index, if is_final(line) { Rank::Alarm } else { Rank::Key });
            section = match title {
                "FAILURES" | "ERRORS" => Section::Failures,
                "short test summary info" => Section::Summary,
                "test session starts" => Section::Run,
                _ if title.starts_with("warnings summary") => Section::Warnings,
                _ if is_final(line) => Section::Run,
                _ => Section::Report,
            };
            start = index + 1;
        } else if is_plain_final(line) {
            run.raise(index, Rank::Alarm);
        }
    }
    mark_section(run, section, start..run.len(), &mut kinds);
}

/// True for the last line of a run with `-q`, which is not between rules.
fn is_plain_final(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit()) && is_final(line)
}

/// Returns the title between two rules: `=== FAILURES ===`.
fn title(line: &str, rule: char) -> Option<&str> {
    let line = line.trim_end();
    let inner = line.strip_prefix(rule)?.trim_start_matches(rule).strip_prefix(' ')?;
    let title = inner.trim_end_matches(rule).trim_end();
    (inner.ends_with(rule) && !title.is_empty()).then_some(title)
}

/// Counts each kind of assertion or warning.
type Kinds = HashMap<u64, usize, RandomState>;

/// Counts the lines like `line` so far, including this one.
fn turn(kinds: &mut Kinds, line: &str) -> usize {
    let turns = kinds.entry(shape(line)).or_default();
    *turns += 1;
    *turns
}

fn mark_section(run: &mut RankedLines<'_>, section: Section, lines: Range<usize>, kinds: &mut Kinds) {
    match section {
        Section::Run => {
            for index in lines.take(PREAMBLE) {
                if ["platform ", "rootdir:", "configfile:", "collected ", "created:"]
                    .iter()
                    .any(|start| run.line(index).starts_with(start))
                {
                    run.raise(index, Rank::Key);
                }
            }
        }
        Section::Failures => mark_failures(run, lines, kinds),
        Section::Warnings => mark_warnings(run, lines, kinds),
        Section::Summary => {
            for (number, index) in lines.enumerate() {
                let line = run.line(index);
                if line.starts_with("FAILED ") || line.starts_with("ERROR ") {
                    run.raise(index, Rank::Alarm);
                } else if number < REPORTED {
                    run.raise(index, Rank::Sample);
                }
            }
        }
        Section::Report => lines.take(REPORTED).for_each(|index| run.raise(index, Rank::Sample)),
    }
}

/// Ranks the failures, each from its rule of `_` to the next. Of many failures with similar assertions, only the
/// assertions are kept.
fn mark_failures(run: &mut RankedLines<'_>, lines: Range<usize>, kinds: &mut Kinds) {
    let starts: Vec<usize> = lines.clone().filter(|index| title(run.line(*index), '_').is_some()).collect();
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(lines.end);
        let output = (*start..end).find(|index| is_captured(run.line(*index))).unwrap_or(end);
        let assertion = (*start..output).find(|index| run.line(*index).starts_with("E  "));
        let is_new = assertion.is_none_or(|index| turn(kinds, run.line(index)) <= ALIKE);
        run.raise(*start, Rank::Failure);
        for index in *start..output {
            let line = run.line(index);
            let is_assertion = line.starts_with("E  ");
            let is_first = is_assertion && assertion.is_some_and(|first| index < first + ASSERTION);
            match () {
                () if assertion == Some(index) || (is_first && is_new) => run.raise(index, Rank::Alarm),
                () if is_assertion || is_new => run.raise(index, Rank::Failure),
                () => {}
            }
        }
        mark_captured(run, output..end);
    }
}

/// True for `----- Captured stdout call -----`.
fn is_captured(line: &str) -> bool {
    title(line, '-').is_some_and(|title| title.starts_with("Captured "))
}

fn mark_captured(run: &mut RankedLines<'_>, lines: Range<usize>) {
    let (start, end) = (lines.start, lines.end);
    for index in lines {
        if index - start <= CAPTURED || index + CAPTURED >= end {
            run.raise(index, Rank::Sample);
        }
    }
}

/// Ranks warnings. A block has places, then the warning. The first of each kind is kept with its first place.
fn mark_warnings(run: &mut RankedLines<'_>, lines: Range<usize>, kinds: &mut Kinds) {
    let mut is_first = true;
    for index in lines {
        let line = run.line(index);
        if line.is_empty() {
            is_first = true;
        } else if line.starts_with(' ') {
            if is_first && turn(kinds, line) == 1 {
                run.raise(index, Rank::Sample);
            }
            is_first = false;
        } else if line.starts_with("-- Docs") {
            run.set(index, Rank::Bulk);
        }
    }
}
