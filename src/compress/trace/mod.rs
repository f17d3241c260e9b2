//! Stack traces: Python, Java, JavaScript, Go, Rust, C#. Keeps messages and the application's frames first, and counts
//! frames of libraries and repeated frames.

mod frame;
mod repeated;

pub(super) use repeated::Stacks;

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use frame::{Frame, Origin, frame, goroutine};

use super::outline::{Outline, Rank};
use super::ranked::{RankedLines, Reports, shape};
use super::sample::Sample;
use crate::numbers::thousands;

/// The least percentage of lines that are frames or the code in them.
const FRAMES: usize = 60;

/// Number of the application's frames in one stack that are essential, at its beginning and its end.
const OWN: usize = 12;

/// Maximum number of frames that repeat together. Recursion goes through a few functions.
const LONGEST_CYCLE: usize = 8;

/// Frames that repeat less often are shown as they are.
const LEAST_CYCLES: usize = 2;

/// True if most lines are frames.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    let mut was_frame = false;
    let mut hits = 0;
    for line in &sample.lines {
        let is_frame = frame(line).is_some();
        // The code of a frame follows it, indented.
        hits += usize::from(is_frame || was_frame && line.starts_with([' ', '\t']) || goroutine(line).is_some());
        was_frame = is_frame;
    }
    hits * 100 >= FRAMES * sample.lines.len().max(1) && sample.any(|line| frame(line).is_some())
}

/// A frame, and the number of its further lines.
struct PlacedFrame<'a> {
    lines: Range<usize>,
    frame: Frame<'a>,
}

/// Splits the traces into pieces. O(length).
pub(super) fn outline(text: &str) -> Outline<'_> {
    let mut trace = RankedLines::of(text, Reports::ByWords);
    let mut seen: HashMap<u64, usize, RandomState> = HashMap::default();
    let mut same: HashMap<u64, (usize, usize), RandomState> = HashMap::default();
    let mut index = 0;
    let mut head = 0..0;
    while index < trace.len() {
        if frame(trace.line(index)).is_none() {
            let start = index;
            while index < trace.len() && frame(trace.line(index)).is_none() {
                index += 1;
            }
            head = start..index;
            mark_message(&mut trace, head.clone(), &mut seen);
            continue;
        }
        let stack = read_stack(&trace, index);
        let end = stack.last().map_or(index + 1, |last| last.lines.end);
        let title = head.clone().rev().find(|index| goroutine(trace.line(*index)).is_some());
        let stacks = same.entry(key(&trace, title, &stack)).or_insert((title.unwrap_or(index), 0));
        stacks.1 += 1;
        if stacks.1 == 1 {
            mark_stack(&mut trace, &stack);
        } else if title.is_some() {
            head.clone().for_each(|index| trace.set(index, Rank::Bulk));
            (index..end).for_each(|index| trace.set(index, Rank::Bulk));
            (index..end).for_each(|index| trace.reports(index, Reports::Nothing));
        }
        index = end;
    }
    for (first, count) in same.into_values().filter(|(_, count)| *count > 1) {
        trace.instead(first, format!("{} [{} stacks like this]", trace.line(first), thousands(count)));
    }
    trace.outline()
}

/// Returns the consecutive frames from `start` on.
fn read_stack<'a>(trace: &RankedLines<'a>, start: usize) -> Vec<PlacedFrame<'a>> {
    let mut stack: Vec<PlacedFrame<'a>> = Vec::new();
    let mut index = start;
    while index < trace.len() {
        if let Some(frame) = frame(trace.line(index)) {
            stack.push(PlacedFrame { lines: index..index + 1, frame });
        } else if let Some(last) = stack.last_mut().filter(|last| trace.line(index).starts_with(last.frame.under)) {
            // The path may show the origin of the code if the name does not.
            last.frame.origin = last.frame.origin.max(frame::origin_of_place(trace.line(index)));
            last.lines.end = index + 1;
        } else {
            break;
        }
        index += 1;
    }
    stack
}

