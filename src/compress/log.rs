//! Lines that repeat: logs, and any text of lines that nothing else claims.
//!
//! Lines that differ in their numbers only have one shape. The first of a shape is kept with how often the shape
//! occurs, rare shapes are kept whole, failures before everything else.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use xxhash_rust::xxh3::Xxh3Default;

use super::ContentKind;
use super::alarms::{Cursor, alarms};
use super::outline::{Outline, Rank, Unit, lines};
use crate::numbers::thousands;

/// A shape of at most so many lines is rare.
const RARE: usize = 2;

/// A text of at least so many lines for each shape repeats itself.
const LINES_PER_SHAPE: usize = 2;

/// Lines behind a failure that are taken for its stack or its details while they are indented.
const LONGEST_TRAIL: usize = 40;

/// What the lines of a text have in common.
pub(super) struct Shapes {
    /// The shape of each line.
    of_line: Vec<u64>,
    /// How many lines have a shape.
    lines: HashMap<u64, usize, RandomState>,
}

impl Shapes {
    pub(super) fn of(text: &str) -> Shapes {
        let of_line: Vec<u64> = lines(text).map(|line| shape(&text.as_bytes()[line])).collect();
        let mut counts = HashMap::with_hasher(RandomState::default());
        for shape in &of_line {
            *counts.entry(*shape).or_insert(0) += 1;
        }
        Shapes { of_line, lines: counts }
    }

    /// Whether the text repeats itself.
    pub(super) fn repeat(&self) -> bool {
        self.of_line.len() >= LINES_PER_SHAPE * self.lines.len()
    }
}

/// A text of lines as pieces, and what it is. O(length).
pub(super) fn outline(text: &str) -> (ContentKind, Outline<'_>) {
    let shapes = Shapes::of(text);
    let (found, repeats) = (alarms(text), shapes.repeat());
    let mut cursor = Cursor::of(&found);
    let mut outline = Outline::of(Unit::Lines);
    let mut seen: HashMap<u64, usize, RandomState> = HashMap::with_hasher(RandomState::default());
    let mut trail = 0;
    for (line, shape) in lines(text).zip(&shapes.of_line) {
        let here = cursor.until(line.end);
        let before = seen.entry(*shape).or_insert(0);
        *before += 1;
        let (turn, times) = (*before, shapes.lines[shape]);
        let body = &text[line.clone()];
        trail = match () {
            () if !here.is_empty() => LONGEST_TRAIL,
            () if trail > 0 && body.starts_with([' ', '\t']) => trail - 1,
            () => 0,
        };
        let rank = match () {
            () if !here.is_empty() && turn == 1 => Rank::Alarm,
            () if !here.is_empty() || trail > 0 => Rank::Failure,
            // Where nothing repeats, nothing stands for anything else.
            () if !repeats || turn == 1 || times <= RARE => Rank::Sample,
            () => Rank::Ordinary,
        };
        if turn == 1 && times > RARE && repeats && line.len() <= LONGEST_COUNTED {
            outline.push_made(line, counted(body, times), rank, !here.is_empty());
        } else {
            outline.push_line(text, line, rank, here);
        }
    }
    (if repeats { ContentKind::Log } else { ContentKind::Text }, outline)
}

/// A line of at most so many bytes is shown with its count.
const LONGEST_COUNTED: usize = 400;

fn counted(line: &str, times: usize) -> String {
    let body = line.trim_end_matches(['\n', '\r']);
    format!("{body} [{} lines like this]\n", thousands(times))
}

/// What is left of a line when its numbers and ids are taken out. 64 bits: two shapes that meet are counted as one,
/// which costs a sample and never a failure.
fn shape(line: &[u8]) -> u64 {
    let mut hasher = Xxh3Default::new();
    let mut word: Range<usize> = 0..0;
    let mut masked = Vec::with_capacity(line.len());
    let (mut at, mut has_digit) = (0, false);
    while at <= line.len() {
        let byte = line.get(at).copied().unwrap_or(b'\n');
        if byte.is_ascii_alphanumeric() {
            has_digit |= byte.is_ascii_digit();
            at += 1;
            continue;
        }
        word.end = at;
        // A word with a digit in it is a number, a time, an id.
        if has_digit {
            masked.push(b'#');
        } else {
            masked.extend_from_slice(&line[word.clone()]);
        }
        masked.push(byte);
        at += 1;
        (word.start, has_digit) = (at, false);
    }
    hasher.update(&masked);
    hasher.digest()
}
