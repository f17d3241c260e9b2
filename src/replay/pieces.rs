//! Splits a message into pieces by author.

use serde_json::Value;

use crate::anchors::strip_line_number;
use crate::message::{Document, Item, Message, Part, Role, Text, digest_of};

/// The author of words in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    /// The user, or the instructions.
    Given,
    /// The model, in words or in the arguments of a call.
    Used,
    /// A tool.
    Returned,
    /// Reasoning of the model, names of tools, and opaque content.
    Aside,
}

/// The form of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextForm {
    /// Plain text.
    Plain,
    /// Compact JSON.
    Json,
}

/// A text of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub voice: Voice,
    pub form: TextForm,
    pub text: &'a str,
}

/// Returns the texts of a message, in order, except for ids of calls.
pub(super) fn pieces<T: Text>(message: &Message<T>) -> Vec<Piece<'_>> {
    let mut pieces = Vec::with_capacity(message.parts.len());
    let own = if message.role == Role::Assistant { Voice::Used } else { Voice::Given };
    for part in &message.parts {
        let mut add = |voice, form, text| pieces.push(Piece { voice, form, text });
        match part {
            Part::Text(text) => add(own, TextForm::Plain, text),
            Part::Reasoning { text, .. } => add(Voice::Aside, TextForm::Plain, text),
            Part::Call { name, input, .. } => {
                add(Voice::Aside, TextForm::Plain, name);
                add(Voice::Used, TextForm::Json, input);
            }
            Part::Result { items, .. } => {
                for item in items {
                    match item {
                        Item::Text(text) => add(Voice::Returned, TextForm::Plain, text),
                        Item::Json(text) | Item::Opaque(text) => add(Voice::Returned, TextForm::Json, text),
                        Item::Document(document) => file(document, |text| add(Voice::Returned, TextForm::Plain, text)),
                        Item::Media(_) => {}
                    }
                }
            }
            Part::Document(document) => file(document, |text| add(own, TextForm::Plain, text)),
            Part::Opaque(text) => add(Voice::Aside, TextForm::Json, text),
            Part::Media(_) | Part::CachePoint => {}
        }
    }
    pieces
}

fn file<'a, T: Text>(document: &'a Document<T>, each: impl FnMut(&'a str)) {
    document.texts.iter().map(|text| -> &str { text }).for_each(each);
}

/// Calls `each` with every line of a text. For JSON these are the lines of every string in it, and the whole.
pub(super) fn lines(piece: Piece<'_>, mut each: impl FnMut(&str)) {
    if piece.form == TextForm::Json
        && let Ok(value) = serde_json::from_str::<Value>(piece.text)
    {
        strings(&value, &mut |text| text.lines().for_each(&mut each));
    }
    piece.text.lines().for_each(each);
}

/// Appends a text as a reader sees it, and a line end. For JSON these are its strings and numbers.
pub(super) fn plain(piece: Piece<'_>, out: &mut String) {
    match serde_json::from_str::<Value>(piece.text) {
        Ok(value) if piece.form == TextForm::Json => scalars(&value, out),
        _ => {
            out.push_str(piece.text);
            out.push('\n');
        }
    }
}

fn scalars(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Number(number) => {
            out.push_str(&number.to_string());
            out.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| scalars(item, out)),
        Value::Object(fields) => fields.values().for_each(|field| scalars(field, out)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Calls `each` with every string in a value. The parser limits the nesting.
fn strings<'a>(value: &'a Value, each: &mut impl FnMut(&'a str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, each)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the key of a line: its words without surrounding space, without a tool's line number, and without the number
/// of a quotation before that. `None` for an empty line.
pub(super) fn line_key(line: &str) -> Option<u128> {
    let line = strip_line_number(strip_line_number(line)).trim();
    (!line.is_empty()).then(|| digest_of(line))
}
