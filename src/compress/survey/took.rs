//! Reads the duration of a span, in milliseconds if its unit is known.

use super::names::{DURATIONS, END, START};
use super::value::Value;
use crate::compress::json::Kind;
use crate::compress::table::Moment;

/// The unit of a duration. Later ones are less certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    /// Milliseconds, for certain.
    Milliseconds,
    /// Unknown: the duration as the source writes it.
    Unknown,
}

impl Unit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::Milliseconds => "duration_ms",
            Unit::Unknown => "duration",
        }
    }
}

/// Milliseconds in a second.
const SECOND: f64 = 1_000.0;

pub(super) fn took(row: Value<'_>) -> Option<(f64, Unit)> {
    for (name, unit) in DURATIONS {
        if let Some(value) = row.field(&[name])
            && let Some(took) = stated(value, unit)
        {
            return Some(took);
        }
    }
    let (start, end) = (row.field(&START)?, row.field(&END)?);
    let length = Moment::of(start.inside())?.until(Moment::of(end.inside())?)?;
    (length >= 0.0).then(|| (length * unit_of_time(start), Unit::Milliseconds))
}

/// Reads a number in the unit of the field's name, or a text with a unit, such as `1.5s` and `350ms`.
fn stated(value: Value<'_>, unit: Option<f64>) -> Option<(f64, Unit)> {
    if value.kind() == Kind::String {
        let text = value.inside();
        let split = text.find(|c: char| c.is_ascii_alphabetic() || c == 'µ').unwrap_or(text.len());
        let suffix = match text[split..].trim() {
            "ms" => Some(1.0),
            "s" => Some(SECOND),
            "us" | "µs" => Some(1.0 / SECOND),
            "ns" => Some(1.0 / SECOND / SECOND),
            _ => None,
        };
        let number: f64 = text[..split].trim().parse().ok()?;
        return Some(in_unit(number, suffix.or(unit)));
    }
    value.number().map(|number| in_unit(number, unit))
}

fn in_unit(number: f64, unit: Option<f64>) -> (f64, Unit) {
    unit.map_or((number, Unit::Unknown), |unit| (number * unit, Unit::Milliseconds))
}

/// Returns the milliseconds in the unit of a time since 1970. The ranges of the units do not overlap before the year
/// 5138.
fn unit_of_time(start: Value<'_>) -> f64 {
    /// Smaller times are in seconds. Milliseconds are smaller than a thousand times this, and so on.
    const MILLISECONDS: f64 = 1e11;
    const MICROSECONDS: f64 = 1e14;
    const NANOSECONDS: f64 = 1e17;
    match start.number() {
        None => SECOND,
        Some(time) if time < MILLISECONDS => SECOND,
        Some(time) if time < MICROSECONDS => 1.0,
        Some(time) if time < NANOSECONDS => 1.0 / SECOND,
        Some(_) => 1.0 / SECOND / SECOND,
    }
}
