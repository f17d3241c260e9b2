//! Reads the top level of a JSON text, for shortening by character counts.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{PlainContent, first, length};

/// A summary of a JSON text's top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonSample {
    /// The content type.
    pub content: PlainContent,
    /// Its first members or elements as JSON, without the outer brackets; long values are cut to strings.
    pub members: String,
}

/// Returns the first three members of a JSON object, or elements of a list, with a hundred characters of each; `None`
/// if `text` is neither. O(length).
pub fn json_sample(text: &str) -> Option<JsonSample> {
    /// Number of keys of an object, or elements of a list, that are shown.
    const SAMPLES: usize = 3;
    /// Number of characters of a value that are shown.
    const SAMPLE: usize = 100;
    let (content, members): (_, Vec<String>) = match json(text)? {
        Json::Object(members) => {
            let sample =
                |(key, value): &(String, &RawValue)| format!("{}:{}", string(key), clipped(value.get(), SAMPLE));
            (PlainContent::Object(members.len()), members.iter().take(SAMPLES).map(sample).collect())
        }
        Json::List(items) => {
            let sample = |item: &&RawValue| clipped(item.get(), SAMPLE);
            (PlainContent::List(items.len()), items.iter().take(SAMPLES).map(sample).collect())
        }
    };
    Some(JsonSample { content, members: members.join(",") })
}

/// The top level of a JSON text; deeper levels are not read.
pub(super) enum Json<'a> {
    Object(Vec<(String, &'a RawValue)>),
    List(Vec<&'a RawValue>),
}

pub(super) fn json(text: &str) -> Option<Json<'_>> {
    match text.trim_start().as_bytes().first()? {
        b'{' => serde_json::from_str(text).ok().map(|Members(members)| Json::Object(members)),
        b'[' => serde_json::from_str(text).ok().map(Json::List),
        _ => None,
    }
}

/// The members of an object in order, including duplicates.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Reader)
    }
}

/// Returns a JSON value, or its first `longest` characters as a string.
pub(super) fn clipped(value: &str, longest: usize) -> String {
    if length(value) <= longest {
        return value.to_owned();
    }
    // Uses the decoded text of a string rather than its source.
    let said: Option<String> = serde_json::from_str(value).ok();
    let said = said.as_deref().unwrap_or(value);
    string(&format!("{}...", first(said, longest)))
}

pub(super) fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the keys of an object, or of the first object in a list, with the types of their values.
pub(super) fn schema(json: &Json<'_>) -> String {
    /// Number of keys that are named.
    const KEYS: usize = 50;
    let first = match json {
        Json::Object(members) => return types(members.iter().take(KEYS)),
        Json::List(items) => items.first().and_then(|item| serde_json::from_str::<Members<'_>>(item.get()).ok()),
    };
    first.map_or_else(|| "{}".to_owned(), |Members(members)| types(members.iter().take(KEYS)))
}

fn types<'a>(members: impl Iterator<Item = &'a (String, &'a RawValue)>) -> String {
    let named = |(key, value): &(String, &RawValue)| {
        let name = match value.get().as_bytes().first() {
            Some(b'{') => "object",
            Some(b'[') => "array",
            Some(b'"') => "string",
            Some(b't' | b'f') => "boolean",
            Some(b'n') => "null",
            _ => "number",
        };
        format!("{}:\"{name}\"", string(key))
    };
    format!("{{{}}}", members.map(named).collect::<Vec<_>>().join(","))
}
