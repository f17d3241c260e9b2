//! Summarizes spans: the duration of each operation, the slowest spans, and the failures.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use serde_json::{Map, Value as Json, json};

use super::around::Trace;
use super::counts::Counts;
use super::failure::{Sign, failure};
use super::groups::Group;
use super::names::{ERROR, NAME, PARENT, SPAN_ID, START, STATUS};
use super::numbers::{Numbers, number};
use super::text::{brief, truncated};
use super::took::{Unit, took};
use super::value::Value;
use crate::compress::json::Kind;

/// Number of operations that are shown, longest total time first.
const OPERATIONS: usize = 15;

/// Number of slowest spans that are shown, and of first failures.
const SLOWEST: usize = 5;
const FAILED: usize = 10;

/// Number of services that are named.
const SERVICES: usize = 10;

/// Number of characters of a span's field that are shown.
const FIELD: usize = 160;

#[derive(Default)]
struct Operation {
    durations: Numbers,
    failures: usize,
    count: usize,
}

pub(super) fn summary<'a>(groups: impl Iterator<Item = Group<'a>>) -> Map<String, Json> {
    let mut places: HashMap<String, usize, RandomState> = HashMap::default();
    let mut operations: Vec<(String, Operation)> = Vec::new();
    let mut traces: HashSet<&str, RandomState> = HashSet::default();
    let mut services = Counts::default();
    let mut all = Numbers::default();
    let mut slow: Vec<(f64, Value<'a>, Option<Value<'a>>)> = Vec::new();
    let mut failed: Vec<(Value<'a>, Option<Value<'a>>, Sign<'a>)> = Vec::new();
    let (mut count, mut failures, mut unit) = (0_usize, 0_usize, Unit::Milliseconds);
    let read = groups.flat_map(|group| {
        let trace = Trace::of(group);
        // Values that are not objects are not spans.
        let spans = group.rows().map(|(_, row)| row).filter(|row| row.kind() == Kind::Object);
        spans.map(move |row| (row, trace.id(row), trace.service(row)))
    });
    for (row, trace, service) in read {
        count += 1;
        let duration = took(row);
        let failure = failure(row);
        traces.extend(trace.map(Value::inside));
        if let Some(service) = service {
            services.add(service.said().into_owned());
        }
        let name = name(row);
        let place = *places.entry(name.clone()).or_insert(operations.len());
        if place == operations.len() {
            operations.push((name, Operation::default()));
        }
        let operation = &mut operations[place].1;
        operation.count += 1;
        operation.failures += usize::from(failure.is_some());
        if let Some((length, its_unit)) = duration {
            unit = unit.max(its_unit);
            operation.durations.push(length);
            all.push(length);
            let at = slow.partition_point(|(longest, _, _)| *longest >= length);
            slow.insert(at, (length, row, trace));
            slow.truncate(SLOWEST);
        }
        if let Some(sign) = failure {
            failures += 1;
            failed.extend((failed.len() < FAILED).then_some((row, trace, sign)));
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
    let slowest = slow.into_iter().map(|(length, row, trace)| {
        let mut said = span(row, trace);
        said.insert(took.to_owned(), number(length));
        Json::Object(said)
    });
    said.insert("slowest".to_owned(), slowest.collect());
    let failed = failed.into_iter().map(|(row, trace, sign)| {
        let mut said = span(row, trace);
        if let Sign::Label(key, value) = sign {
            said.insert("failed_by".to_owned(), json!({ truncated(key, FIELD): brief(value, FIELD) }));
        }
        Json::Object(said)
    });
    said.insert("failed".to_owned(), failed.collect());
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
        // Cloud Trace wraps a name in an object that says if the name was cut.
        Some(name) if name.kind() == Kind::Object => name.field(&["value"]).map(|name| name.said().into_owned()),
        name => name.map(|name| name.said().into_owned()),
    }
    .unwrap_or_default()
}

/// Describes a span, with its own fields that report a failure.
fn span(row: Value<'_>, trace: Option<Value<'_>>) -> Map<String, Json> {
    let mut said = Map::new();
    let fields = [
        ("name", row.field(&NAME)),
        ("span_id", row.field(&SPAN_ID)),
        ("parent_span_id", row.field(&PARENT)),
        ("trace_id", trace),
        ("start", row.field(&START)),
        ("status", row.field(&STATUS)),
        ("error", row.field(&ERROR)),
    ];
    said.extend(fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), brief(value?, FIELD)))));
    said
}
