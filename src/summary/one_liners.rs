//! A line for each event, in order: the bulleted history of the SRE agent.

use serde_json::Value;

use super::Removed;
use super::body::USER;
use super::cut::{first_line, shown};
use super::removed::Content;
use crate::compress::reports;
use crate::message::{Item, Role, Text};
use crate::numbers::thousands;
use crate::tokens::{CountTokens, TextKind};

/// Maximum characters of a statement of the user or the assistant, and of a result without a better summary, as in the
/// SRE agent.
const REQUEST: usize = 200;
const THOUGHT: usize = 150;
const RESULT: usize = 100;

/// Longer JSON is not parsed for a line. Its beginning is shown.
const LONGEST_JSON: usize = 1 << 20;

/// Fields of a result that state its outcome, for any tool, most useful first.
const TELLING: [&str; 19] = [
    "error",
    "errors",
    "error_count",
    "root_cause",
    "status",
    "summary",
    "message",
    "anomalies",
    "trace_id",
    "total",
    "total_count",
    "count",
    "total_spans",
    "duration_ms",
    "latency_ms",
    "p50",
    "p95",
    "p99",
    "patterns",
];

/// Number of fields that a line names.
const NAMED: usize = 4;

/// Returns the newest lines that fit into `tokens`, in order, after the lines of a former such text. O(length).
pub fn one_liners<T: Text>(removed: &Removed<'_, T>, tokens: usize, counter: &dyn CountTokens) -> String {
    let mut lines: Vec<String> = removed
        .previous
        .lines()
        .filter(|line| !line.trim().is_empty() && !is_left_out(line))
        .map(|line| shown(line, REQUEST * 2))
        .collect();
    for message in removed.messages() {
        for (_, content) in removed.contents(message) {
            lines.extend(one_liner(removed.role(message), &content));
        }
    }
    let count = |line: &str| counter.count(line, TextKind::Prose) + 1;
    let mut rest = tokens;
    let whole: usize = lines.iter().map(|line| count(line)).sum();
    if whole > tokens {
        rest = rest.saturating_sub(count(&left_out(lines.len())));
    }
    let mut first = lines.len();
    while first > 0 && count(&lines[first - 1]) <= rest {
        first -= 1;
        rest -= count(&lines[first]);
    }
    if first == lines.len() {
        return String::new();
    }
    let text = |first: usize| match first {
        0 => lines.join("\n"),
        _ => format!("{}\n{}", left_out(first), lines[first..].join("\n")),
    };
    // Lines are counted one by one. Together they could have a few more tokens.
    let mut out = text(first);
    while first < lines.len() && !counter.fits(&out, TextKind::Prose, tokens) {
        first += 1;
        out = text(first);
    }
    if first == lines.len() { String::new() } else { out }
}

const LEFT_OUT: &str = " older lines have no room here]";

fn left_out(lines: usize) -> String {
    format!("[{}{LEFT_OUT}", thousands(lines))
}

fn is_left_out(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(LEFT_OUT)
}

fn one_liner<T: Text>(role: Role, content: &Content<'_, T>) -> Option<String> {
    match content {
        Content::Words(text) if role == Role::User => Some(format!("{USER} {}", first_line(text, REQUEST))),
        Content::Words(text) | Content::Thought(text) => Some(format!("• Thought: {}", first_line(text, THOUGHT))),
        Content::Call { tool, .. } => Some(format!("• Called tool: {}", shown(tool, RESULT))),
        Content::Result { items, .. } => Some(format!("  └ Result: {}", result(items))),
        Content::Thing(_) => None,
    }
}

/// The short form of a result: the line that states its failure, the main fields of JSON, or its first line.
fn result<T: Text>(items: &[Item<T>]) -> String {
    let Some(text) = items.iter().find_map(|item| item.text().map(|(text, _)| text)) else {
        return "a picture or file".to_owned();
    };
    if text.len() <= LONGEST_JSON
        && text.trim_start().starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str::<Value>(text)
        && let Some(line) = fields(&value)
    {
        return line;
    }
    let failed = reports(text).next().map(|at| &text[at..]);
    first_line(failed.unwrap_or(text), RESULT)
}

fn fields(value: &Value) -> Option<String> {
    let fields = match value {
        Value::Array(items) => return Some(format!("{} items", thousands(items.len()))),
        // Tools wrap their results in a field of this name.
        Value::Object(fields) => match fields.get("result") {
            Some(inner @ (Value::Object(_) | Value::Array(_))) => return self::fields(inner),
            _ => fields,
        },
        _ => return None,
    };
    let telling = TELLING.iter().filter_map(|key| Some((*key, fields.get(*key)?)));
    let lists = fields.iter().filter(|(key, value)| value.is_array() && !TELLING.contains(&key.as_str()));
    let named = telling.chain(lists.map(|(key, value)| (key.as_str(), value))).filter(|(_, value)| !value.is_null());
    let said: Vec<String> =
        named.take(NAMED).map(|(key, value)| format!("{}: {}", shown(key, RESULT), brief(value))).collect();
    if said.is_empty() { None } else { Some(said.join(", ")) }
}

fn brief(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("{} items", thousands(items.len())),
        Value::Object(fields) => format!("{} fields", thousands(fields.len())),
        Value::String(text) => first_line(text, RESULT),
        other => other.to_string(),
    }
}
