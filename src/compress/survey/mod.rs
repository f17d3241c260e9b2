//! Large results of APIs in numbers: what they consist of, and what can be said of all of it at once.
//!
//! Compression keeps the pieces of a text that say most; a survey reads every row and says what they have in common. So it
//! is what stands for ten thousand entries of a log, spans, or points of a time series, where their number is the message.
//!
//! Everything is bounded, linear in the text, and the same bytes on every machine.

mod counts;
mod fields;
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

use serde_json::{Map, Value as Json, json};

use super::json::{Kind, Tape};
use rows::Form;
use text::brief;
use value::Value;

/// A result, read once.
#[derive(Debug)]
pub struct Payload {
    /// As it came.
    whole: String,
    /// The JSON in a text that nearly all of it consists of, as MCP wraps results.
    inner: Option<String>,
    tape: Tape,
    rows: usize,
    form: Form,
    kind: PayloadKind,
    items: usize,
}

/// Rows of a kind that was asked for, of a hundred, that must be of it.
const FITTING: usize = 50;

/// An object of more members has rows of one kind, or settings.
const PARTS: usize = 8;

/// Rows that are shown as they are, and characters of each: as the SRE agent has them.
const SAMPLES: usize = 3;
const SAMPLE: usize = 2_000;

/// Keys of a schema.
const SCHEMA: usize = 50;

impl Payload {
    /// Reads JSON. `NaN` and infinities, which Python writes and JSON does not have, become strings. `None` where it is
    /// still no JSON. O(length).
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
        payload.kind = match shape::judge(payload.rows().map(|(_, row)| row)) {
            PayloadKind::Other if !payload.parts().is_empty() => PayloadKind::Several,
            kind => kind,
        };
        payload
    }

    /// The whole as JSON.
    pub fn json(&self) -> &str {
        &self.whole
    }

    /// Elements of the longest list in it; keys of an object are no items.
    pub fn items(&self) -> usize {
        self.items
    }

    /// What its rows are.
    pub fn kind(&self) -> PayloadKind {
        self.kind
    }

    /// The text that nearly all of it is, where that is no JSON.
    pub fn text(&self) -> Option<String> {
        (self.form == Form::Text).then(|| self.main().said().into_owned())
    }

    /// What is to be stored: the text, or the JSON with a line for each row, so that it can be searched by lines; and
    /// whether anything of the whole is not in it. O(length).
    pub fn stored(&self) -> (String, Whole) {
        let source = self.source();
        let whole = if self.inner.is_some() || self.form == Form::Text { Whole::Framed } else { Whole::Stored };
        if let Some(text) = self.text() {
            return (text, whole);
        }
        let mut out = String::with_capacity(source.len() + source.len() / 16);
        let mut written = 0;
        let ends: Vec<usize> = match self.form {
            Form::Elements => self.main().items().map(|row| row.span().start).collect(),
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

    /// What can be said of it as `kind`, or as what it is where few rows are of that kind, as JSON. O(length).
    pub fn survey(&self, kind: Option<PayloadKind>) -> String {
        let mut said = if self.kind == PayloadKind::Several {
            let parts = self.parts().into_iter().map(|(key, part)| (key.to_owned(), survey(part, kind).into()));
            let parts = Json::Object(parts.collect());
            Map::from_iter([("kind".to_owned(), self.kind.name().into()), ("parts".to_owned(), parts)])
        } else {
            survey(self.main(), kind)
        };
        said.insert("shape".to_owned(), self.shape());
        Json::Object(said).to_string()
    }

    /// The members, where each is something of its own rather than one row of many.
    fn parts(&self) -> Vec<(&str, Value<'_>)> {
        let members: Vec<_> = self.main().members().take(PARTS + 1).collect();
        let lists = members.iter().filter(|(_, value)| value.kind() == Kind::Array).count();
        if members.len() > PARTS || lists < 2 {
            return Vec::new();
        }
        members.into_iter().filter(|(_, value)| value.kind().is_container()).collect()
    }

    /// How many rows there are, the keys of the first with their types, and the first rows, as JSON.
    pub fn sample(&self) -> String {
        let first = self.rows().next().map(|(_, row)| row);
        let keys = first.into_iter().flat_map(Value::members).take(SCHEMA);
        let schema: Map<String, Json> =
            keys.map(|(key, value)| (key.to_owned(), fields::type_of(value).into())).collect();
        let samples: Vec<Json> = self
            .rows()
            .take(SAMPLES)
            .map(|(key, row)| match key {
                Some(key) => json!({ key: brief(row, SAMPLE) }),
                None => brief(row, SAMPLE),
            })
            .collect();
        json!({ "total_count": self.rows().count(), "schema_hint": schema, "sample_items": samples }).to_string()
    }

    /// What it looks like from outside: where the rows are, and what they are.
    fn shape(&self) -> Json {
        let (what, rows) = match self.form {
            Form::Elements => ("array", self.rows().count()),
            Form::Members => ("object", self.rows().count()),
            Form::Text => ("text", self.main().inside().len()),
            Form::Single => ("value", 1),
        };
        let rows_are = self.rows().next().map_or("nothing", |(_, row)| fields::type_of(row));
        json!({ "type": what, "length": rows, "of": rows_are, "pointer": self.pointer() })
    }

    /// The JSON pointer (RFC 6901) that leads to the rows.
    fn pointer(&self) -> String {
        let mut pointer = String::new();
        let mut at = Value::of(self.source(), &self.tape, 0);
        while at.index() != self.rows {
            let holds = |value: &Value<'_>| value.holds(self.rows);
            let step = match at.members().find(|(_, value)| holds(value)) {
                Some((key, value)) => (key.replace('~', "~0").replace('/', "~1"), value),
                None => match at.items().enumerate().find(|(_, value)| holds(value)) {
                    Some((place, value)) => (place.to_string(), value),
                    None => break,
                },
            };
            pointer.push('/');
            pointer.push_str(&step.0);
            at = step.1;
        }
        pointer
    }

    fn source(&self) -> &str {
        self.inner.as_deref().unwrap_or(&self.whole)
    }

    fn main(&self) -> Value<'_> {
        Value::of(self.source(), &self.tape, self.rows)
    }

    fn rows(&self) -> impl Iterator<Item = (Option<&str>, Value<'_>)> {
        rows(self.main())
    }
}

