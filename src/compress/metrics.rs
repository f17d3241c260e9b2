//! Metrics in Prometheus' text format: a line of statistics for each family, and its unusual series.
//!
//! The format: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::ops::Range;

use super::failure_words::{Cursor, failure_words};
use super::outline::{Outline, Rank, Unit, lines};
use super::sample::Sample;
use super::series::Series;

/// The least percentage of lines that are series or comments on series.
const SERIES: usize = 90;

/// A family with more series is summarized.
const FEW: usize = 4;

/// Number of series of a larger family that are shown.
const SHOWN: usize = 2;

/// True if the lines are series with comments.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    sample.any(|line| line.starts_with("# TYPE "))
        && sample.share(|line| line.starts_with('#') || series(line).is_some()) >= SERIES
}

/// Returns a line for each family, and its series. `None` if there are none. O(length).
pub(super) fn outline(text: &str) -> Option<Outline<'_>> {
    let found = failure_words(text);
    let mut cursor = Cursor::of(&found);
    let mut outline = Outline::of(Unit::Lines);
    let all: Vec<Range<usize>> = lines(text).collect();
    let mut next = 0;
    while next < all.len() {
        let end = next + family(text, &all[next..]);
        let (comments, rows): (Vec<_>, Vec<_>) =
            all[next..end].iter().partition(|line| text[(*line).clone()].starts_with('#'));
        let mut values = Series::default();
        let mut kind = "";
        for row in &rows {
            values.push(None, series(&text[(*row).clone()]).map_or("", |(_, value)| value));
        }
        for comment in &comments {
            let line = text[(*comment).clone()].trim_end();
            kind = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')).map_or(kind, |(_, kind)| kind);
        }
        let start = all[next].start;
        let heading = comments
            .last()
            .map_or(start, |comment| comment.end)
            .min(rows.first().map_or(usize::MAX, |row| row.start))
            .max(start);
        let name = rows.first().map_or("", |row| name(&text[(*row).clone()]));
        if rows.len() > FEW {
            let said = format!("# {name} {kind}, {}\n", values.digest("series"));
            outline.push_made(start..heading, said, Rank::Key, false);
        }
        for (turn, line) in all[next..end].iter().filter(|line| rows.len() <= FEW || line.start >= heading).enumerate()
        {
            let body = &text[line.clone()];
            let is_zero = series(body).is_none_or(|(_, value)| value.parse::<f64>().is_ok_and(|value| value == 0.0));
            let fails = !cursor.until(line.end).is_empty() && !body.starts_with('#') && !is_zero;
            let rank = match () {
                () if fails => Rank::Failure,
                () if rows.len() <= FEW && body.starts_with("# HELP") => Rank::Ordinary,
                () if rows.len() <= FEW || turn < SHOWN => Rank::Sample,
                () if name.ends_with("_bucket") => Rank::Bulk,
                () => Rank::Ordinary,
            };
            outline.push(line.clone(), rank, fails);
        }
        next = end;
    }
    (!outline.pieces.is_empty()).then_some(outline)
}

/// Counts the lines of the first family: its comments and its series, which share a name.
fn family(text: &str, lines: &[Range<usize>]) -> usize {
    let is_comment = |line: &&Range<usize>| series(&text[(*line).clone()]).is_none();
    let comments = lines.iter().take_while(is_comment).count();
    let Some(first) = lines.get(comments) else { return lines.len() };
    let first = name(&text[first.clone()]);
    comments
        + lines[comments..].iter().take_while(|line| !is_comment(line) && name(&text[(*line).clone()]) == first).count()
}

fn name(line: &str) -> &str {
    line.split(['{', ' ']).next().unwrap_or_default()
}

/// Splits `name{label="value"} 1.5 1700000000000` into the series with its labels, and the value.
fn series(line: &str) -> Option<(&str, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let line = line.trim_end();
    let name =
        line.find(|c: char| !is_name(c)).filter(|end| *end > 0 && !line.starts_with(|c: char| c.is_ascii_digit()))?;
    let labels = if line[name..].starts_with('{') { line.rfind('}')? + 1 } else { name };
    let value = line[labels..].strip_prefix(' ')?.split(' ').next()?;
    value.parse::<f64>().ok().map(|_| (&line[..labels], value))
}
