//! Computes the durations of rows that have a start and an end, such as spans of a trace.

use super::column::{Column, FEWEST_NUMBERS, is_duration};
use super::moments::{Edge, edge};
use crate::compress::series::rounded;

/// Number of rows that are shown, longest duration first.
const LONGEST: usize = 3;

/// The durations of the rows.
#[derive(Debug)]
pub(super) struct Spans {
    name: String,
    lengths: Vec<(u32, f64)>,
}

impl Spans {
    /// Returns the spans between a column of starts and a column of ends. `None` if there is no such pair, or if a
    /// column already has the durations.
    pub(super) fn of(columns: &[Column<'_>]) -> Option<Spans> {
        if columns.iter().any(|column| is_duration(column.name)) {
            return None;
        }
        let of = |edge: Edge| columns.iter().filter(move |column| column.edge == Some(edge));
        let rest = |column: &Column<'_>| edge(column.name).map(|(_, rest)| rest);
        let (start, end) = of(Edge::Start)
            .find_map(|start| of(Edge::End).find(|end| rest(end) == rest(start)).map(|end| (start, end)))?;
        let mut lengths = Vec::with_capacity(start.moments.len());
        let mut ends = end.moments.iter().peekable();
        for (row, from) in &start.moments {
            while ends.next_if(|(other, _)| other < row).is_some() {}
            let to = ends.next_if(|(other, _)| other == row);
            lengths.extend(to.and_then(|(_, to)| Some((*row, from.until(*to)?))));
        }
        let is_span = lengths.len() >= FEWEST_NUMBERS && lengths.iter().all(|(_, length)| *length >= 0.0);
        is_span.then(|| Spans { name: format!("{} - {}", end.name, start.name), lengths })
    }

    /// Returns `end - start: 0.002 to 3.1, median 0.01, p95 0.7, total 14.2`.
    pub(super) fn summary(&self) -> String {
        let mut lengths: Vec<f64> = self.lengths.iter().map(|(_, length)| *length).collect();
        let total = lengths.iter().sum();
        let [least, median, high, most] = [0, 50, 95, 100].map(|part| {
            // By the nearest rank, so that the figures occur.
            let rank = (lengths.len() - 1) * part / 100;
            rounded(*lengths.select_nth_unstable_by(rank, f64::total_cmp).1)
        });
        format!("{}: {least} to {most}, median {median}, p95 {high}, total {}\n", self.name, rounded(total))
    }

    /// Returns the rows with the longest durations.
    pub(super) fn longest(&self) -> impl Iterator<Item = usize> {
        let mut lengths = self.lengths.clone();
        lengths.sort_by(|one, two| two.1.total_cmp(&one.1).then(one.0.cmp(&two.0)));
        lengths.into_iter().take(LONGEST).map(|(row, _)| row as usize)
    }
}
