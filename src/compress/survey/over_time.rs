//! Describes values over time, and single values of many metrics.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::{Map, Value as Json, json};

use super::numbers::Numbers;
use super::points::{points_in, series};
use super::shape::metric;
use super::text::brief;
use super::value::Value;

/// Number of series that are shown, starting with the largest outlier.
const SERIES: usize = 15;

/// Number of metrics that are shown.
const METRICS: usize = 15;

/// Number of series that are shown of each metric, highest first.
const HIGHEST: usize = 3;

/// Number of characters of a series' labels.
const LABELS: usize = 240;

struct SeriesLabel {
    labels: Json,
    digest: String,
    surprise: f64,
}

/// Describes series, each with its points. Each digest has the numbers as the source writes them.
pub(super) fn time_series<'a>(rows: impl Iterator<Item = (Option<&'a str>, Value<'a>)>) -> Map<String, Json> {
    let mut all = Numbers::default();
    let mut shown: Vec<SeriesLabel> = Vec::new();
    let mut single: Vec<Value<'a>> = Vec::new();
    let mut add = |labels: Json, points: &mut dyn Iterator<Item = Value<'a>>| {
        let (series, numbers) = series(points);
        all.extend(&numbers);
        shown.push(SeriesLabel { labels, digest: series.digest("points"), surprise: surprise(numbers) });
    };
    for (key, row) in rows {
        match points_in(row) {
            Some(points) => add(labels(key, row, points), &mut points.items()),
            // The rows are the points of one series.
            None => single.push(row),
        }
    }
    if !single.is_empty() {
        add(Json::Null, &mut single.into_iter());
    }
    let count = shown.len();
    shown.sort_by(|a, b| b.surprise.total_cmp(&a.surprise));
    let mut said = Map::new();
    said.insert("series".to_owned(), count.into());
    said.insert("values".to_owned(), all.statistics().into());
    let by_series = shown.into_iter().take(SERIES).map(|one| match one.labels {
        Json::Null => json!({ "points": one.digest }),
        labels => json!({ "labels": labels, "points": one.digest }),
    });
    said.insert("by_series".to_owned(), by_series.collect());
    said
}

/// Returns the distance from the median to the farthest value, in interquartile ranges. A series that is always high
/// scores low; a series with a single peak scores high. A series without numbers has the lowest score.
fn surprise(mut numbers: Vec<f64>) -> f64 {
    if numbers.is_empty() {
        return -1.0;
    }
    let mut at = |quarter: usize| {
        let rank = (numbers.len() - 1) * quarter / 4;
        *numbers.select_nth_unstable_by(rank, f64::total_cmp).1
    };
    let [least, low, median, high, most] = [0, 1, 2, 3, 4].map(&mut at);
    let farthest = (median - least).max(most - median);
    if farthest > 0.0 { farthest / (high - low) } else { 0.0 }
}

/// Returns the fields of a row other than its points.
fn labels<'a>(key: Option<&'a str>, row: Value<'a>, points: Value<'a>) -> Json {
    let own = row.members().filter(|(_, value)| value.index() != points.index());
    let mut labels: Map<String, Json> =
        own.map(|(name, value)| (name.to_owned(), brief(value, LABELS))).take(super::fields::SHOWN_MEMBERS).collect();
    if let Some(key) = key {
        labels.insert("name".to_owned(), key.into());
    }
    if labels.is_empty() { Json::Null } else { labels.into() }
}

struct Metric<'a> {
    name: &'a str,
    numbers: Numbers,
    /// The series with the highest values, highest first.
    highest: Vec<(f64, Value<'a>)>,
}

/// Describes series with one value each, by metric.
pub(super) fn metrics<'a>(rows: impl Iterator<Item = Value<'a>>) -> Map<String, Json> {
    let mut places: HashMap<&str, usize, RandomState> = HashMap::default();
    let mut metrics: Vec<Metric<'a>> = Vec::new();
    let mut count = 0_usize;
    for row in rows {
        let Some((name, value)) = metric(row) else { continue };
        let Some(number) = value.number() else { continue };
        count += 1;
        let place = *places.entry(name).or_insert(metrics.len());
        if place == metrics.len() {
            metrics.push(Metric { name, numbers: Numbers::default(), highest: Vec::new() });
        }
        let metric = &mut metrics[place];
        metric.numbers.push(number);
        let at = metric.highest.partition_point(|(other, _)| *other >= number);
        metric.highest.insert(at, (number, row));
        metric.highest.truncate(HIGHEST);
    }
    let different = metrics.len();
    metrics.sort_by_key(|metric| std::cmp::Reverse(metric.numbers.len()));
    let mut said = Map::new();
    said.insert("series".to_owned(), count.into());
    said.insert("distinct_metrics".to_owned(), different.into());
    let by_metric = metrics.into_iter().take(METRICS).map(|Metric { name, numbers, highest }| {
        let highest: Json = highest.into_iter().map(|(_, row)| brief(row, LABELS)).collect();
        json!({ "metric": name, "values": numbers.statistics(), "highest": highest })
    });
    said.insert("by_metric".to_owned(), by_metric.collect());
    said
}
