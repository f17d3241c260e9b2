//! Output of compilers, linkers and installers: keeps errors whole, keeps warnings by kind, and counts progress.

mod diagnostic;
mod progress;

use std::collections::HashMap;
use std::ops::Range;

use diagnostic::{Severity, continues, diagnostic, introduces, kind};
use foldhash::fast::RandomState;
use progress::{Verbs, is_summary, verb};

use super::outline::{Outline, Rank};
use super::ranked::{RankedLines, Reports};
use super::sample::Sample;
use crate::numbers::thousands;

/// The least percentage of lines that are diagnostics with their excerpts, or progress.
const BUILD: usize = 50;

/// A longer diagnostic is cut to this many lines.
const LONGEST: usize = 60;

/// Number of errors of one kind that are kept whole.
const ALIKE: usize = 10;

/// Number of errors of one kind that are named. Further ones most likely have the same cause, and are counted.
const NAMED: usize = 50;

/// Number of last lines that are kept, because they say how the build ended.
const END: usize = 4;

/// True if most lines are diagnostics, excerpts or progress.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    let is_one = |line: &str| diagnostic(bare(line)).is_some() || verb(bare(line)).is_some() || is_summary(bare(line));
    let is_excerpt = |line: &str| {
        let body = line.trim_start();
        body.starts_with("--> ") || body.starts_with('|') || line.contains(" | ") || body.starts_with("= ")
    };
    sample.any(is_one) && sample.share(|line| is_one(line) || is_excerpt(line)) >= BUILD
}

/// Returns the line without the prefix of `docker build`: `#12 0.345 `.
fn bare(line: &str) -> &str {
    let rest = line.strip_prefix('#').and_then(|rest| rest.split_once(' '));
    let Some((_, rest)) = rest.filter(|(step, _)| step.bytes().all(|byte| byte.is_ascii_digit())) else { return line };
    match rest.split_once(' ') {
        Some((time, rest)) if time.parse::<f64>().is_ok() => rest,
        _ => rest,
    }
}

/// Splits the output into pieces. O(length).
pub(super) fn outline(text: &str) -> Outline<'_> {
    let mut build = RankedLines::of(text, Reports::ByWords);
    let mut verbs = Verbs::default();
    let mut first = None;
    let mut warnings: HashMap<u64, (usize, usize), RandomState> = HashMap::default();
    let mut errors: HashMap<u64, usize, RandomState> = HashMap::default();
    let mut index = 0;
    while index < build.len() {
        let line = bare(build.line(index));
        if is_summary(line) {
            build.raise(index, Rank::Key);
        } else if let Some(verb) = verb(line) {
            first.get_or_insert(index);
            verbs.add(verb);
            build.set(index, Rank::Bulk);
            build.reports(index, Reports::Nothing);
            build.unmark(index);
        } else if let Some(severity) = severity_from(&build, index) {
            let block = block(&build, index);
            index = block.end;
            match severity {
                Severity::Error => mark_error(&mut build, block, &mut errors),
                Severity::Warning => mark_warning(&mut build, block, &mut warnings),
            }
            continue;
        }
        index += 1;
    }
    for (header, count) in warnings.into_values().filter(|(_, count)| *count > 1) {
        build.instead(header, format!("{} [{} warnings like this]", build.line(header), thousands(count)));
    }
    if let Some(first) = first {
        build.before(first, format!("[progress: {verbs}]"), Rank::Key);
    }
    let last: Vec<usize> =
        (0..build.len()).rev().filter(|index| !build.line(*index).trim().is_empty()).take(END).collect();
    for index in last {
        build.raise(index, Rank::Key);
    }
    build.outline()
}

/// Returns the severity of the diagnostic that begins here, perhaps after lines that give its place.
fn severity_from(build: &RankedLines<'_>, index: usize) -> Option<Severity> {
    let start = (index..build.len()).take(LONGEST).find(|index| !introduces(bare(build.line(*index))))?;
    diagnostic(bare(build.line(start)))
}

/// Returns the lines of the diagnostic that begins at `start`, with the lines that introduce it.
fn block(build: &RankedLines<'_>, start: usize) -> Range<usize> {
    let header = (start..build.len()).find(|index| !introduces(bare(build.line(*index)))).unwrap_or(start);
    let end = (header + 1..build.len()).find(|index| !continues(bare(build.line(*index)))).unwrap_or(build.len());
    start..end
}

/// Returns the first line of a block that is a diagnostic.
fn header(build: &RankedLines<'_>, block: &Range<usize>) -> usize {
    block.clone().find(|index| diagnostic(bare(build.line(*index))).is_some()).unwrap_or(block.start)
}

fn mark_error(build: &mut RankedLines<'_>, block: Range<usize>, kinds: &mut HashMap<u64, usize, RandomState>) {
    let header = header(build, &block);
    let turn = kinds.entry(kind(bare(build.line(header)))).or_default();
    *turn += 1;
    let is_whole = *turn <= ALIKE;
    let start = block.start;
    for index in block {
        if is_whole && index - start <= LONGEST {
            build.raise(index, Rank::Failure);
        }
    }
    let rank = match *turn {
        turn if turn <= ALIKE => Rank::Alarm,
        turn if turn <= NAMED => Rank::Failure,
        _ => Rank::Ordinary,
    };
    build.set(header, rank);
    build.reports(header, Reports::Failure);
}

fn mark_warning(
    build: &mut RankedLines<'_>,
    block: Range<usize>,
    kinds: &mut HashMap<u64, (usize, usize), RandomState>,
) {
    let header = header(build, &block);
    let (_, turn) = kinds.entry(kind(bare(build.line(header)))).or_insert((header, 0));
    *turn += 1;
    let is_first = *turn == 1;
    for index in block {
        build.reports(index, Reports::Aside);
        build.set(
            index,
            match () {
                () if is_first => Rank::Sample,
                () if index == header => Rank::Ordinary,
                () => Rank::Bulk,
            },
        );
    }
}
