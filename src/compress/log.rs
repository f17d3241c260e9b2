//! Logs, and any other text of lines.
//!
//! Lines that differ only in their numbers have the same shape. The first line of a shape is kept with the number of
//! such lines, lines of rare shapes are kept whole, and failures come before everything else.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::ContentKind;
use super::alike::{MOST_ALIKE, shape};
use super::failure_words::{Cursor, failure_words};
use super::outline::{Outline, Rank, Unit, lines};
use super::ranked::LONGEST_TRAIL;
use super::trace::Stacks;
use crate::numbers::thousands;

/// A shape with at most this many lines is rare.
const RARE: usize = 2;

/// Number of lines that are kept at each end of a repeated shape, beside the line with the count. They show how the
/// numbers change.
const ENDS: usize = 2;

/// A text with at least this many lines for each shape repeats itself.
const LINES_PER_SHAPE: usize = 2;

/// Counts the lines of each shape.
struct Shapes {
    /// The shape of each line.
    of_line: Vec<usize>,
    /// The number of lines of each shape.
    lines: Vec<usize>,
    /// The number of lines with text.
    said: usize,
}

impl Shapes {
    fn of(text: &str) -> Shapes {
        let mut known: HashMap<u64, usize, RandomState> = HashMap::with_hasher(RandomState::default());
        let mut shapes = Shapes { of_line: Vec::new(), lines: Vec::new(), said: 0 };
        for line in lines(text) {
            shapes.said += usize::from(!is_blank(&text[line.clone()]));
            let shape = *known.entry(shape(text[line].trim_end().as_bytes())).or_insert(shapes.lines.len());
            if shape == shapes.lines.len() {
                shapes.lines.push(0);
            }
            shapes.lines[shape] += 1;
            shapes.of_line.push(shape);
        }
        shapes
    }

    /// True if the text repeats itself.
    fn repeat(&self) -> bool {
        self.said >= LINES_PER_SHAPE * self.lines.len()
    }
}

/// Splits a text of lines into pieces, and returns its content type. O(length).
pub(super) fn outline(text: &str) -> (ContentKind, Outline<'_>) {
    let shapes = Shapes::of(text);
    let (found, repeats) = (failure_words(text), shapes.repeat());
    let mut cursor = Cursor::of(&found);
    let mut outline = Outline::of(Unit::Lines);
    let mut seen = vec![0_usize; shapes.lines.len()];
    // The letter of the level may be the only sign of a failure: `E0314` and `I0314` have the same shape.
    let mut failures = vec![0_usize; shapes.lines.len()];
    let mut trail = 0;
    let mut is_counted = false;
    let mut stacks = Stacks::default();
    for (line, shape) in lines(text).zip(&shapes.of_line) {
        let here = cursor.until(line.end);
        seen[*shape] += 1;
        failures[*shape] += usize::from(!here.is_empty());
        let (turn, times) = (seen[*shape], shapes.lines[*shape]);
        let body = &text[line.clone()];
        let is_inside = here.is_empty() && body.starts_with([' ', '\t']);
        trail = match () {
            () if !here.is_empty() => LONGEST_TRAIL,
            () if trail > 0 && is_inside => trail - 1,
            () => 0,
        };
        if is_inside && (trail > 0 || stacks.is_open()) {
            stacks.add(&outline, body, line.start, *shape);
        } else {
            stacks.end(&mut outline, line.start);
        }
        let rank = match () {
            () if !here.is_empty() && turn == 1 => Rank::Alarm,
            () if !here.is_empty() || trail > 0 => Rank::Failure,
            () if repeats && is_blank(body) => Rank::Bulk,
            () if !repeats && is_heading(body) => Rank::Key,
            // If nothing repeats, no line can represent another.
            () if !repeats || turn == 1 || times <= RARE => Rank::Sample,
            () => Rank::Ordinary,
        };
        // Further lines of a failure are counted with it.
        is_counted = match () {
            () if !here.is_empty() => failures[*shape] > MOST_ALIKE,
            () if trail > 0 => is_counted,
            () => repeats && turn > 1 + ENDS && turn + ENDS <= times,
        };
        let first = outline.pieces.len();
        if turn == 1 && times > RARE && repeats && line.len() <= LONGEST_COUNTED && !is_blank(body) {
            outline.push_made(line, with_count(body, times), rank, !here.is_empty());
        } else {
            outline.push_line(text, line, rank, here);
        }
        if is_counted {
            outline.count(first);
        }
    }
    stacks.end(&mut outline, text.len());
    (if repeats { ContentKind::Log } else { ContentKind::Text }, outline)
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// True if a line is a Markdown heading, which names the subject of a part.
fn is_heading(line: &str) -> bool {
    let title = line.trim_start_matches('#');
    title.len() < line.len() && title.starts_with(' ')
}

/// A line of at most this many bytes is shown with its count.
const LONGEST_COUNTED: usize = 400;

fn with_count(line: &str, times: usize) -> String {
    let body = line.trim_end_matches(['\n', '\r']);
    format!("{body} [{} lines like this]\n", thousands(times))
}
