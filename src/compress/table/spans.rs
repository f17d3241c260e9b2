//! Computes the durations of rows that have a start and an end, as spans of a trace do.

use super::column::{Column, FEWEST_NUMBERS, is_duration};
use crate::compress::series::rounded;

/// So many rows are shown, those that took longest.
const LONGEST: usize = 3;

/// An end of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Start,
    End,
}

/// A time: a number in a unit of its own, or seconds. Whole and part apart, since nanoseconds since 1970 are more than a
/// double holds.
#[derive(Debug, Clone, Copy)]
pub(in crate::compress) struct Moment {
    whole: i64,
    part: f64,
}

/// The durations of the rows.
#[derive(Debug)]
pub(super) struct Spans {
    name: String,
    lengths: Vec<(u32, f64)>,
}

impl Spans {
    /// The spans from a column that says when they began to the one that says when they ended. `None` where there is no
    /// such pair, or a column says how long they took.
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

    /// `end - start: 0.002 to 3.1, median 0.01, p95 0.7, total 14.2`
    pub(super) fn summary(&self) -> String {
        let mut lengths: Vec<f64> = self.lengths.iter().map(|(_, length)| *length).collect();
        let total = lengths.iter().sum();
        let [least, median, high, most] = [0, 50, 95, 100].map(|part| {
            // The nearest rank, so that what is said occurs.
            let rank = (lengths.len() - 1) * part / 100;
            rounded(*lengths.select_nth_unstable_by(rank, f64::total_cmp).1)
        });
        format!("{}: {least} to {most}, median {median}, p95 {high}, total {}\n", self.name, rounded(total))
    }

    /// The rows that took longest.
    pub(super) fn longest(&self) -> impl Iterator<Item = usize> {
        let mut lengths = self.lengths.clone();
        lengths.sort_by(|one, two| two.1.total_cmp(&one.1).then(one.0.cmp(&two.0)));
        lengths.into_iter().take(LONGEST).map(|(row, _)| row as usize)
    }
}

/// Returns the end of a span that a column name stands for, and the rest of the name: `start_time`, `endTimeUnixNano`.
pub(super) fn edge(name: &str) -> Option<(Edge, String)> {
    const STARTS: [&str; 4] = ["started", "start", "begin", "began"];
    const ENDS: [&str; 5] = ["ended", "end", "finished", "finish", "stop"];
    const RESTS: [&str; 9] = ["", "time", "at", "ts", "timestamp", "date", "timeunixnano", "timens", "timems"];
    let name: String = name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    let edges = STARTS.map(|word| (word, Edge::Start)).into_iter().chain(ENDS.map(|word| (word, Edge::End)));
    let mut found = edges.filter_map(|(word, edge)| Some((edge, name.strip_prefix(word)?.to_owned())));
    found.find(|(_, rest)| RESTS.contains(&&**rest))
}

impl Moment {
    /// Reads a number or a time of ISO 8601.
    pub(in crate::compress) fn of(cell: &str) -> Option<Moment> {
        /// Beyond, a double has no fractions.
        const MOST: f64 = 9.0e15;
        if let Ok(whole) = cell.parse() {
            return Some(Moment { whole, part: 0.0 });
        }
        if super::is_time(cell) {
            return iso(cell);
        }
        let number = cell.parse::<f64>().ok()?;
        #[expect(clippy::cast_possible_truncation, reason = "it is in range")]
        (number.abs() < MOST).then(|| Moment { whole: number.trunc() as i64, part: number.fract() })
    }

    /// The time from this moment to `end`.
    pub(in crate::compress) fn until(self, end: Moment) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a span is short")]
        let whole = end.whole.checked_sub(self.whole)? as f64;
        Some(whole + (end.part - self.part))
    }
}

/// `2026-11-21T09:26:53.589793Z` as seconds, with any offset or none.
fn iso(text: &str) -> Option<Moment> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let days = days(number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let seconds = number(11, 13)? * 3_600 + number(14, 16)? * 60 + number(17, 19)?;
    let rest = text.get(19..)?;
    let digits = rest.strip_prefix('.').map_or(0, |rest| 1 + rest.bytes().take_while(u8::is_ascii_digit).count());
    let part = if digits > 1 { rest[..digits].parse::<f64>().ok()? } else { 0.0 };
    let zone = &rest[digits..];
    let offset = match zone.as_bytes().first() {
        Some(b'+' | b'-') => {
            let minutes = zone.get(1..3)?.parse::<i64>().ok()? * 60
                + zone.get(3..).map_or("", |rest| rest.trim_start_matches(':')).parse::<i64>().unwrap_or(0);
            if zone.starts_with('-') { -minutes } else { minutes }
        }
        _ => 0,
    };
    Some(Moment { whole: days * 86_400 + seconds - offset * 60, part })
}

/// Days from 1970-01-01, by Howard Hinnant's `days_from_civil` (<https://howardhinnant.github.io/date_algorithms.html>).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}
