//! Statistics of large API results.
//!
//! Compression keeps the most important pieces of a text. A survey reads every row and describes what the rows have in
//! common. So it represents ten thousand log entries, spans or points of a time series, whose number is the message.
//!
//! Every part is bounded in size, takes time linear in the text, and is the same on every machine.

mod around;
mod counts;
mod described;
mod failure;
mod fields;
mod groups;
mod logs;
mod names;
mod numbers;
mod over_time;
mod points;
mod rows;
mod shape;
mod spans;
mod strict;
mod text;
mod took;
mod value;

pub use shape::PayloadKind;

use super::json::Tape;
use groups::{Group, groups};
use rows::Form;
use value::Value;

/// A result, read once.
#[derive(Debug)]
pub struct Payload {
    /// The value in its original form.
    whole: String,
    /// The JSON in a text that is nearly the whole value, as in MCP results.
    inner: Option<String>,
    tape: Tape,
    rows: usize,
    form: Form,
    kind: PayloadKind,
    items: usize,
}

impl Payload {
    /// Reads JSON. `NaN` and infinities, which Python writes and JSON does not have, become strings. `None` if it is
    /// still not JSON. O(length).
    pub fn of(json: String) -> Option<Payload> {
        let whole = match Tape::of(&json) {
            Some(_) => json,
            None => strict::quoted(&json),
        };
        let tape = Tape::of(&whole)?;
        let items = rows::items(&whole, &tape);
        let (rows, form) = rows::find(&whole, &tape);
        if form == Form::Text {
            let text = Value::of(&whole, &tape, rows).said();
            let inner = text.trim_start().starts_with(['{', '[']).then(|| text.into_owned());
            let inner = inner.and_then(|inner| match Tape::of(&inner) {
                Some(tape) => Some((inner, tape)),
                None => list_of_lines(&inner).and_then(|list| Tape::of(&list).map(|tape| (list, tape))),
            });
            if let Some((inner, tape)) = inner {
                let (rows, form) = rows::find(&inner, &tape);
                let items = items.max(rows::items(&inner, &tape));
                return Some(Payload::judged(whole, Some(inner), tape, rows, form, items));
            }
        }
        Some(Payload::judged(whole, None, tape, rows, form, items))
    }

    fn judged(whole: String, inner: Option<String>, tape: Tape, rows: usize, form: Form, items: usize) -> Payload {
        let mut payload = Payload { whole, inner, tape, rows, form, kind: PayloadKind::Other, items };
        if form == Form::Groups {
            payload.items = items.max(payload.rows().count());
        }
        payload.kind = match described::judge(payload.main()) {
            PayloadKind::Other if !payload.parts().is_empty() => PayloadKind::Several,
            kind => kind,
        };
        payload
    }

    /// Returns the whole value as JSON.
    pub fn json(&self) -> &str {
        &self.whole
    }

    /// Returns the number of elements of the longest list, or of all groups together. Keys of an object are not
    /// counted.
    pub fn items(&self) -> usize {
        self.items
    }

    /// Returns the kind of its rows.
    pub fn kind(&self) -> PayloadKind {
        self.kind
    }

    /// Returns the text that is nearly the whole value, if it is not JSON.
    pub fn text(&self) -> Option<String> {
        (self.form == Form::Text).then(|| self.main().said().into_owned())
    }

    /// Returns the text to store, and whether it is complete. JSON is stored with a line for each row, so that it can
    /// be searched by lines. O(length).
    pub fn to_store(&self) -> (String, Whole) {
        let source = self.source();
        let whole = if self.inner.is_some() || self.form == Form::Text { Whole::Framed } else { Whole::Stored };
        if let Some(text) = self.text() {
            return (text, whole);
        }
        let mut out = String::with_capacity(source.len() + source.len() / 16);
        let mut written = 0;
        let ends: Vec<usize> = match self.form {
            Form::Elements | Form::Groups => {
                let around = self.groups().filter_map(Group::around).filter(|around| around.index() != self.rows);
                let rows = self.rows().map(|(_, row)| row);
                let mut starts: Vec<usize> = around.chain(rows).map(|value| value.span().start).collect();
                starts.sort_unstable();
                starts
            }
            _ => self.main().keys().map(|key| key.span().start).collect(),
        };
        for start in ends {
            out.push_str(&source[written..start]);
            out.push('\n');
            written = start;
        }
        out.push_str(&source[written..]);
        (out, whole)
    }

    fn source(&self) -> &str {
        self.inner.as_deref().unwrap_or(&self.whole)
    }

    fn main(&self) -> Value<'_> {
        Value::of(self.source(), &self.tape, self.rows)
    }

    fn rows(&self) -> impl Iterator<Item = (Option<&str>, Value<'_>)> {
        self.groups().flat_map(Group::rows)
    }

    fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        groups(self.main())
    }
}

/// Converts JSON lines to a list with an element on each line.
fn list_of_lines(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    (lines.len() > 1).then(|| format!("[{}]", lines.join(",\n")))
}

/// The completeness of a stored text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// It is the whole payload.
    Stored,
    /// The frame around it is missing.
    Framed,
}
