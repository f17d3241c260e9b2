//! Entries of a log: how many of which severity, and what they say when numbers and ids are taken out.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::{Map, Value as Json, json};

use super::counts::Counts;
use super::names::{MESSAGE, SEVERITY, SOURCE, TIME};
use super::text::cut;
use super::value::Value;
use crate::compress::alarms::alarms;
use crate::compress::alike::shape;
use crate::compress::json::Kind;

/// Patterns that are shown: those that report failures first, then the most frequent.
const PATTERNS: usize = 20;

/// Sources that are named, and severities.
const NAMED: usize = 10;

/// Characters of an example.
const EXAMPLE: usize = 240;

/// Bytes of a message by which it is told from others: what happened is said first.
const FRONT: usize = 400;

/// Severities that report a failure, in the words of Cloud Logging, syslog and the usual libraries.
const FAILING: [&str; 10] =
    ["ERROR", "ERR", "CRITICAL", "CRIT", "ALERT", "EMERGENCY", "EMERG", "FATAL", "SEVERE", "PANIC"];

struct Pattern<'a> {
    example: String,
    severity: String,
    count: usize,
    first: Option<&'a str>,
    last: Option<&'a str>,
    failures: usize,
}

pub(super) fn summary<'a>(rows: impl Iterator<Item = Value<'a>>) -> Map<String, Json> {
    let mut places: HashMap<(u64, String), usize, RandomState> = HashMap::default();
    let mut patterns: Vec<Pattern<'a>> = Vec::new();
    let (mut severities, mut sources) = (Counts::default(), Counts::default());
    let (mut entries, mut failures) = (0_usize, 0_usize);
    let mut span: Option<(&str, &str)> = None;
    for row in rows {
        entries += 1;
        let severity = row.field(&SEVERITY).map(|value| value.said().to_uppercase()).unwrap_or_default();
        let message = row.field(&MESSAGE).map(message).unwrap_or_default();
        let fails = match severity.as_str() {
            "" => !alarms(&message).is_empty(),
            severity => FAILING.contains(&severity),
        };
        failures += usize::from(fails);
        let time = row.field(&TIME).filter(|time| !time.kind().is_container()).map(Value::inside);
        if let Some(time) = time {
            // Times of one form compare as text does.
            span = Some(span.map_or((time, time), |(least, most)| (least.min(time), most.max(time))));
        }
        if let Some(source) = row.field(&SOURCE).and_then(source) {
            sources.add(source);
        }
        let front = &message.as_bytes()[..message.len().min(FRONT)];
        let place = *places.entry((shape(front), severity.clone())).or_insert(patterns.len());
        if place == patterns.len() {
            let example = cut(&message, EXAMPLE);
            patterns.push(Pattern {
                example,
                severity: severity.clone(),
                count: 0,
                first: time,
                last: time,
                failures: 0,
            });
        }
        let pattern = &mut patterns[place];
        pattern.count += 1;
        pattern.failures += usize::from(fails);
        pattern.last = time.or(pattern.last);
        if !severity.is_empty() {
            severities.add(severity);
        }
    }
    let kinds = patterns.len();
    patterns.sort_by(|a, b| b.failures.cmp(&a.failures).then(b.count.cmp(&a.count)));
    let mut said = Map::new();
    said.insert("entries".to_owned(), entries.into());
    said.insert("failures".to_owned(), failures.into());
    if let Some((first, last)) = span {
        said.insert("time".to_owned(), json!({ "first": first, "last": last }));
    }
    said.extend([("severities", severities), ("sources", sources)].into_iter().filter_map(|(name, counts)| {
        let most = counts.most(NAMED);
        (!most.is_empty()).then(|| (name.to_owned(), Json::Object(most)))
    }));
    said.insert("distinct_patterns".to_owned(), kinds.into());
    said.insert("patterns".to_owned(), patterns.into_iter().take(PATTERNS).map(Pattern::said).collect());
    said
}

impl Pattern<'_> {
    fn said(self) -> Json {
        let mut said = Map::new();
        said.insert("count".to_owned(), self.count.into());
        if !self.severity.is_empty() {
            said.insert("severity".to_owned(), self.severity.into());
        }
        said.insert("example".to_owned(), self.example.into());
        for (name, time) in [("first", self.first), ("last", self.last)] {
            said.extend(time.map(|time| (name.to_owned(), time.into())));
        }
        said.into()
    }
}

/// What an entry says: its text, or that of the message in its structured payload.
fn message(value: Value<'_>) -> String {
    let inner = if value.kind() == Kind::Object { value.field(&MESSAGE) } else { None };
    inner.unwrap_or(value).said().into_owned()
}

/// What an entry comes from: a name, or that of a resource.
fn source(value: Value<'_>) -> Option<String> {
    /// What a resource is told by.
    const NAMES: [&str; 4] = ["name", "servicename", "type", "id"];
    let named = if value.kind() == Kind::Object { value.field(&NAMES)? } else { value };
    (!named.kind().is_container()).then(|| named.said().into_owned())
}
