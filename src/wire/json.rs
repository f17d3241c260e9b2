//! Reads and builds `serde_json::Value`, and texts of JSON.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::key::Key;
use super::node::{Build, Bytes, Kind, Node, UNITED};
use super::too_deep;
use crate::error::Result;

impl<'a> Node for &'a Value {
    type Text = Cow<'a, str>;

    fn kind(&self) -> Kind {
        match self {
            Value::Null => Kind::Null,
            Value::Bool(_) | Value::Number(_) => Kind::Scalar,
            Value::String(_) => Kind::Text,
            Value::Array(_) => Kind::List,
            Value::Object(_) => Kind::Map,
        }
    }

    fn get(&self, key: Key) -> Option<Self> {
        Value::get(self, key.name())
    }

    fn field(&self, name: &str) -> Option<Self> {
        Value::get(self, name)
    }

    fn length(&self) -> Option<usize> {
        self.as_array().map(Vec::len)
    }

    fn field_count(&self) -> Option<usize> {
        self.as_object().map(Map::len)
    }

    fn at(&self, index: usize) -> Option<Self> {
        Value::get(self, index)
    }

    fn text(&self) -> Option<Self::Text> {
        self.as_str().map(Cow::Borrowed)
    }

    fn is_true(&self) -> bool {
        self.as_bool() == Some(true)
    }

    fn render(&self, out: &mut String, _: Bytes, depth: usize) -> Result<()> {
        if depth_exceeds(self, depth) {
            return Err(too_deep());
        }
        out.push_str(&self.to_string());
        Ok(())
    }
}

fn depth_exceeds(value: &Value, limit: usize) -> bool {
    if limit == 0 {
        return true;
    }
    match value {
        Value::Array(items) => items.iter().any(|item| depth_exceeds(item, limit - 1)),
        Value::Object(fields) => fields.values().any(|field| depth_exceeds(field, limit - 1)),
        _ => false,
    }
}

/// Adds the fields of another map that this one does not have, except for the named ones.
fn unite(into: &mut Value, other: &Value, levels: usize, named: &[&str]) {
    let (Value::Object(into), Value::Object(other)) = (into, other) else { return };
    for (name, value) in other.iter().filter(|(name, _)| !named.contains(&name.as_str())) {
        match into.get_mut(name) {
            Some(own) if !own.is_null() => {
                if levels > 1 {
                    unite(own, value, levels - 1, &[]);
                }
            }
            _ => drop(into.insert(name.clone(), value.clone())),
        }
    }
}

impl Build for &Value {
    type Out = Value;

    fn keep(&self) -> Value {
        (*self).clone()
    }

    fn united(&self, changes: Vec<(Key, Option<Value>)>, others: &[Self]) -> Result<Value> {
        let mut copy = (*self).clone();
        let named: Vec<&str> = changes.iter().map(|(key, _)| key.name()).collect();
        if let Value::Object(fields) = &mut copy {
            for (key, value) in changes {
                match value {
                    Some(value) => fields.insert(key.name().to_owned(), value),
                    None => fields.shift_remove(key.name()),
                };
            }
        }
        for other in others {
            unite(&mut copy, other, UNITED, &named);
        }
        Ok(copy)
    }

    fn with_fields(&self, changes: Vec<(&str, Value)>) -> Result<Value> {
        let mut copy = (*self).clone();
        if let Value::Object(fields) = &mut copy {
            fields.extend(changes.into_iter().map(|(name, value)| (name.to_owned(), value)));
        }
        Ok(copy)
    }

    fn list(&self, items: Vec<Value>) -> Result<Value> {
        Ok(Value::Array(items))
    }

    fn truth(&self, value: bool) -> Value {
        Value::Bool(value)
    }

    fn string(&self, text: &str) -> Value {
        Value::String(text.to_owned())
    }

    fn map(&self, entries: Vec<(Key, Value)>) -> Result<Value> {
        let fields: Map<String, Value> =
            entries.into_iter().map(|(key, value)| (key.name().to_owned(), value)).collect();
        Ok(Value::Object(fields))
    }
}

/// Returns a JSON text without white space between its tokens and with escapes replaced by their characters, as
/// [`Node::render`] writes it. `None` if it is in that form already, or not JSON.
pub(super) fn compact(text: &str) -> Option<String> {
    let mut inside = false;
    let mut escaped = false;
    let tight = text.bytes().all(|byte| {
        let fine = if inside {
            // `render` writes these escapes too.
            !escaped || matches!(byte, b'"' | b'\\' | b'n' | b'r' | b't')
        } else {
            !byte.is_ascii_whitespace()
        };
        inside ^= byte == b'"' && !escaped;
        escaped = inside && byte == b'\\' && !escaped;
        fine
    });
    if tight { None } else { serde_json::from_str::<Value>(text).ok().map(|value| value.to_string()) }
}
