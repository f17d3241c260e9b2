//! Rows of cells: statistics of each column, and the unusual rows.
//!
//! Shared by records of JSON and by tables of text. Cells are borrowed and given out as they are in the source.

mod column;
mod moments;
mod spans;
mod summary;

pub(super) use column::CellKind;
pub(super) use moments::{Moment, is_time};

use column::Column;
use spans::Spans;

/// Rows of the front and of the end that are shown as they are.
const FRONT: usize = 6;
const BACK: usize = 3;

/// Rows of cells.
#[derive(Debug, Default)]
pub(super) struct Table<'a> {
    /// The columns in the order in which they came up.
    pub(super) columns: Vec<Column<'a>>,
    /// The number of rows.
    pub(super) rows: usize,
}

impl<'a> Table<'a> {
    /// The column `name`; the one at `guess` where it has this name. O(columns) where it has not.
    pub(super) fn column(&mut self, guess: usize, name: &'a str) -> usize {
        if self.columns.get(guess).is_some_and(|column| column.name == name) {
            return guess;
        }
        if let Some(found) = self.columns.iter().position(|column| column.name == name) {
            return found;
        }
        self.push(name)
    }

    /// Adds a column of a name that no other has.
    pub(super) fn push(&mut self, name: &'a str) -> usize {
        self.columns.push(Column::of(name));
        self.columns.len() - 1
    }

    /// Adds a cell of the last row, which is `rows`.
    pub(super) fn add(&mut self, column: usize, kind: CellKind, cell: &'a str) {
        self.columns[column].add(self.rows, kind, cell);
    }

    /// The percentage of cells that are filled.
    pub(super) fn filled(&self) -> usize {
        let filled: usize = self.columns.iter().map(|column| column.filled).sum();
        filled * 100 / (self.rows * self.columns.len()).max(1)
    }

    /// Describes each column.
    pub(super) fn summary(&self) -> Vec<String> {
        let columns = self.columns.iter().filter_map(|column| column.summary(self.rows));
        columns.chain(Spans::of(&self.columns).map(|spans| spans.summary())).collect()
    }

    /// The rows that are shown: the first and the last, and those with an outlier or with what few rows have. Sorted.
    pub(super) fn shown(&self) -> Vec<usize> {
        let mut shown: Vec<usize> =
            (0..self.rows.min(FRONT)).chain(self.rows.saturating_sub(BACK)..self.rows).collect();
        for column in &self.columns {
            shown.extend(column.outliers());
            shown.extend(column.rare(self.rows));
        }
        shown.extend(Spans::of(&self.columns).iter().flat_map(Spans::longest));
        shown.sort_unstable();
        shown.dedup();
        shown
    }
}
