//! Reads points of a time series, in the formats in which APIs return them.

use super::names::{INTERVAL, MESSAGE, POINT_TIME, POINTS, TYPED_VALUE, VALUE};
use super::value::Value;
use crate::compress::json::Kind;
use crate::compress::series::Series;

/// A point: an optional time, and a value, both as the source writes them.
pub(super) type Point<'a> = (Option<&'a str>, &'a str);

/// A record with more members is not a point.
const MOST_MEMBERS: usize = 8;

/// Number of elements that are checked to recognize a list.
const LOOKED_AT: usize = 4;

/// Reads a point: `[time, value]`, an object with both, or a bare number.
pub(super) fn point(value: Value<'_>) -> Option<Point<'_>> {
    match value.kind() {
        Kind::Number => Some((None, value.raw())),
        Kind::Array => {
            let mut pair = value.items();
            let (time, amount) = (pair.next()?, pair.next()?);
            (pair.next().is_none() && !time.kind().is_container()).then(|| amount.number())??;
            Some((Some(time.inside()), amount.inside()))
        }
        Kind::Object if value.len() <= MOST_MEMBERS && value.field(&MESSAGE).is_none() => {
            let amount = amount(value.field(&VALUE)?, TYPED_DEPTH)?;
            let time = value.field(&POINT_TIME)?;
            let time = if time.kind() == Kind::Object { time.field(&INTERVAL)? } else { time };
            Some((Some(time.inside()), amount))
        }
        _ => None,
    }
}

/// `{"distributionValue": {"mean": 1.5}}` is the deepest form.
const TYPED_DEPTH: usize = 2;

fn amount(value: Value<'_>, depth: usize) -> Option<&str> {
    if value.kind() == Kind::Object && depth > 0 {
        return amount(value.field(&TYPED_VALUE)?, depth - 1);
    }
    value.number().map(|_| value.inside())
}

/// Returns the list of points in a row that is a series.
pub(super) fn points_in(row: Value<'_>) -> Option<Value<'_>> {
    if row.kind() == Kind::Array {
        return is_points(row).then_some(row);
    }
    row.field(&POINTS).filter(|list| is_points(*list))
}

fn is_points(list: Value<'_>) -> bool {
    let mut looked_at = list.items().take(LOOKED_AT).peekable();
    // A pair is a point, not a list of two.
    let is_list = list.kind() == Kind::Array && list.items().nth(2).is_some();
    let is_timed_pair = list.items().all(|item| item.kind() != Kind::Number);
    (is_list || is_timed_pair) && looked_at.peek().is_some() && looked_at.all(|item| point(item).is_some())
}

/// Returns the points of a list as one series. They are sorted by time if the times can be compared, because Cloud
/// Monitoring returns the newest first.
pub(super) fn series<'a>(points: impl Iterator<Item = Value<'a>>) -> (Series<'a>, Vec<f64>) {
    let mut all: Vec<Point<'a>> = points.filter_map(point).collect();
    let falls = match (all.first(), all.last()) {
        (Some((Some(first), _)), Some((Some(last), _))) if first.len() == last.len() => first > last,
        _ => false,
    };
    if falls {
        all.reverse();
    }
    let mut series = Series::default();
    let mut numbers = Vec::with_capacity(all.len());
    for (time, amount) in all {
        if series.push(time, amount).is_some() {
            numbers.extend(amount.parse::<f64>().ok().filter(|number| number.is_finite()));
        }
    }
    (series, numbers)
}
