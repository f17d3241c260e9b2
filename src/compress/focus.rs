//! Ranks the lines that the caller asked for before all others.

use std::ops::Range;

use regex::Regex;

use super::gap::newlines;
use super::outline::{Outline, Rank};

/// Lines that are more important than all others.
#[derive(Debug, Clone)]
pub enum Focus<'a> {
    /// Lines by number: the printed line numbers if the text has them, otherwise the lines of the text from 1.
    Lines(Range<usize>),
    /// Lines that match.
    Pattern(&'a Regex),
}

impl Focus<'_> {
    /// Ranks pieces with such lines before all others. O(length).
    pub(super) fn raise(&self, outline: &mut Outline<'_>, text: &str) {
        let (mut line, mut counted) = (outline.first_number.unwrap_or(1), 0);
        for piece in outline.pieces.iter_mut().filter(|piece| !piece.source.is_empty()) {
            line += newlines(&text[counted..piece.source.start]);
            counted = piece.source.start;
            let body = &text[piece.source.clone()];
            let is_asked = match self {
                Focus::Lines(lines) => line < lines.end && line + newlines(body.trim_end_matches('\n')) >= lines.start,
                Focus::Pattern(pattern) => pattern.is_match(body),
            };
            if is_asked {
                piece.rank = Rank::Asked;
            }
        }
    }
}
