//! Summarizes log entries: counts by severity, and messages without their numbers and ids.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::{Map, Value as Json, json};

use super::around::{Entry, Stream};
use super::counts::Counts;
use super::groups::Group;
use super::text::truncated;
use crate::compress::alike::shape;
use crate::compress::failure_words::failure_words;

/// Number of patterns that are shown: failures first, then the most frequent.
const PATTERNS: usize = 20;

/// Number of sources and severities that are named.
const NAMED: usize = 10;

/// Number of characters of an example.
const EXAMPLE: usize = 240;

/// Number of leading bytes by which messages are distinguished. A message first says what happened.
const FRONT: usize = 400;

/// Severities that report a failure, in Cloud Logging, syslog and common libraries.
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

pub(super) fn summary<'a>(groups: impl Iterator<Item = Group<'a>>) -> Map<String, Json> {
    let mut places: HashMap<(u64, String), usize, RandomState> = HashMap::default();
    let mut patterns: Vec<Pattern<'a>> = Vec::new();
    let (mut severities, mut sources) = (Counts::default(), Counts::default());
    let (mut entries, mut failures) = (0_usize, 0_usize);
    let mut span: Option<(&str, &str)> = None;
    let read = groups.flat_map(|group| {
        let stream = Stream::of(group);
        group.rows().map(move |(_, row)| stream.entry(row))
    });
    for Entry { severity, message, time, source } in read {
        entries += 1;
        let fails = match severity.as_str() {
            "" => !failure_words(&message).is_empty(),
            severity => FAILING.contains(&severity),
        };
        failures += usize::from(fails);
        if let Some(time) = time {
            // Times in one format sort like text.
            span = Some(span.map_or((time, time), |(least, most)| (least.min(time), most.max(time))));
        }
        if let Some(source) = source {
            sources.add(source);
        }
        let front = &message.as_bytes()[..message.len().min(FRONT)];
        let place = *places.entry((shape(front), severity.clone())).or_insert(patterns.len());
        if place == patterns.len() {
            let example = truncated(&message, EXAMPLE);
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
