//! Recognizes failed spans by their status, an error, or their labels.
//!
//! The rule is documented in docs/adk-data.md.

use super::value::{Value, is_named};
use crate::compress::json::Kind;

/// Fields of a span that hold its status, and statuses that may also be labels (Cloud Trace, OpenTelemetry and its
/// predecessor). A label that is named only `status` or `code` may be about anything.
const OWN_STATUSES: [&str; 2] = ["status", "code"];
const STATUSES: [&str; 9] = [
    "statuscode",
    "status.code",
    "httpstatuscode",
    "httpstatus",
    "http.statuscode",
    "http.response.statuscode",
    "/http/statuscode",
    "otel.statuscode",
    "rpc.grpc.statuscode",
];

/// The same for errors (Jaeger, OpenTelemetry, Cloud Trace).
const OWN_ERRORS: [&str; 3] = ["iserror", "haserror", "errormessage"];
const ERRORS: [&str; 5] = ["error", "error.type", "error.message", "/error/message", "/error/name"];

/// Fields that hold the labels: a dict in Cloud Trace and Zipkin, a list in OTLP and Jaeger.
const LABELS: [&str; 3] = ["labels", "attributes", "tags"];

/// Cloud Trace has this between `attributes` and the labels.
const ATTRIBUTE_MAP: [&str; 1] = ["attributemap"];

/// Levels around a label's value: `{"stringValue": {"value": ...}}` in Cloud Trace, or only the outer one.
const WRAPPED: usize = 2;

/// A sign that a span failed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sign<'a> {
    /// A field of the span.
    Field,
    /// A label on it.
    Label(&'a str, Value<'a>),
}

/// Returns the sign that the span failed, if there is one. O(length of the span).
pub(super) fn failure(row: Value<'_>) -> Option<Sign<'_>> {
    let own = |(key, value): (&str, Value<'_>)| {
        is_one_of(key, &OWN_STATUSES) && is_failure(value)
            || is_one_of(key, &OWN_ERRORS) && is_error(value)
            || says_failure(key, value)
    };
    if row.members().any(own) {
        return Some(Sign::Field);
    }
    let holders = row.members().filter(|(key, _)| is_one_of(key, &LABELS)).map(|(_, holder)| holder);
    let mut labels = holders.flat_map(labels);
    labels.find(|(key, value)| says_failure(key, *value)).map(|(key, value)| Sign::Label(key, value))
}

/// Returns labels by key, without the objects around their values.
pub(super) fn labels(holder: Value<'_>) -> impl Iterator<Item = (&str, Value<'_>)> {
    let inner = holder.field(&ATTRIBUTE_MAP).filter(|inner| inner.kind() == Kind::Object);
    let listed = holder.items().filter_map(pair);
    inner.unwrap_or(holder).members().chain(listed).map(|(key, value)| (key, unwrapped(value)))
}

fn pair(one: Value<'_>) -> Option<(&str, Value<'_>)> {
    Some((one.field(&["key"])?.inside(), one.field(&["value"])?))
}

fn unwrapped(mut value: Value<'_>) -> Value<'_> {
    for _ in 0..WRAPPED {
        value = value.members().next().map_or(value, |(_, inner)| inner);
    }
    value
}

fn says_failure(key: &str, value: Value<'_>) -> bool {
    is_one_of(key, &STATUSES) && is_failure(value) || is_one_of(key, &ERRORS) && is_error(value)
}

fn is_one_of(key: &str, names: &[&str]) -> bool {
    names.iter().any(|name| is_named(key, name))
}

/// True if a status, or the code in it, reports a failure.
fn is_failure(status: Value<'_>) -> bool {
    /// 2 is an error in OpenTelemetry, and gRPC's codes end at 16. 1 is OK in OpenTelemetry and a cancelled call in
    /// gRPC, and neither is a failure.
    const RPC: std::ops::RangeInclusive<f64> = 2.0..=16.0;
    /// The server's failures; 4xx are the caller's.
    const HTTP: std::ops::Range<f64> = 500.0..600.0;
    let status = match status.kind() {
        Kind::Object => status.field(&["code", "statuscode"]),
        _ => Some(status),
    };
    status.is_some_and(|status| match status.number() {
        Some(code) => RPC.contains(&code) || HTTP.contains(&code),
        None => status.kind() == Kind::String && is_word_of_failure(&status.said()),
    })
}

fn is_word_of_failure(status: &str) -> bool {
    const FAILED: [&str; 2] = ["error", "fail"];
    const NEGATED: [&str; 4] = ["noerror", "nofail", "withouterror", "withoutfail"];
    /// gRPC's names for 2 to 16, except "unknown", which is meaningless elsewhere.
    const RPC: [&str; 14] = [
        "invalidargument",
        "deadlineexceeded",
        "notfound",
        "alreadyexists",
        "permissiondenied",
        "resourceexhausted",
        "failedprecondition",
        "aborted",
        "outofrange",
        "unimplemented",
        "internal",
        "unavailable",
        "dataloss",
        "unauthenticated",
    ];
    let letters = status.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    let word: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    let has = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    RPC.contains(&word.as_str()) || has(&FAILED) && !has(&NEGATED)
}

/// True if the value of an error field is an error.
fn is_error(value: Value<'_>) -> bool {
    const NONE: [&str; 8] = ["", "0", "no", "none", "null", "false", "[]", "{}"];
    match value.kind() {
        Kind::Word => value.raw() == "true",
        Kind::Array | Kind::Object => value.len() > 0,
        Kind::Number => value.number().is_none_or(|number| number != 0.0),
        Kind::String => !NONE.contains(&value.said().trim().to_ascii_lowercase().as_str()),
    }
}