/// JSON lines as a list with a line for each.
fn list_of_lines(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    (lines.len() > 1).then(|| format!("[{}]", lines.join(",\n")))
}

/// What can be said of the rows in `main`.
fn survey(main: Value<'_>, kind: Option<PayloadKind>) -> Map<String, Json> {
    let judged = shape::judge(rows(main).map(|(_, row)| row));
    let fits = |kind: PayloadKind| {
        let count = |(fitting, all): (usize, usize), row| (fitting + usize::from(shape::is(row, kind)), all + 1);
        let (fitting, all) = rows(main).map(|(_, row)| row).fold((0, 0), count);
        all > 0 && fitting * 100 >= all * FITTING
    };
    let kind = kind.filter(|kind| *kind == judged || fits(*kind)).unwrap_or(judged);
    let mut said = Map::from_iter([("kind".to_owned(), kind.name().into())]);
    let values = rows(main).map(|(_, row)| row);
    match kind {
        PayloadKind::Metrics => said.extend(over_time::metrics(values)),
        PayloadKind::Logs => said.extend(logs::summary(values)),
        PayloadKind::Traces => said.extend(spans::summary(values)),
        PayloadKind::TimeSeries => said.extend(over_time::time_series(rows(main))),
        PayloadKind::Several | PayloadKind::Other => {
            said.extend([("fields".to_owned(), fields::summary(values).into())]);
        }
    }
    said
}

/// The rows, with their keys where they are members of an object.
fn rows(main: Value<'_>) -> impl Iterator<Item = (Option<&str>, Value<'_>)> {
    main.items().map(|row| (None, row)).chain(main.members().map(|(key, row)| (Some(key), row)))
}

/// Whether what is stored is all of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// It is.
    Stored,
    /// Around it is a frame, which is not in it.
    Framed,
}
