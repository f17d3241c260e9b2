//! The lines of a markup text, and their ranks.

use crate::compress::failure_words::{failure_words, reports};
use crate::compress::outline::{Outline, Rank, Unit};

/// The percentage of the source's bytes that describes the whole, besides headings.
const ESSENTIAL_SHARE: usize = 25;

/// A line with more bytes is cut between words.
const LONGEST: usize = 400;

/// A line.
#[derive(Debug)]
struct Line {
    /// The end of its source.
    end: usize,
    text: String,
    sort: Sort,
}

/// The type of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Heading,
    /// A line that reports a failure by its form.
    Report,
    /// A line of an element, with the number of its lines before this one.
    Body(usize),
}

/// The lines of a text.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: Vec<Line>,
}

impl Lines {
    /// Adds a line whose source ends at `end`. `turn` counts the lines of its sort.
    pub(super) fn push(&mut self, end: usize, text: &str, turn: usize) {
        let mut rest = text;
        while rest.len() > LONGEST {
            let window = &rest[..rest.floor_char_boundary(LONGEST)];
            let (part, behind) =
                rest.split_at(window.rfind(' ').filter(|at| *at > LONGEST / 2).map_or(window.len(), |at| at + 1));
            self.lines.push(Line { end, text: format!("{}\n", part.trim_end()), sort: Sort::Body(turn) });
            rest = behind;
        }
        if !rest.trim().is_empty() {
            self.lines.push(Line { end, text: format!("{}\n", rest.trim_end()), sort: Sort::Body(turn) });
        }
    }

    /// Adds the lines of hidden text, such as a comment, in which a program reports its failure.
    pub(super) fn push_reports(&mut self, end: usize, hidden: &str) {
        for start in reports(hidden) {
            let line = hidden[start..].lines().next().unwrap_or_default().trim();
            let text = format!("{}\n", &line[..line.floor_char_boundary(LONGEST)]);
            self.lines.push(Line { end, text, sort: Sort::Report });
        }
    }

    /// Adds a heading.
    pub(super) fn push_heading(&mut self, end: usize, text: &str) {
        let text = &text[..text.floor_char_boundary(LONGEST)];
        self.lines.push(Line { end, text: format!("{}\n", text.trim_end()), sort: Sort::Heading });
    }

    /// Returns the lines as pieces of `text`. `None` if there are none.
    pub(super) fn outline(self, text: &str) -> Option<Outline<'_>> {
        let most_turns = self.essential_turns(text.len() * ESSENTIAL_SHARE / 100);
        let mut outline = Outline::of(Unit::Lines);
        let last = self.lines.len().checked_sub(1)?;
        let mut covered = 0;
        for (place, line) in self.lines.into_iter().enumerate() {
            // The source of a line ends at its recorded end; that of the last line, with the text.
            let end = if place == last {
                text.len()
            } else {
                text.floor_char_boundary(line.end.min(text.len())).max(covered)
            };
            let failure_word = line.sort == Sort::Report || !failure_words(&line.text).is_empty();
            let rank = match line.sort {
                _ if failure_word => Rank::Failure,
                Sort::Body(turn) if turn < most_turns => Rank::Sample,
                Sort::Body(_) => Rank::Ordinary,
                Sort::Heading | Sort::Report => Rank::Key,
            };
            outline.push_made(covered..end, line.text, rank, failure_word);
            covered = end;
        }
        Some(outline)
    }

    /// Returns the number of lines of each sort that fit into `bytes` and outline the whole.
    fn essential_turns(&self, bytes: usize) -> usize {
        /// All lines of a sort fit at this number.
        const MOST: usize = 10_000;
        let mut bytes_of_turn = vec![0; MOST];
        for line in &self.lines {
            if let Sort::Body(turn) = line.sort {
                bytes_of_turn[turn.min(MOST - 1)] += line.text.len();
            }
        }
        let mut left = bytes;
        bytes_of_turn
            .iter()
            .take_while(|turn| {
                let fits = **turn <= left;
                left = left.saturating_sub(**turn);
                fits
            })
            .count()
    }
}

/// Splits a text between tags: each line in which a program reports its failure stands alone, and the text between such
/// lines is one part. On one joined line, two failures would be counted as one. O(length).
pub(super) fn text_lines(text: &str) -> Vec<TextPart<'_>> {
    let mut parts = Vec::new();
    let mut from = 0;
    if text.contains('\n') && !text.trim_start().is_empty() {
        for start in reports(text).filter(|start| text[..*start].ends_with('\n')) {
            let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
            parts.push(TextPart::Words(&text[from..start]));
            parts.push(TextPart::Report(&text[start..end]));
            from = end;
        }
    }
    parts.push(TextPart::Words(&text[from..]));
    parts
}

/// A part of a text between tags.
pub(super) enum TextPart<'a> {
    Words(&'a str),
    Report(&'a str),
}

/// Adds `text` to a line, with each run of spaces as one.
pub(super) fn push_words(line: &mut String, text: &str) {
    if text.starts_with(char::is_whitespace) && !line.is_empty() && !line.ends_with(' ') {
        line.push(' ');
    }
    for (place, word) in text.split_whitespace().enumerate() {
        if place > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    if text.ends_with(char::is_whitespace) && !line.is_empty() && !line.ends_with(' ') {
        line.push(' ');
    }
}
