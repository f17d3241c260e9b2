//! Rows of cells: statistics of each column, and the unusual rows.
//!
//! JSON records and text tables share it. Cells are borrowed, and are written as they are in the source.

mod column;
mod moments;
mod spans;
mod summary;

pub(super) use column::CellKind;
pub(super) use moments::{Moment, is_time};

use column::Column;
use spans::Spans;

/// Number of rows at the beginning and at the end that are shown.
const FRONT: usize = 6;
const BACK: usize = 3;

/// Rows of cells.
#[derive(Debug, Default)]
pub(super) struct Table<'a> {
    /// The columns in order of appearance.
    pub(super) columns: Vec<Column<'a>>,
    /// The number of rows.
    pub(super) rows: usize,
}

impl<'a> Table<'a> {
    /// Returns the column `name`. O(1) if it is the one at `guess`, otherwise O(columns).
    pub(super) fn column(&mut self, guess: usize, name: &'a str) -> usize {
        if self.columns.get(guess).is_some_and(|column| column.name == name) {
            return guess;
        }
        if let Some(found) = self.columns.iter().position(|column| column.name == name) {
            return found;
        }
        self.push(name)
    }

    /// Adds a column with a new name.
    pub(super) fn push(&mut self, name: &'a str) -> usize {
        self.columns.push(Column::of(name));
        self.columns.len() - 1
    }

    /// Adds a cell to the last row, which has the index `rows`.
    pub(super) fn add(&mut self, column: usize, kind: CellKind, cell: &'a str) {
        self.columns[column].add(self.rows, kind, cell);
    }

    /// Returns the percentage of cells that are filled.
    pub(super) fn filled(&self) -> usize {
        let filled: usize = self.columns.iter().map(|column| column.filled).sum();
        filled * 100 / (self.rows * self.columns.len()).max(1)
    }

    /// Describes each column.
    pub(super) fn summary(&self) -> Vec<String> {
        let columns = self.columns.iter().filter_map(|column| column.summary(self.rows));
        columns.chain(Spans::of(&self.columns).map(|spans| spans.summary())).collect()
    }

    /// Returns the rows that are shown, in order: the first and last, and those with an outlier or a rare value.
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