/// Returns a hash of a stack: the goroutine's state and the frames, without numbers.
fn key(trace: &RankedLines<'_>, title: Option<usize>, stack: &[PlacedFrame<'_>]) -> u64 {
    let state = title.and_then(|index| goroutine(trace.line(index))).unwrap_or_default();
    let frames: String = stack.iter().map(|placed| placed.frame.name).collect();
    shape(&format!("{state} {frames}"))
}

/// Ranks the lines between stacks. A message is kept whole. A message like an earlier one only counts as a failure.
fn mark_message(trace: &mut RankedLines<'_>, lines: Range<usize>, seen: &mut HashMap<u64, usize, RandomState>) {
    for index in lines {
        let line = trace.line(index);
        if line.trim().is_empty() {
            continue;
        }
        let turns = seen.entry(shape(line)).or_default();
        *turns += 1;
        let is_message = line.contains("Error") || line.contains("Exception") || line.contains("panic");
        trace.set(
            index,
            match () {
                () if *turns > 1 => Rank::Ordinary,
                () if is_message || goroutine(line).is_some() => Rank::Alarm,
                () => Rank::Failure,
            },
        );
        if *turns > 1 {
            trace.reports(index, Reports::Aside);
        }
    }
}

/// Ranks the application's frames, and counts frames of libraries and repeated frames.
fn mark_stack(trace: &mut RankedLines<'_>, stack: &[PlacedFrame<'_>]) {
    let mut repeated = vec![false; stack.len()];
    let mut at = 0;
    while at < stack.len() {
        let Some((length, times)) = cycle(stack, at) else {
            at += 1;
            continue;
        };
        let (first, end) = (at + length, at + length * times);
        let text = match length {
            1 => format!("[the frame above {} times more]", thousands(times - 1)),
            _ => format!("[the {length} frames above {} times more]", thousands(times - 1)),
        };
        trace.fold(stack[first].lines.start..stack[end - 1].lines.end, text, Rank::Failure);
        (first..end).for_each(|frame| repeated[frame] = true);
        at = end;
    }
    let rest: Vec<&PlacedFrame<'_>> =
        stack.iter().zip(&repeated).filter(|(_, repeated)| !**repeated).map(|(placed, _)| placed).collect();
    let own: Vec<&&PlacedFrame<'_>> = rest.iter().filter(|placed| placed.frame.origin == Origin::Application).collect();
    for (turn, placed) in own.iter().enumerate() {
        if turn < OWN || turn + OWN >= own.len() {
            placed.lines.clone().for_each(|index| trace.set(index, Rank::Failure));
        }
    }
    for libraries in rest.chunk_by(|one, two| one.frame.origin == two.frame.origin) {
        if libraries[0].frame.origin != Origin::Library || libraries.len() < 2 {
            continue;
        }
        trace.before(
            libraries[0].lines.start,
            format!("[{} frames of libraries, as far as there was room]", thousands(libraries.len())),
            Rank::Failure,
        );
        for index in libraries.iter().flat_map(|placed| placed.lines.clone()) {
            trace.unmark(index);
            trace.reports(index, Reports::Nothing);
        }
    }
    // If all frames are from libraries, the innermost frame says most.
    if own.is_empty()
        && let Some(first) = rest.first()
    {
        first.lines.clone().for_each(|index| trace.set(index, Rank::Failure));
    }
}

/// Returns the length of the shortest cycle of frames from `at` on, and how often it repeats.
fn cycle(stack: &[PlacedFrame<'_>], at: usize) -> Option<(usize, usize)> {
    (1..=LONGEST_CYCLE).find_map(|length| {
        let is_same =
            |one: usize| one + length < stack.len() && stack[one].frame.name == stack[one + length].frame.name;
        let same = (at..stack.len()).take_while(|one| is_same(*one)).count();
        let times = same / length + 1;
        (times > LEAST_CYCLES).then_some((length, times))
    })
}
