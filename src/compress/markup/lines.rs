//! The lines that markup comes to, and how much each is needed.

use crate::compress::alarms::alarms;
use crate::compress::outline::{Outline, Rank, Unit};

/// The share of the bytes of the source that says what the whole is, in hundredths, headings apart.
const ESSENTIAL_SHARE: usize = 25;

/// A line of more bytes is cut between words.
const LONGEST: usize = 400;

/// A line.
#[derive(Debug)]
struct Line {
    /// Where its source ends.
    end: usize,
    text: String,
    is_heading: bool,
    /// How many lines of the same sort stand before it.
    turn: usize,
}

/// The lines of a text.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: Vec<Line>,
}

impl Lines {
    /// Adds a line, whose source ends at `end`. `turn` counts the lines of its sort.
    pub(super) fn push(&mut self, end: usize, text: &str, turn: usize) {
        let mut rest = text;
        while rest.len() > LONGEST {
            let window = &rest[..rest.floor_char_boundary(LONGEST)];
            let (part, behind) =
                rest.split_at(window.rfind(' ').filter(|at| *at > LONGEST / 2).map_or(window.len(), |at| at + 1));
            self.lines.push(Line { end, text: format!("{}\n", part.trim_end()), is_heading: false, turn });
            rest = behind;
        }
        if !rest.trim().is_empty() {
            self.lines.push(Line { end, text: format!("{}\n", rest.trim_end()), is_heading: false, turn });
        }
    }

    /// Adds a heading.
    pub(super) fn push_heading(&mut self, end: usize, text: &str) {
        let text = &text[..text.floor_char_boundary(LONGEST)];
        self.lines.push(Line { end, text: format!("{}\n", text.trim_end()), is_heading: true, turn: 0 });
    }

    /// The lines as pieces of `text`. `None` if there are none.
    pub(super) fn outline(self, text: &str) -> Option<Outline<'_>> {
        let most_turns = self.essential_turns(text.len() * ESSENTIAL_SHARE / 100);
        let mut outline = Outline::of(Unit::Lines);
        let last = self.lines.len().checked_sub(1)?;
        let mut covered = 0;
        for (place, line) in self.lines.into_iter().enumerate() {
            // The source of a line ends where it was seen to end, and the last one's with the text.
            let end = if place == last {
                text.len()
            } else {
                text.floor_char_boundary(line.end.min(text.len())).max(covered)
            };
            let alarm = !alarms(&line.text).is_empty();
            let rank = match () {
                () if alarm => Rank::Failure,
                () if line.is_heading => Rank::Key,
                () if line.turn < most_turns => Rank::Sample,
                () => Rank::Ordinary,
            };
            outline.push_made(covered..end, line.text, rank, alarm);
            covered = end;
        }
        Some(outline)
    }

    /// How many lines of each sort say what the whole is: as many as fit `bytes`.
    fn essential_turns(&self, bytes: usize) -> usize {
        /// Where so many lines of a sort fit, all do.
        const MOST: usize = 10_000;
        let mut bytes_of_turn = vec![0; MOST];
        for line in self.lines.iter().filter(|line| !line.is_heading) {
            bytes_of_turn[line.turn.min(MOST - 1)] += line.text.len();
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

/// Adds `text` to a line, its spaces as one.
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
