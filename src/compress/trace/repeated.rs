//! Stacks inside other text, such as a log. A stack that appeared before is folded into one line.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::frame::frame;
use crate::compress::outline::{Essence, Outline, Rank};
use crate::numbers::thousands;

/// Fewer lines are shown as they are.
const LEAST: usize = 3;

/// Finds the stacks of a text as its lines are read one by one.
#[derive(Debug, Default)]
pub(in crate::compress) struct Stacks {
    open: Option<OpenFailure>,
    seen: HashSet<u64, RandomState>,
}

/// The lines after a failure, while they are read.
#[derive(Debug)]
struct OpenFailure {
    first_piece: usize,
    start: usize,
    lines: usize,
    frames: usize,
    /// A hash of the lines' shapes.
    key: u64,
}

impl Stacks {
    /// True if the previous line belongs to a possible stack.
    pub(in crate::compress) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Adds the line at `start`, before its pieces are added to `outline`. Lines that differ only in numbers have the
    /// same `shape`. O(line).
    pub(in crate::compress) fn add(&mut self, outline: &Outline<'_>, line: &str, start: usize, shape: usize) {
        let first_piece = outline.pieces.len();
        let open = self.open.get_or_insert(OpenFailure { first_piece, start, lines: 0, frames: 0, key: 0 });
        open.lines += 1;
        open.frames += usize::from(frame(line.trim_end()).is_some());
        open.key = xxh3_64_with_seed(&shape.to_le_bytes(), open.key);
    }

    /// Ends the stack at `end`. If the same stack appeared before, its pieces are folded into one.
    pub(in crate::compress) fn end(&mut self, outline: &mut Outline<'_>, end: usize) {
        let Some(open) = self.open.take() else { return };
        if open.lines < LEAST || open.frames == 0 || self.seen.insert(open.key) {
            return;
        }
        let essence = outline.pieces[open.first_piece].essence;
        outline.pieces.truncate(open.first_piece);
        let text = format!("    [{} lines of a stack that was seen before]\n", thousands(open.lines));
        outline.push_made(open.start..end, text, Rank::Failure, false);
        if essence == Essence::Counted {
            outline.count(open.first_piece);
        }
    }
}
