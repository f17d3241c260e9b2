//! Recognizes the kind of rows by their fields.

use super::names::{
    BESIDE_A_VALUE, DURATIONS, END, MESSAGE, METRIC, METRIC_KEYS, METRIC_NAME, NAME, SEVERITY, SPAN_ID, START, TIME,
    TRACE_ID, VALUE,
};
use super::points::{point, points_in};
use super::value::{Value, is_named};
use crate::compress::json::Kind;

/// The kind of rows in a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PayloadKind {
    /// One value for each of many metrics or series.
    Metrics,
    /// Entries of a log.
    Logs,
    /// Spans of traces, or traces.
    Traces,
    /// Values over time.
    TimeSeries,
    /// A few lists of different kinds.
    Several,
    /// Anything else.
    Other,
}

impl PayloadKind {
    /// All of them.
    pub const ALL: [PayloadKind; 6] = [
        PayloadKind::Metrics,
        PayloadKind::Logs,
        PayloadKind::Traces,
        PayloadKind::TimeSeries,
        PayloadKind::Several,
        PayloadKind::Other,
    ];

    /// Returns the public name.
    pub fn name(self) -> &'static str {
        match self {
            PayloadKind::Metrics => "metrics",
            PayloadKind::Logs => "logs",
            PayloadKind::Traces => "traces",
            PayloadKind::TimeSeries => "time_series",
            PayloadKind::Several => "several",
            PayloadKind::Other => "other",
        }
    }
}

/// Number of rows that are checked.
const LOOKED_AT: usize = 64;

/// The least percentage of rows that are of the kind.
const MOST: usize = 60;

/// Returns the kind of the rows. Reads only the first of them.
pub(super) fn judge<'a>(rows: impl Iterator<Item = Value<'a>>) -> PayloadKind {
    let looked_at: Vec<Value<'a>> = rows.take(LOOKED_AT).collect();
    // A series is an object with points, whatever else it has. An entry of a log may name its span.
    let order = [PayloadKind::TimeSeries, PayloadKind::Logs, PayloadKind::Traces, PayloadKind::Metrics];
    let fits = |kind: &PayloadKind| {
        let fitting = looked_at.iter().filter(|row| is(**row, *kind)).count();
        !looked_at.is_empty() && fitting * 100 >= looked_at.len() * MOST
    };
    order.into_iter().find(fits).unwrap_or(PayloadKind::Other)
}

/// True if a row is of the kind.
pub(super) fn is(row: Value<'_>, kind: PayloadKind) -> bool {
    let has = |names: &[&str]| row.field(names).is_some();
    match kind {
        PayloadKind::TimeSeries => {
            points_in(row).is_some() || row.kind() != Kind::Number && point(row).is_some() && !has(&METRIC)
        }
        PayloadKind::Logs => has(&MESSAGE) && (has(&SEVERITY) || has(&TIME)),
        PayloadKind::Traces => {
            let took = DURATIONS.iter().any(|(name, _)| has(&[name])) || has(&START) && has(&END);
            // A list of traces may have only their ids, if the root span is missing.
            has(&SPAN_ID) || took && (has(&TRACE_ID) || has(&NAME)) || has(&TRACE_ID[..1]) && !has(&MESSAGE)
        }
        PayloadKind::Metrics => metric(row).is_some(),
        PayloadKind::Several => false,
        PayloadKind::Other => true,
    }
}

/// True if a row has a name and a value, and otherwise only a time, a unit or labels. Other records have names and
/// values too.
fn is_sample(row: Value<'_>) -> bool {
    row.members().all(|(key, value)| {
        value.kind() == Kind::Object
            || [&METRIC[..], &VALUE, &TIME, &BESIDE_A_VALUE]
                .iter()
                .any(|names| names.iter().any(|name| is_named(key, name)))
    })
}

/// Returns the name of the row's metric, and its value.
pub(super) fn metric(row: Value<'_>) -> Option<(&str, Value<'_>)> {
    let metric = row.field(&METRIC[..METRIC_KEYS]).or_else(|| row.field(&METRIC).filter(|_| is_sample(row)))?;
    let name = match metric.kind() {
        Kind::String => metric.inside(),
        // Prometheus omits the name of a computed metric.
        Kind::Object => metric.field(&METRIC_NAME).map_or("", Value::inside),
        _ => return None,
    };
    let value = row.field(&VALUE)?;
    let value = match value.kind() {
        Kind::Array => value.items().nth(1)?,
        _ => value,
    };
    value.number().map(|_| (name, value))
}
