//! Any list of messages from the bytes of a fuzzer: JSON as it is, or entries of one format with damage.

use arbitrary::Unstructured;
use serde_json::Value;

use crate::nearly::{ENTRIES, NAMES, WORDS};

/// Levels of a generated value: a block of a result of an entry, and its content.
const DEEPEST: usize = 6;

/// Returns the messages, or nothing for JSON that cannot be parsed.
pub fn from_bytes(bytes: &[u8]) -> Option<Value> {
    match bytes.first() {
        // As it is, for seeds and for what no piece leads to.
        Some(b'[' | b'{') => serde_json::from_slice(bytes).ok(),
        _ => Some(put_together(&mut Unstructured::new(bytes))),
    }
}

/// A list of entries of one format, some of them with other values in their places.
fn put_together(bytes: &mut Unstructured<'_>) -> Value {
    let mut messages = Vec::new();
    let of = bytes.choose_index(ENTRIES.len()).unwrap_or_default();
    while !bytes.is_empty() {
        let Ok(text) = bytes.choose(ENTRIES[of]) else { break };
        let mut entry = serde_json::from_str(text).expect("an entry is JSON");
        if bytes.ratio(1, 2).unwrap_or_default() {
            damage(&mut entry, bytes);
        }
        messages.push(entry);
    }
    Value::Array(messages)
}

/// Puts another value somewhere into this one.
fn damage(value: &mut Value, bytes: &mut Unstructured<'_>) {
    let goes_in = bytes.ratio(3, 4).unwrap_or_default();
    match value {
        Value::Array(items) if goes_in && !items.is_empty() => {
            let at = bytes.choose_index(items.len()).unwrap_or_default();
            damage(&mut items[at], bytes);
        }
        Value::Object(fields) if goes_in && !fields.is_empty() => {
            let at = bytes.choose_index(fields.len()).unwrap_or_default();
            damage(fields.values_mut().nth(at).expect("OK because the index was chosen below the length"), bytes);
        }
        Value::Array(items) => items.push(any_value(bytes, DEEPEST)),
        Value::Object(fields) => {
            let name = bytes.choose(NAMES).copied().unwrap_or_default();
            fields.insert(name.to_owned(), any_value(bytes, DEEPEST));
        }
        leaf => *leaf = any_value(bytes, DEEPEST),
    }
}

fn any_value(bytes: &mut Unstructured<'_>, depth: usize) -> Value {
    let kind: u8 = bytes.arbitrary().unwrap_or_default();
    match kind % 8 {
        0 => Value::Null,
        1 => Value::from(kind < 128),
        2 => Value::from(bytes.arbitrary::<i32>().unwrap_or_default()),
        3 | 4 if depth > 0 && !bytes.is_empty() => (0..kind / 64).map(|_| any_value(bytes, depth - 1)).collect(),
        5 if depth > 0 && !bytes.is_empty() => {
            let fields = (0..kind / 64).map(|_| {
                let name = bytes.choose(NAMES).copied().unwrap_or_default();
                (name.to_owned(), any_value(bytes, depth - 1))
            });
            Value::Object(fields.collect())
        }
        6 => Value::from(bytes.arbitrary::<&str>().unwrap_or_default()),
        _ => Value::from(bytes.choose(WORDS).copied().unwrap_or_default()),
    }
}
