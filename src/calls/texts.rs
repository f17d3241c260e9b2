//! Finds the texts in a call's arguments and their places, so that one can be replaced while the rest stays unchanged.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{EDITS, REPLACED, WRITTEN};
use crate::wire::Step;

/// The action of a call on a text in its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    /// Writes it into the file.
    Written,
    /// Replaces it in the file.
    Replaced,
}

/// A text in the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentText {
    /// The path to the text in the arguments.
    pub steps: Vec<Step>,
    /// Its range in the arguments as JSON, including the quotes.
    pub literal: Range<usize>,
    /// The action of the call on it.
    pub sense: Sense,
    /// The text.
    pub text: String,
}

/// Returns the texts in arguments that a call writes into a file or replaces there, in order; empty if the arguments
/// are not an object. O(length).
pub fn texts(input: &str) -> Vec<ArgumentText> {
    let mut found = Finder { input, texts: Vec::new() };
    let object = Fields { found: &mut found, before: &[], depth: Depth::Call };
    match object.deserialize(&mut serde_json::Deserializer::from_str(input)) {
        Ok(()) => found.texts,
        Err(_) => Vec::new(),
    }
}

/// Any string in the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentString {
    /// The path to the string in the arguments.
    pub steps: Vec<Step>,
    /// Its range in the arguments as JSON, including the quotes.
    pub literal: Range<usize>,
}

/// Returns the strings in arguments with at least this many bytes, in order. O(length).
pub fn long_strings(input: &str, least: usize) -> Vec<ArgumentString> {
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str::<&RawValue>(input) {
        find_strings(value, input, least, &mut Vec::new(), &mut found);
    }
    found.sort_by_key(|string| string.literal.start);
    found
}

fn find_strings(value: &RawValue, input: &str, least: usize, steps: &mut Vec<Step>, found: &mut Vec<ArgumentString>) {
    /// Maximum nesting. No tool nests arguments deeper.
    const DEEPEST: usize = 16;
    let raw = value.get();
    if raw.len() < least || steps.len() == DEEPEST {
        return;
    }
    match raw.as_bytes()[0] {
        b'"' if !steps.is_empty() => {
            // A raw value is a slice of the text it was parsed from.
            let start = raw.as_ptr() as usize - input.as_ptr() as usize;
            found.push(ArgumentString { steps: steps.clone(), literal: start..start + raw.len() });
        }
        b'{' => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(raw).unwrap_or_default();
            for (name, inner) in fields {
                steps.push(Step::Field(name));
                find_strings(inner, input, least, steps, found);
                steps.pop();
            }
        }
        b'[' => {
            let elements: Vec<&RawValue> = serde_json::from_str(raw).unwrap_or_default();
            for (index, inner) in elements.into_iter().enumerate() {
                steps.push(Step::Element(index));
                find_strings(inner, input, least, steps, found);
                steps.pop();
            }
        }
        _ => {}
    }
}

struct Finder<'a> {
    input: &'a str,
    texts: Vec<ArgumentText>,
}

impl Finder<'_> {
    fn take(&mut self, before: &[Step], name: &str, value: &RawValue) {
        let sense = match name {
            name if WRITTEN.contains(&name) => Sense::Written,
            name if REPLACED.contains(&name) => Sense::Replaced,
            _ => return,
        };
        let Ok(text) = serde_json::from_str::<String>(value.get()) else { return };
        // A raw value is a slice of the text it was parsed from.
        let start = value.get().as_ptr() as usize - self.input.as_ptr() as usize;
        let steps = before.iter().cloned().chain([Step::Field(name.to_owned())]).collect();
        self.texts.push(ArgumentText { steps, literal: start..start + value.get().len(), sense, text });
    }
}

/// The level of an object: all arguments, or one of several edits among them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Call,
    Edit,
}

/// Reads an object and keeps the texts in it.
struct Fields<'f, 'a> {
    found: &'f mut Finder<'a>,
    before: &'f [Step],
    depth: Depth,
}

impl<'de> DeserializeSeed<'de> for Fields<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let value: &RawValue = map.next_value()?;
            if self.depth == Depth::Call && EDITS.contains(&&*name) {
                let list = Edits { found: self.found, name: &name };
                // A value that is not a list of objects holds no edits.
                let _ = list.deserialize(&mut serde_json::Deserializer::from_str(value.get()));
            } else {
                self.found.take(self.before, &name, value);
            }
        }
        Ok(())
    }
}

/// Reads a list of edits.
struct Edits<'f, 'a> {
    found: &'f mut Finder<'a>,
    name: &'f str,
}

impl<'de> DeserializeSeed<'de> for Edits<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Edits<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(edit) = list.next_element::<&RawValue>()? {
            let before = [Step::Field(self.name.to_owned()), Step::Element(index)];
            let object = Fields { found: self.found, before: &before, depth: Depth::Edit };
            let _ = object.deserialize(&mut serde_json::Deserializer::from_str(edit.get()));
            index += 1;
        }
        Ok(())
    }
}
