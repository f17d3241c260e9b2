//! A text of lines, ranked one by one. Most content types raise the lines that matter, and get the pieces from here.

use std::ops::Range;

use xxhash_rust::xxh3::Xxh3Default;

use super::failure_words::{Cursor, failure_words, reports};
use super::outline::{Outline, Rank, Unit, lines};

/// Maximum number of indented lines after a failure that count as its stack or details.
pub(super) const LONGEST_TRAIL: usize = 40;

/// The rule that tells if a line reports a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reports {
    /// By its words.
    ByWords,
    /// Its words report a failure. It is counted as one, but belongs to a success and keeps its rank.
    Aside,
    /// It reports a failure, whatever its words.
    Failure,
    /// It reports none: failure words in it are names or quoted text.
    Nothing,
    /// It reports none, unless its form shows that another program failed before or after.
    ByForm,
}

/// The properties of a line.
#[derive(Debug, Clone, Copy)]
struct Mark {
    rank: Rank,
    reports: Reports,
    is_reworded: bool,
    is_unmarked: bool,
    /// True if the previous line's piece represents this line too.
    is_folded: bool,
}

/// Text that is written before or instead of a line.
#[derive(Debug)]
enum Made {
    Before(String, Rank),
    Instead(String),
}

/// The lines of a text with their ranks.
#[derive(Debug)]
pub(super) struct RankedLines<'a> {
    text: &'a str,
    lines: Vec<Range<usize>>,
    marks: Vec<Mark>,
    made: Vec<(usize, Made)>,
}

impl<'a> RankedLines<'a> {
    /// Returns all lines of `text`, with rank [`Rank::Ordinary`].
    pub(super) fn of(text: &'a str, reports: Reports) -> RankedLines<'a> {
        let lines: Vec<Range<usize>> = lines(text).collect();
        let mark = Mark { rank: Rank::Ordinary, reports, is_reworded: false, is_unmarked: false, is_folded: false };
        RankedLines { text, marks: vec![mark; lines.len()], lines, made: Vec::new() }
    }

    /// Returns the number of lines.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns a line without its line end.
    pub(super) fn line(&self, index: usize) -> &'a str {
        let line = &self.text[self.lines[index].clone()];
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// Sets the rank of a line.
    pub(super) fn set(&mut self, index: usize, rank: Rank) {
        self.marks[index].rank = rank;
    }

    /// Sets the rank of a line, unless its rank is better.
    pub(super) fn raise(&mut self, index: usize, rank: Rank) {
        let mark = &mut self.marks[index];
        mark.rank = mark.rank.min(rank);
    }

    /// Sets how it is known if a line reports a failure.
    pub(super) fn reports(&mut self, index: usize, reports: Reports) {
        self.marks[index].reports = reports;
    }

    /// Writes a line as the outline rewords it; see [`Outline::rewording`].
    pub(super) fn reword(&mut self, index: usize) {
        self.marks[index].is_reworded = true;
    }

    /// Writes nothing for an omitted line, because a heading mentions it.
    pub(super) fn unmark(&mut self, index: usize) {
        self.marks[index].is_unmarked = true;
    }

    /// Writes `text`, without a line end, on a line before this one.
    pub(super) fn before(&mut self, index: usize, text: String, rank: Rank) {
        self.made.push((index, Made::Before(text, rank)));
    }

    /// Writes `text`, without a line end, instead of a line.
    pub(super) fn instead(&mut self, index: usize, text: String) {
        self.made.push((index, Made::Instead(text)));
    }

    /// Writes `text`, without a line end, instead of several repeating lines.
    pub(super) fn fold(&mut self, lines: Range<usize>, text: String, rank: Rank) {
        self.instead(lines.start, text);
        self.set(lines.start, rank);
        self.reports(lines.start, Reports::Nothing);
        self.marks[lines.start + 1..lines.end].iter_mut().for_each(|mark| mark.is_folded = true);
    }

    /// Returns the pieces. A line whose words report a failure is at least [`Rank::Failure`]. O(length).
    pub(super) fn outline(mut self) -> Outline<'a> {
        let is_read = self.marks.iter().any(|mark| matches!(mark.reports, Reports::ByWords | Reports::Aside));
        let found = if is_read { failure_words(self.text) } else { Vec::new() };
        let mut cursor = Cursor::of(&found);
        let is_formed = self.marks.iter().any(|mark| mark.reports == Reports::ByForm);
        let formed = if is_formed { reports(self.text).collect() } else { Vec::new() };
        let mut forms = Cursor::of(&formed);
        let mut trail = 0;
        let mut outline = Outline::of(Unit::Lines);
        outline.pieces.reserve(self.lines.len() + self.made.len());
        self.made.sort_by_key(|(index, _)| *index);
        let mut made = self.made.into_iter().peekable();
        for (index, (line, mark)) in self.lines.into_iter().zip(self.marks).enumerate() {
            let words = cursor.until(line.end);
            let form = forms.until(line.end);
            let is_report = mark.reports == Reports::ByForm && !form.is_empty();
            let is_folded = mark.is_folded && !is_report;
            if let Some(last) = outline.pieces.last_mut().filter(|_| is_folded) {
                last.source.end = line.end;
                continue;
            }
            let start = [line.start];
            let here: &[usize] = match mark.reports {
                Reports::ByWords | Reports::Aside => words,
                Reports::Failure => &start,
                Reports::Nothing => &[],
                Reports::ByForm => form,
            };
            trail = match () {
                () if is_report => LONGEST_TRAIL,
                () if trail > 0 && self.text[line.clone()].starts_with([' ', '\t']) => trail - 1,
                () => 0,
            };
            let by_words = mark.reports == Reports::ByWords && !here.is_empty();
            let rank = match () {
                () if is_report => mark.rank.min(Rank::Alarm),
                () if by_words || trail > 0 => mark.rank.min(Rank::Failure),
                () => mark.rank,
            };
            let mut instead = None;
            while let Some((_, made)) = made.next_if(|(at, _)| *at == index) {
                match made {
                    Made::Before(text, rank) => outline.push_made(line.start..line.start, text + "\n", rank, false),
                    Made::Instead(text) => instead = Some(text + "\n"),
                }
            }
            let first = outline.pieces.len();
            match instead {
                Some(text) => outline.push_made(line, text, rank, !here.is_empty()),
                None if mark.is_reworded => outline.push_reworded(line, rank, !here.is_empty()),
                None => outline.push_line(self.text, line, rank, here),
            }
            if mark.is_unmarked {
                outline.unmark(first);
            }
        }
        outline
    }
}

/// Returns a hash of the line without its numbers.
pub(super) fn shape(line: &str) -> u64 {
    let mut hasher = Xxh3Default::new();
    for word in line.split(|c: char| c.is_ascii_digit()).filter(|word| !word.is_empty()) {
        hasher.update(word.as_bytes());
        hasher.update(b"#");
    }
    hasher.digest()
}

/// Returns the indent of a line in spaces; a tab counts as four.
pub(super) fn indent(line: &str) -> usize {
    line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).map(|byte| if byte == b'\t' { 4 } else { 1 }).sum()
}
