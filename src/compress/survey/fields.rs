//! Describes rows of any kind by their fields, types and values.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::{Map, Value as Json, json};

use super::counts::Counts;
use super::numbers::Numbers;
use super::value::Value;
use crate::compress::json::Kind;

/// Number of fields that are described, in order of appearance.
const FIELDS: usize = 40;

/// Number of levels of objects inside a row whose fields count as the row's own.
const LEVELS: usize = 3;

/// Number of values of a field that are named.
const VALUES: usize = 5;

/// Longer texts are bodies, and rarely repeat.
const LONGEST_VALUE: usize = 200;

/// Number of members that are shown of an object that represents several.
pub(super) const SHOWN_MEMBERS: usize = 12;

#[derive(Default)]
struct Field {
    present: usize,
    types: Vec<&'static str>,
    numbers: Numbers,
    values: Counts,
    /// Lengths of lists and of long texts.
    lengths: Numbers,
}

/// Describes each field of the rows, by path.
pub(super) fn summary<'a>(rows: impl Iterator<Item = Value<'a>>) -> Map<String, Json> {
    let mut places: HashMap<String, usize, RandomState> = HashMap::default();
    let mut fields: Vec<(String, Field)> = Vec::new();
    let mut count = 0_usize;
    let mut stack: Vec<(String, Value<'a>, usize)> = Vec::new();
    for row in rows {
        count += 1;
        stack.push((String::new(), row, 0));
        while let Some((path, value, level)) = stack.pop() {
            if value.kind() == Kind::Object && level < LEVELS {
                let inner = value.members().map(|(key, inner)| match path.as_str() {
                    "" => (key.to_owned(), inner, level + 1),
                    path => (format!("{path}.{key}"), inner, level + 1),
                });
                let from = stack.len();
                stack.extend(inner);
                // Reversed, so that the first one is popped first.
                stack[from..].reverse();
                continue;
            }
            // Rows of a table may be lists. Their positions are the fields.
            if value.kind() == Kind::Array && level == 0 && value.len() <= FIELDS {
                let from = stack.len();
                stack.extend(value.items().enumerate().map(|(place, inner)| (format!("[{place}]"), inner, level + 1)));
                stack[from..].reverse();
                continue;
            }
            let place = match places.get(&path) {
                Some(place) => *place,
                None if fields.len() == FIELDS => continue,
                None => {
                    places.insert(path.clone(), fields.len());
                    fields.push((path, Field::default()));
                    fields.len() - 1
                }
            };
            fields[place].1.add(value);
        }
    }
    fields.into_iter().map(|(path, field)| (path, field.said(count))).collect()
}

impl Field {
    fn add(&mut self, value: Value<'_>) {
        self.present += usize::from(!value.is_null());
        let kind = type_of(value);
        if !self.types.contains(&kind) {
            self.types.push(kind);
        }
        match value.kind() {
            Kind::Number => self.numbers.push(value.number().unwrap_or(f64::NAN)),
            Kind::Array | Kind::Object => self.push_length(value.len()),
            Kind::String if value.inside().len() > LONGEST_VALUE => self.push_length(value.inside().len()),
            Kind::String => self.values.add(value.said().into_owned()),
            Kind::Word if !value.is_null() => self.values.add(value.raw().to_owned()),
            Kind::Word => {}
        }
    }

    fn push_length(&mut self, length: usize) {
        // Lengths are far below 2^52, so they are exact.
        #[allow(clippy::cast_precision_loss)]
        self.lengths.push(length as f64);
    }

    fn said(&self, rows: usize) -> Json {
        let mut said = json!({ "types": self.types });
        if self.present < rows {
            said["present_in"] = self.present.into();
        }
        if self.numbers.len() > 0 {
            said["numbers"] = self.numbers.statistics().into();
        }
        if self.lengths.len() > 0 {
            said["lengths"] = self.lengths.statistics().into();
        }
        let (distinct, is_more) = self.values.distinct();
        if distinct > 0 {
            said["distinct"] = if is_more { json!(format!("more than {distinct}")) } else { distinct.into() };
            let named = if self.values.repeat() { VALUES } else { 2 };
            said["most_frequent"] = self.values.most(named).into();
        }
        said
    }
}

pub(super) fn type_of(value: Value<'_>) -> &'static str {
    match value.kind() {
        Kind::Object => "object",
        Kind::Array => "array",
        Kind::String => "string",
        Kind::Number => "number",
        Kind::Word if value.is_null() => "null",
        Kind::Word => "boolean",
    }
}
