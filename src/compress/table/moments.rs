//! The times of rows, and the columns that hold the start or end of a span.

/// An end of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Start,
    End,
}

/// A time: a number in the column's own unit, or seconds. The integer part and the fraction are separate, because
/// nanoseconds since 1970 do not fit into a double.
#[derive(Debug, Clone, Copy)]
pub(in crate::compress) struct Moment {
    whole: i64,
    part: f64,
}

/// Returns which end of a span a column name means, and the rest of the name: `start_time`, `endTimeUnixNano`.
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
    /// Reads a number, or a time in ISO 8601.
    pub(in crate::compress) fn of(cell: &str) -> Option<Moment> {
        /// A larger double has no fraction.
        const MOST: f64 = 9.0e15;
        if let Ok(whole) = cell.parse() {
            return Some(Moment { whole, part: 0.0 });
        }
        if is_time(cell) {
            return iso(cell);
        }
        let number = cell.parse::<f64>().ok()?;
        #[expect(clippy::cast_possible_truncation, reason = "it is in range")]
        (number.abs() < MOST).then(|| Moment { whole: number.trunc() as i64, part: number.fract() })
    }

    /// Returns the time from this moment to `end`.
    pub(in crate::compress) fn until(self, end: Moment) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a span is short")]
        let whole = end.whole.checked_sub(self.whole)? as f64;
        Some(whole + (end.part - self.part))
    }
}

/// Reads `2026-11-21T09:26:53.589793Z` as seconds, with or without an offset.
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

/// Returns the days since 1970-01-01, by Howard Hinnant's `days_from_civil`
/// (<https://howardhinnant.github.io/date_algorithms.html>).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// True if `text` begins like ISO 8601. Such times sort like text.
pub(in crate::compress) fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().zip(b"0000-00-00").all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == form,
        })
        && bytes.get(10).is_none_or(|byte| matches!(byte, b'T' | b' '))
}
