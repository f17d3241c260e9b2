//! A text as ranked pieces, each of which is kept or left out.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::failure_words::Cursor;
use crate::text::end_of_slice;

/// A line with more bytes is cut into slices, so that no single line can take a whole budget.
const LONGEST_LINE: usize = 400;

/// The approximate size of a slice in bytes: about forty tokens, a sentence or two.
const SLICE: usize = 160;

/// The priority of a piece. A budget is spent in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// Pieces that the caller asked for.
    Asked,
    /// A piece that reports a failure which no earlier piece reports.
    Alarm,
    /// A piece that belongs to a failure, or reports a similar one again.
    Failure,
    /// A piece that describes the whole text: a header, a summary, a signature.
    Key,
    /// The first piece of its kind, or one of few.
    Sample,
    /// One of many similar pieces.
    Ordinary,
    /// Pieces that are hardly ever needed.
    Bulk,
}

impl Rank {
    /// All ranks, highest priority first.
    pub const ALL: [Rank; 7] =
        [Rank::Asked, Rank::Alarm, Rank::Failure, Rank::Key, Rank::Sample, Rank::Ordinary, Rank::Bulk];

    /// True if pieces of this rank carry information that the text needs.
    pub fn is_essential(self) -> bool {
        self <= Rank::Sample
    }
}

/// The unit of the pieces, as gap lines name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Lines of the text, or slices of one.
    Lines,
    /// Other units, named in the plural: `records`.
    Items(&'static str),
}

/// The text that is written for a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wording {
    /// Its source, unchanged.
    Source,
    /// Other text, which ends with a line end.
    Made(Box<str>),
    /// Text that [`Outline::reword`] writes from the source only if the piece is kept.
    Reworded,
}

/// A part of a text that is kept whole or left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The bytes of its source.
    pub source: Range<usize>,
    /// The text that is written for it.
    pub wording: Wording,
    /// Its priority.
    pub rank: Rank,
    /// True if it reports a failure. Missing failures are counted in their gap.
    pub failure_word: bool,
    /// Its contribution to the gap line if it is left out.
    pub absence: Absence,
    /// The rule by which it may be kept without a budget.
    pub essence: Essence,
}

/// The rule by which a piece may be kept without a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Essence {
    /// Its rank decides.
    ByRank,
    /// It is only counted, with any budget, because enough similar pieces are kept.
    Counted,
}

/// The effect of a missing piece on a gap line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// It is part of the gap line's size.
    Marked,
    /// It needs no gap line, because a heading has the count: the context of a hunk, the entries of a folder. A piece
    /// that reports a failure has one anyway.
    Plain,
}

/// A text as consecutive pieces without gaps.
pub struct Outline<'a> {
    /// The unit of the pieces.
    pub unit: Unit,
    /// The pieces. Their sources are consecutive and cover the text.
    pub pieces: Vec<Piece>,
    /// The number of the first line in its file, if the lines are numbered and do not begin at 1.
    pub first_number: Option<usize>,
    reword: Option<Box<Reword<'a>>>,
}

/// Writes the text of a piece from its source. The text must end with a line end.
type Reword<'a> = dyn Fn(&str) -> String + 'a;

impl Piece {
    /// True if a missing piece needs a gap line.
    pub fn is_marked(&self) -> bool {
        self.absence == Absence::Marked || self.failure_word
    }
}

impl<'a> Outline<'a> {
    /// Returns an outline without pieces.
    pub fn of(unit: Unit) -> Outline<'a> {
        Outline { unit, pieces: Vec::new(), first_number: None, reword: None }
    }

    /// Sets the function that writes the pieces of [`Outline::push_reworded`].
    #[must_use]
    pub fn rewording(self, reword: impl Fn(&str) -> String + 'a) -> Outline<'a> {
        Outline { reword: Some(Box::new(reword)), ..self }
    }

    /// Adds `source` unchanged.
    pub fn push(&mut self, source: Range<usize>, rank: Rank, failure_word: bool) {
        self.pieces.push(Piece {
            source,
            wording: Wording::Source,
            rank,
            failure_word,
            absence: Absence::Marked,
            essence: Essence::ByRank,
        });
    }

    /// Adds `text` in place of `source`. `text` must end with a line end.
    pub fn push_made(&mut self, source: Range<usize>, text: impl Into<Box<str>>, rank: Rank, failure_word: bool) {
        self.pieces.push(Piece {
            source,
            wording: Wording::Made(text.into()),
            rank,
            failure_word,
            absence: Absence::Marked,
            essence: Essence::ByRank,
        });
    }

    /// Adds a piece whose text is written from `source` if it is kept.
    pub fn push_reworded(&mut self, source: Range<usize>, rank: Rank, failure_word: bool) {
        self.pieces.push(Piece {
            source,
            wording: Wording::Reworded,
            rank,
            failure_word,
            absence: Absence::Marked,
            essence: Essence::ByRank,
        });
    }

    /// Adds a line of `text` with its line end; a long line is cut into slices. The first slice, and slices with one of
    /// `failure_words` (sorted offsets in `text`), have `rank`. If the line reports a failure, its other slices are
    /// ordinary. O(line).
    pub fn push_line(&mut self, text: &str, line: Range<usize>, rank: Rank, failure_words: &[usize]) {
        if line.len() <= LONGEST_LINE {
            self.push(line, rank, !failure_words.is_empty());
            return;
        }
        let mut start = line.start;
        let mut cursor = Cursor::of(failure_words);
        while start < line.end {
            let end = end_of_slice(text, start, line.end, SLICE);
            let failure_word = !cursor.until(end).is_empty();
            let rank = if failure_words.is_empty() || failure_word || start == line.start {
                rank
            } else {
                rank.max(Rank::Ordinary)
            };
            self.push(start..end, rank, failure_word);
            start = end;
        }
    }

    /// Removes the gap lines of the pieces from `first` on, except for failures.
    pub fn unmark(&mut self, first: usize) {
        self.pieces[first..].iter_mut().for_each(|piece| piece.absence = Absence::Plain);
    }

    /// Marks the pieces from `first` on as only counted, because enough similar pieces are kept.
    pub fn count(&mut self, first: usize) {
        self.pieces[first..].iter_mut().for_each(|piece| piece.essence = Essence::Counted);
    }

    /// Returns the text of a piece.
    pub fn text_of<'t>(&'t self, text: &'t str, piece: usize) -> Cow<'t, str> {
        let Piece { source, wording, .. } = &self.pieces[piece];
        match (wording, &self.reword) {
            (Wording::Made(made), _) => Cow::Borrowed(made),
            (Wording::Reworded, Some(reword)) => Cow::Owned(reword(&text[source.clone()])),
            (Wording::Source | Wording::Reworded, _) => Cow::Borrowed(&text[source.clone()]),
        }
    }
}

impl fmt::Debug for Outline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outline").field("unit", &self.unit).field("pieces", &self.pieces).finish_non_exhaustive()
    }
}

/// Returns the lines of `text`, each with its line end, as byte ranges.
pub fn lines(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let range = start..start + line.len();
        start = range.end;
        range
    })
}
