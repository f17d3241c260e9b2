//! The line in place of a gap: the size and place of the missing text, and the number of failures in it.

use std::fmt::Write;
use std::ops::Range;

use super::outline::{Outline, Unit};
use crate::numbers::thousands;
use crate::tokens::{CountTokens, TextKind};

/// The beginning of every gap line.
const GAP: &str = "[... ";
const GAP_END: &str = " ...]";

/// The line after a shortened text that has no gap lines. The headings in that text name the missing parts.
pub(super) const SPARED: &str = "[... what can be spared is left out ...]";

/// The missing content at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gap {
    /// Lines, counted from 1. A retrieval accepts these numbers.
    Lines(Range<usize>),
    /// Lines, counted from 1, and the printed line number of the first one.
    Numbered(Range<usize>, usize),
    /// Other units, named in the plural.
    Items(usize, &'static str),
    /// A piece of one line.
    Characters(usize),
}

/// A gap, and the number of failures in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The missing content.
    pub gap: Gap,
    /// The number of missing pieces that report a failure.
    pub failure_words: usize,
}

/// Returns the line in place of a gap in which `failure_words` pieces report a failure.
pub(super) fn gap_line(gap: &Gap, failure_words: usize) -> String {
    let mut line = GAP.to_owned();
    // Writing to a string cannot fail.
    let _ = match gap {
        Gap::Lines(lines) if lines.len() == 1 => write!(line, "line {} left out", lines.start),
        Gap::Lines(lines) => write!(line, "lines {}-{} left out", lines.start, lines.end - 1),
        Gap::Numbered(lines, first) if lines.len() == 1 => {
            write!(line, "line {} left out, numbered {first}", lines.start)
        }
        Gap::Numbered(lines, first) => write!(
            line,
            "lines {}-{} left out, numbered {first}-{}",
            lines.start,
            lines.end - 1,
            first + lines.len() - 1
        ),
        Gap::Items(0, nouns) => write!(line, "what sums up the {nouns} left out"),
        Gap::Items(1, nouns) => write!(line, "1 {} left out", nouns.strip_suffix('s').unwrap_or(nouns)),
        Gap::Items(count, nouns) => write!(line, "{} {nouns} left out", thousands(*count)),
        Gap::Characters(1) => line.write_str("1 character left out"),
        Gap::Characters(count) => write!(line, "{} characters left out", thousands(*count)),
    };
    push_errors(&mut line, failure_words);
    line.push_str(GAP_END);
    line
}

/// Writes how many of the omitted units report a failure.
pub(super) fn push_errors(out: &mut String, failure_words: usize) {
    // Writing to a string cannot fail.
    let _ = match failure_words {
        0 => Ok(()),
        1 => out.write_str(", 1 of them an error"),
        _ => write!(out, ", {} of them errors", thousands(failure_words)),
    };
}

/// Returns the most tokens that a gap line of this text can take, including line ends. O(length).
pub(super) fn gap_tokens(outline: &Outline<'_>, text: &str, counter: &dyn CountTokens) -> usize {
    let failure_words = outline.pieces.iter().filter(|piece| piece.failure_word).count();
    // No number in a gap is larger, and none takes more tokens. A part of a line has no more characters than bytes.
    let gaps = match (outline.unit, outline.first_number) {
        (Unit::Items(noun), _) => vec![Gap::Items(outline.pieces.len(), noun)],
        (Unit::Lines, first) => {
            let lines = newlines(text) + 1;
            let lines = match first {
                Some(first) => Gap::Numbered(lines..2 * lines, first + lines),
                None => Gap::Lines(lines..2 * lines),
            };
            let slices = outline.pieces.iter().any(|piece| !text[piece.source.clone()].ends_with('\n'));
            [lines].into_iter().chain(slices.then_some(Gap::Characters(text.len()))).collect()
        }
    };
    let ends = counter.count("\n", TextKind::ToolOutput) * 2;
    let tokens = |gap| counter.count(&gap_line(gap, failure_words), TextKind::ToolOutput);
    gaps.iter().map(tokens).max().unwrap_or_default() + ends
}

/// Counts the line ends in `text`.
pub(super) fn newlines(text: &str) -> usize {
    // Summed in one byte per block, which the compiler vectorizes. A block is too short to overflow it.
    let blocks = text.as_bytes().chunks(usize::from(u8::MAX));
    blocks.map(|block| usize::from(block.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>())).sum()
}

/// True if `text` has a gap line. O(length), at memory speed if it has none.
pub(super) fn has_gap_line(text: &str) -> bool {
    text.contains(GAP) && text.lines().any(is_gap_line)
}

/// True if `line` is a gap line, as written in [`Compressed::text`](super::Compressed::text).
pub fn is_gap_line(line: &str) -> bool {
    let is_one = |rest: &str| rest.ends_with(GAP_END) && rest.contains(" left out") && !rest.contains('\n');
    line.strip_prefix(GAP).is_some_and(|rest| is_one(rest.trim_end()))
}
