//! Describes a payload: statistics, its first rows, and its shape.

use serde_json::{Map, Value as Json, json};

use super::groups::{Group, grouped, groups};
use super::rows::Form;
use super::shape::{self, PayloadKind};
use super::text::brief;
use super::value::Value;
use super::{Payload, fields, logs, over_time, spans};
use crate::compress::json::Kind;

/// The percentage of rows that must be of the requested kind.
const FITTING: usize = 50;

/// An object with more members holds rows of one kind, or settings.
const PARTS: usize = 8;

/// Number of rows that are shown, and of characters of each, as in the SRE agent.
const SAMPLES: usize = 3;
const SAMPLE: usize = 2_000;

/// Number of keys in a schema.
const SCHEMA: usize = 50;

impl Payload {
    /// Describes the payload as `kind`, or as its own kind if few rows are of that kind. Returns JSON. O(length).
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

    /// Returns the members, if they are separate things instead of similar rows.
    pub(super) fn parts(&self) -> Vec<(&str, Value<'_>)> {
        let members: Vec<_> = self.main().members().take(PARTS + 1).collect();
        let lists = members.iter().filter(|(_, value)| value.kind() == Kind::Array).count();
        if members.len() > PARTS || lists < 2 {
            return Vec::new();
        }
        members.into_iter().filter(|(_, value)| value.kind().is_container()).collect()
    }

    /// Returns the number of rows, the keys of the first with their types, and the first rows, as JSON.
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

    /// Returns the place and the kind of the rows.
    fn shape(&self) -> Json {
        let rows = self.rows().count();
        let list = self.only_list();
        let (what, length) = match self.form {
            Form::Groups if list.is_none() => ("array", self.groups().count()),
            Form::Elements | Form::Groups => ("array", rows),
            Form::Members => ("object", rows),
            Form::Text => ("text", self.main().inside().len()),
            Form::Single => ("value", 1),
        };
        let rows_are = self.rows().next().map_or("nothing", |(_, row)| fields::type_of(row));
        let pointer = self.pointer(list.unwrap_or_else(|| self.main()));
        let mut shape = json!({ "type": what, "length": length, "of": rows_are, "pointer": pointer });
        if self.form == Form::Groups && list.is_none() {
            shape["of"] = "groups".into();
            shape["rows"] = rows.into();
        }
        shape
    }

    /// Returns the list with all rows of the groups, if there is only one.
    fn only_list(&self) -> Option<Value<'_>> {
        let mut lists = self.groups().flat_map(Group::lists);
        lists.next().filter(|_| lists.next().is_none())
    }

    /// Returns the JSON pointer (RFC 6901) to a value.
    fn pointer(&self, to: Value<'_>) -> String {
        let mut pointer = String::new();
        let mut at = Value::of(self.source(), &self.tape, 0);
        while at.index() != to.index() {
            let holds = |value: &Value<'_>| value.holds(to.index());
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
}

/// Describes the rows in `main`.
fn survey(main: Value<'_>, kind: Option<PayloadKind>) -> Map<String, Json> {
    let values = || rows(main).map(|(_, row)| row);
    let judged = judge(main);
    let fits = |kind: PayloadKind| {
        let count = |(fitting, all): (usize, usize), row| (fitting + usize::from(shape::is(row, kind)), all + 1);
        let (fitting, all) = values().fold((0, 0), count);
        all > 0 && fitting * 100 >= all * FITTING
    };
    let asked = kind.filter(|kind| *kind == judged || grouped(main).is_none() && fits(*kind));
    let kind = asked.unwrap_or(judged);
    let mut said = Map::from_iter([("kind".to_owned(), kind.name().into())]);
    match kind {
        PayloadKind::Metrics => said.extend(over_time::metrics(values())),
        PayloadKind::Logs => said.extend(logs::summary(groups(main))),
        PayloadKind::Traces => said.extend(spans::summary(groups(main))),
        PayloadKind::TimeSeries => said.extend(over_time::time_series(rows(main))),
        PayloadKind::Several | PayloadKind::Other => {
            said.extend([("fields".to_owned(), fields::summary(values()).into())]);
        }
    }
    said
}

/// Returns the kind of the rows in `main`. Reads only the first of them.
pub(super) fn judge(main: Value<'_>) -> PayloadKind {
    grouped(main).unwrap_or_else(|| shape::judge(rows(main).map(|(_, row)| row)))
}

fn rows(main: Value<'_>) -> impl Iterator<Item = (Option<&str>, Value<'_>)> {
    groups(main).flat_map(Group::rows)
}
