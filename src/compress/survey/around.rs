//! Fields of a trace, a resource or a stream that apply to all of its rows.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::failure::labels;
use super::groups::{Group, STREAM, line};
use super::names::{MESSAGE, SEVERITY, SOURCE, STREAM_SEVERITY, STREAM_SOURCE, TIME, TRACE_ID};
use super::value::{Value, is_named};
use crate::compress::json::Kind;

/// Fields of a trace or a resource that apply to its spans.
#[derive(Debug, Default)]
pub(super) struct Trace<'a> {
    id: Option<Value<'a>>,
    service: Option<Value<'a>>,
    /// In Jaeger's format: the service of each process, by the process id in spans.
    processes: HashMap<&'a str, Value<'a>, RandomState>,
}

impl<'a> Trace<'a> {
    pub(super) fn of(group: Group<'a>) -> Trace<'a> {
        let Some(around) = group.around() else { return Trace::default() };
        let resource = around.field(&["resource"]).and_then(|resource| resource.field(&["attributes"]));
        let named = |(key, _): &(&str, Value<'_>)| is_named(key, "service.name");
        let processes = around.field(&["processes"]).into_iter().flat_map(Value::members);
        Trace {
            id: around.field(&TRACE_ID),
            service: resource.and_then(|attributes| labels(attributes).find(named)).map(|(_, name)| name),
            processes: processes.filter_map(|(id, process)| Some((id, process.field(&["servicename"])?))).collect(),
        }
    }

    /// Returns the id of a span's trace.
    pub(super) fn id(&self, span: Value<'a>) -> Option<Value<'a>> {
        span.field(&TRACE_ID).or(self.id)
    }

    /// Returns the service of a span.
    pub(super) fn service(&self, span: Value<'a>) -> Option<Value<'a>> {
        let of_process = || self.processes.get(span.field(&["processid"])?.inside()).copied();
        let service = span.field(&SOURCE).filter(|service| !service.kind().is_container());
        service.or_else(of_process).or(self.service).filter(|service| !service.kind().is_container())
    }
}

/// Labels of a stream that apply to its lines.
#[derive(Debug, Default)]
pub(super) struct Stream<'a> {
    has_lines: bool,
    severity: Option<Value<'a>>,
    source: Option<String>,
}

/// An entry of a log.
pub(super) struct Entry<'a> {
    /// The severity in capitals; empty if there is none.
    pub(super) severity: String,
    pub(super) message: String,
    pub(super) time: Option<&'a str>,
    pub(super) source: Option<String>,
}

impl<'a> Stream<'a> {
    pub(super) fn of(group: Group<'a>) -> Stream<'a> {
        let Some(labels) = group.around().and_then(|around| around.field(&STREAM)) else { return Stream::default() };
        Stream {
            has_lines: true,
            severity: labels.field(&STREAM_SEVERITY),
            source: labels.field(&STREAM_SOURCE).and_then(source),
        }
    }

    /// Reads a row: a line of the stream, or an entry with fields.
    pub(super) fn entry(&self, row: Value<'a>) -> Entry<'a> {
        let in_capitals = |severity: Option<Value<'_>>| severity.map(|severity| severity.said().to_uppercase());
        if let Some((time, text, own)) = line(row).filter(|_| self.has_lines) {
            let severity = own.and_then(|own| own.field(&STREAM_SEVERITY)).or(self.severity);
            return Entry {
                severity: in_capitals(severity).unwrap_or_default(),
                message: text.said().into_owned(),
                time: Some(time.inside()),
                source: self.source.clone(),
            };
        }
        Entry {
            severity: in_capitals(row.field(&SEVERITY)).unwrap_or_default(),
            message: row.field(&MESSAGE).map(message).unwrap_or_default(),
            time: row.field(&TIME).filter(|time| !time.kind().is_container()).map(Value::inside),
            source: row.field(&SOURCE).and_then(source),
        }
    }
}

/// Returns the text of an entry, or the message in its structured payload.
fn message(value: Value<'_>) -> String {
    let inner = if value.kind() == Kind::Object { value.field(&MESSAGE) } else { None };
    inner.unwrap_or(value).said().into_owned()
}

/// Returns the source of an entry: a name, or the name of a resource.
fn source(value: Value<'_>) -> Option<String> {
    /// Fields that identify a resource.
    const NAMES: [&str; 4] = ["name", "servicename", "type", "id"];
    let named = if value.kind() == Kind::Object { value.field(&NAMES)? } else { value };
    (!named.kind().is_container()).then(|| named.said().into_owned())
}
