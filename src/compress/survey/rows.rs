//! Finds the rows of a result: the list, or the object of similar members, that makes up most of it.

use super::groups::grouped;
use super::value::Value;
use crate::compress::json::{Kind, Tape};

/// A member with at least this percentage of its container leads to the rows.
const MOST: usize = 66;

/// The percentage for the element of a short list. The rest is only a frame.
const NEARLY_ALL: usize = 90;

/// A list of at most this many elements may be a frame, such as MCP's list of texts.
const FRAME: usize = 3;

/// Maximum number of levels to descend.
const DEPTH: usize = 8;

/// The form of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The elements of an array.
    Elements,
    /// The members of an object.
    Members,
    /// The rows inside groups.
    Groups,
    /// No rows: the result is one text.
    Text,
    /// A single value without rows.
    Single,
}

/// Returns the value that makes up most of the text, and its form.
pub(super) fn find(text: &str, tape: &Tape) -> (usize, Form) {
    let mut at = Value::of(text, tape, 0);
    for _ in 0..DEPTH {
        if grouped(at).is_some() {
            return (at.index(), Form::Groups);
        }
        if let Some(answer) = answer(at) {
            at = answer;
            continue;
        }
        let size = at.raw().len();
        let largest = match at.kind() {
            Kind::Object => at.members().map(|(_, value)| value).max_by_key(|value| value.raw().len()),
            Kind::Array if at.items().nth(FRAME).is_none() => at.items().max_by_key(|value| value.raw().len()),
            _ => None,
        };
        let leads = |inner: &Value<'_>| match at.kind() {
            Kind::Object => inner.raw().len() * 100 >= size * MOST,
            _ => inner.raw().len() * 100 >= size * NEARLY_ALL,
        };
        // A small object that is nearly the whole of its container is the record itself.
        match largest.filter(leads).filter(|inner| inner.kind().is_container() || inner.kind() == Kind::String) {
            Some(inner) => at = inner,
            None => break,
        }
    }
    let form = match at.kind() {
        Kind::Array => Form::Elements,
        Kind::Object => Form::Members,
        Kind::String => Form::Text,
        Kind::Number | Kind::Word => Form::Single,
    };
    (at.index(), form)
}

/// Returns the result in a response of Prometheus or Loki, without the query's statistics.
fn answer(value: Value<'_>) -> Option<Value<'_>> {
    value.field(&["resulttype"])?;
    let answer = value.field(&["result"])?;
    answer.items().next().filter(|first| first.kind() == Kind::Object)?;
    Some(answer)
}

/// Returns the length of the longest list that is reached through objects. Keys do not count: an object of fifty
/// settings is one item.
pub(super) fn longest_list(value: Value<'_>, depth: usize) -> usize {
    match value.kind() {
        Kind::Array => value.len(),
        Kind::Object if depth > 0 => {
            value.members().map(|(_, inner)| longest_list(inner, depth - 1)).max().unwrap_or_default()
        }
        _ => 0,
    }
}

/// Returns the length of the longest list, starting from the top.
pub(super) fn items(text: &str, tape: &Tape) -> usize {
    longest_list(Value::of(text, tape, 0), DEPTH)
}
