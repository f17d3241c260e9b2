//! Spans of traces: how long each operation took, what was slowest, and what failed.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use serde_json::{Map, Value as Json, json};

use super::counts::Counts;
use super::names::{ERROR, NAME, PARENT, SOURCE, SPAN_ID, START, STATUS, TRACE_ID};
use super::numbers::{Numbers, number};
use super::text::brief;
use super::took::{Unit, took};
use super::value::Value;
use crate::compress::json::Kind;

/// Operations that are shown, those that took the most time in all.
const OPERATIONS: usize = 15;

/// Spans that are shown: the slowest, and the first that failed.
const SLOWEST: usize = 5;
const FAILED: usize = 10;

/// Services that are named.
const SERVICES: usize = 10;

/// Characters of a field of a span that are shown.
const FIELD: usize = 160;

#[derive(Default)]
struct Operation {
    durations: Numbers,
    failures: usize,
    count: usize,
}

pub(super) fn summary<'a>(rows: impl Iterator<Item = Value<'a>>) -> Map<String, Json> {
    let mut places: HashMap<String, usize, RandomState> = HashMap::default();
    let mut operations: Vec<(String, Operation)> = Vec::new();
    let mut traces: HashSet<&str, RandomState> = HashSet::default();
    let mut services = Counts::default();
    let mut all = Numbers::default();
    let mut slow: Vec<(f64, Value<'a>)> = Vec::new();
    let mut failed: Vec<Value<'a>> = Vec::new();
    let (mut count, mut failures, mut unit) = (0_usize, 0_usize, Unit::Milliseconds);
    for row in rows {
        count += 1;
        let duration = took(row);
        let fails = fails(row);
        traces.extend(row.field(&TRACE_ID).map(Value::inside));
        if let Some(service) = row.field(&SOURCE).filter(|service| !service.kind().is_container()) {
            services.add(service.said().into_owned());
        }
        let name = name(row);
        let place = *places.entry(name.clone()).or_insert(operations.len());
        if place == operations.len() {
            operations.push((name, Operation::default()));
        }
        let operation = &mut operations[place].1;
        operation.count += 1;
        operation.failures += usize::from(fails);
        if let Some((length, its_unit)) = duration {
            unit = unit.max(its_unit);
            operation.durations.push(length);
            all.push(length);
            let at = slow.partition_point(|(longest, _)| *longest >= length);
            slow.insert(at, (length, row));
            slow.truncate(SLOWEST);
        }
        if fails {
            failures += 1;
            failed.extend((failed.len() < FAILED).then_some(row));
        }
    }
    let took = unit.name();
    let different = operations.len();
    operations
        .sort_by(|(_, a), (_, b)| b.durations.total().total_cmp(&a.durations.total()).then(b.count.cmp(&a.count)));
    let mut said = Map::new();
    said.insert("spans".to_owned(), count.into());
    if !traces.is_empty() {
        said.insert("traces".to_owned(), traces.len().into());
    }
    said.insert("failures".to_owned(), failures.into());
    if all.len() > 0 {
        said.insert(took.to_owned(), all.statistics().into());
    }
    if different > 0 {
        said.insert("distinct_operations".to_owned(), different.into());
    }
    let shown = operations.into_iter().take(OPERATIONS).map(|(name, operation)| operation.said(&name, took));
    said.insert("operations".to_owned(), shown.collect());
    let services = services.most(SERVICES);
    if !services.is_empty() {
        said.insert("services".to_owned(), services.into());
    }
    said.insert("slowest".to_owned(), slow.into_iter().map(|(length, row)| span(row, Some((took, length)))).collect());
    said.insert("failed".to_owned(), failed.into_iter().map(|row| span(row, None)).collect());
    said
}

impl Operation {
    fn said(&self, name: &str, took: &str) -> Json {
        let mut said = json!({ "name": name, "count": self.count });
        if self.failures > 0 {
            said["failures"] = self.failures.into();
        }
        if self.durations.len() > 0 {
            said[took] = self.durations.statistics().into_iter().filter(|(key, _)| key != "count").collect();
        }
        said
    }
}

fn name(row: Value<'_>) -> String {
    match row.field(&NAME) {
        // Cloud Trace cuts names and says so around them.
        Some(name) if name.kind() == Kind::Object => name.field(&["value"]).map(|name| name.said().into_owned()),
        name => name.map(|name| name.said().into_owned()),
    }
    .unwrap_or_default()
}

/// What tells a span, and what it says of its failure.
fn span(row: Value<'_>, length: Option<(&str, f64)>) -> Json {
    let mut said = Map::new();
    let fields: [(&str, &[&str]); 7] = [
        ("name", &NAME),
        ("span_id", &SPAN_ID),
        ("parent_span_id", &PARENT),
        ("trace_id", &TRACE_ID),
        ("start", &START),
        ("status", &STATUS),
        ("error", &ERROR),
    ];
    for (name, names) in fields {
        said.extend(row.field(names).map(|value| (name.to_owned(), brief(value, FIELD))));
    }
    said.extend(length.map(|(took, length)| (took.to_owned(), number(length))));
    said.into()
}

/// Whether the span says that it failed.
fn fails(row: Value<'_>) -> bool {
    let says = |value: Value<'_>| match value.kind() {
        Kind::Word => value.raw() == "true",
        Kind::Array | Kind::Object => value.len() > 0,
        Kind::Number => value.number().is_some_and(|number| number != 0.0),
        Kind::String => !matches!(value.inside().to_ascii_lowercase().as_str(), "" | "false" | "none" | "no" | "0"),
    };
    row.field(&ERROR).is_some_and(says) || row.field(&STATUS).is_some_and(is_failure)
}

/// Whether a status is a failure: in OpenTelemetry 2 is, in gRPC whatever is not 0, in HTTP 5xx.
fn is_failure(status: Value<'_>) -> bool {
    /// 1 is OK in OpenTelemetry and a cancelled call in gRPC, which has no fault in it.
    const FIRST_FAILURE: f64 = 2.0;
    /// Statuses of HTTP begin here, and those of a failed server there.
    const HTTP: f64 = 100.0;
    const HTTP_FAILURE: f64 = 500.0;
    const WORDS: [&str; 6] = ["error", "failed", "failure", "statuscodeerror", "internal", "unavailable"];
    if status.kind() == Kind::Object {
        return status.field(&["code", "statuscode"]).is_some_and(is_failure);
    }
    match status.number() {
        Some(code) if code >= HTTP => code >= HTTP_FAILURE,
        Some(code) => code >= FIRST_FAILURE,
        None => WORDS.iter().any(|word| super::value::is_named(status.inside(), word)),
    }
}
