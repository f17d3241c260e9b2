//! Code shared by the tests of a single format: reading into owned values, editing one message, and checking an edit.

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use ullage::message::{Conversation, Document, Item, Message, Outcome, Part};
use ullage::wire::{Arguments, Change, Format, Step, item_node, read};

use super::rewrite;

/// Texts that a tree may hold.
const WORDS: &[&str] = &["", "a", "b", "{\"a\": 1}", "data:image/png;base64,AAAA", "https://x/y", "\u{0}\u{1F600}"];

pub fn conversation(entries: &Value, format: Format) -> Conversation<Cow<'_, str>> {
    read(&entries, format).unwrap_or_else(|error| panic!("{entries}: {error}"))
}

/// The only message of a list of one entry.
pub fn message(entry: &Value, format: Format) -> Message<String> {
    let entries = json!([entry]);
    let mut messages = conversation(&entries, format).messages;
    assert_eq!(messages.len(), 1, "{entry}");
    let message = messages.swap_remove(0);
    let parts = message.parts.iter().map(owned).collect();
    Message { span: message.span, role: message.role, parts, pin: message.pin, ties: vec![] }
}

/// The only part of that message.
pub fn part(entry: &Value, format: Format) -> Part<String> {
    let mut message = message(entry, format);
    assert_eq!(message.parts.len(), 1, "{entry}");
    message.parts.swap_remove(0)
}

fn owned(part: &Part<Cow<'_, str>>) -> Part<String> {
    let own = |text: &Cow<'_, str>| text.to_string();
    let document = |document: &Document<Cow<'_, str>>| Document {
        texts: document.texts.iter().map(own).collect(),
        media: document.media.clone(),
    };
    match part {
        Part::Text(text) => Part::Text(own(text)),
        Part::Reasoning { text, signature } => Part::Reasoning { text: own(text), signature: *signature },
        Part::Call { id, name, input } => Part::Call { id: own(id), name: own(name), input: own(input) },
        Part::Result { id, tool, items, .. } => Part::Result {
            outcome: Outcome::Unknown,
            id: own(id),
            tool: tool.as_ref().map(own),
            items: items
                .iter()
                .map(|item| match item {
                    Item::Text(text) => Item::Text(own(text)),
                    Item::Json(text) => Item::Json(own(text)),
                    Item::Opaque(text) => Item::Opaque(own(text)),
                    Item::Media(media) => Item::Media(*media),
                    Item::Document(of) => Item::Document(document(of)),
                })
                .collect(),
        },
        Part::Media(media) => Part::Media(*media),
        Part::Document(of) => Part::Document(document(of)),
        Part::CachePoint => Part::CachePoint,
        Part::Opaque(text) => Part::Opaque(own(text)),
    }
}

pub fn text(text: &str) -> Part<String> {
    Part::Text(text.to_owned())
}

pub fn opaque(value: &Value) -> Part<String> {
    Part::Opaque(value.to_string())
}

pub fn call(id: &str, name: &str, input: &str) -> Part<String> {
    Part::Call { id: id.to_owned(), name: name.to_owned(), input: input.to_owned() }
}

pub fn said(text: &str) -> Item<String> {
    Item::Text(text.to_owned())
}

/// An edit of the first message.
pub fn edit<'a>(items: Vec<(usize, usize, &'a str)>, drop: Vec<usize>, append: Vec<&'a str>) -> Change<'a> {
    Change::Edit { message: 0, items, drop, append, calls: vec![] }
}

/// The list with one message changed.
pub fn edited(entries: &Value, format: Format, change: &Change<'_>) -> Vec<Value> {
    let conversation = conversation(entries, format);
    let changes: Vec<Change<'_>> = (0..conversation.messages.len())
        .map(|message| match change {
            Change::Edit { message: of, .. } if *of == message => change.clone(),
            _ => Change::Keep { message },
        })
        .collect();
    rewrite(&entries, &conversation, format, &changes).unwrap()
}

/// Other arguments for a call, whose first text is another one; `None` where it has none.
fn arguments(input: &str) -> Option<Arguments> {
    const NEW: &str = "new";
    let Ok(Value::Object(mut fields)) = serde_json::from_str(input) else { return None };
    let (name, text) = fields.iter_mut().find(|(_, value)| value.is_string())?;
    let steps = vec![Step::Field(name.clone())];
    *text = json!(NEW);
    Some(Arguments { input: Value::Object(fields).to_string(), texts: vec![(steps, NEW.to_owned())] })
}

/// Entries with a type, a role, and fields that hold anything.
pub fn entries(
    types: &'static [&str],
    roles: &'static [&str],
    fields: &'static [&str],
) -> impl Strategy<Value = Vec<Value>> {
    proptest::collection::vec(map_of(types, roles, fields, tree(types, roles, fields)), 0..6)
}

/// Any JSON, with the names of the format in it.
pub fn tree(
    types: &'static [&str],
    roles: &'static [&str],
    fields: &'static [&str],
) -> impl Strategy<Value = Value> + Clone {
    let leaf = prop_oneof![
        6 => proptest::sample::select(WORDS).prop_map(|word| json!(word)),
        1 => Just(json!(null)),
        1 => Just(json!(7)),
        1 => Just(json!(true)),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array);
        prop_oneof![1 => list, 3 => map_of(types, roles, fields, inner)]
    })
}

fn map_of(
    types: &'static [&str],
    roles: &'static [&str],
    fields: &'static [&str],
    inner: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Value> {
    let some = |share: f64, names| proptest::option::weighted(share, proptest::sample::select(names));
    let fields = proptest::collection::vec((proptest::sample::select(fields), inner), 0..5);
    (some(0.8, types), some(0.3, roles), fields).prop_map(|(name, role, fields)| {
        let mut map: Map<String, Value> = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        map.extend(name.map(|name| ("type".to_owned(), json!(name))));
        map.extend(role.map(|role| ("role".to_owned(), json!(role))));
        Value::Object(map)
    })
}

/// The list without the entries that are refused.
pub fn readable(entries: Vec<Value>, format: Format) -> Value {
    entries.into_iter().filter(|entry| read(&&json!([entry]), format).is_ok()).collect()
}

fn all_parts(entries: &Value, format: Format) -> Vec<Part<String>> {
    conversation(entries, format).messages.iter().flat_map(|message| message.parts.iter().map(owned)).collect()
}

/// Drops every part, replaces every item and appends to every message, one at a time: each time the list reads as before,
/// but for that.
pub fn assert_edits_change_what_they_name(entries: &Value, format: Format) {
    let before = conversation(entries, format);
    let parts = all_parts(entries, format);
    let after = |change: Change<'_>| all_parts(&Value::Array(edited(entries, format, &change)), format);
    let mut first = 0;
    for (index, message) in before.messages.iter().enumerate() {
        let change = |items, drop, append| Change::Edit { message: index, items, drop, append, calls: vec![] };
        for (at, part) in message.parts.iter().enumerate() {
            let mut expected = parts.clone();
            expected.remove(first + at);
            assert_eq!(after(change(vec![], vec![at], vec![])), expected, "{entries}");
            if let Part::Call { input, .. } = part {
                let Some(arguments) = arguments(input) else { continue };
                let mut expected = parts.clone();
                if let Part::Call { input, .. } = &mut expected[first + at] {
                    input.clone_from(&arguments.input);
                }
                let calls = vec![(at, &arguments)];
                let edit = Change::Edit { message: index, items: vec![], drop: vec![], append: vec![], calls };
                assert_eq!(after(edit), expected, "{entries}");
            }
            let Part::Result { items, .. } = part else { continue };
            for (item, old) in items.iter().enumerate() {
                let (entry, start) = message.span.entry_of(at);
                let node = item_node(&&entries[entry], format, at - start, item);
                match old {
                    Item::Text(text) => assert!(node.is_some_and(|node| node == text.as_ref()), "{entries}"),
                    Item::Json(_) => assert_eq!(node, None, "{entries}"),
                    Item::Media(_) | Item::Document(_) | Item::Opaque(_) => continue,
                }
                let mut expected = parts.clone();
                if let Part::Result { items, .. } = &mut expected[first + at] {
                    items[item] = said("new");
                }
                assert_eq!(after(change(vec![(at, item, "new")], vec![], vec![])), expected, "{entries}");
            }
        }
        first += message.parts.len();
        let mut expected = parts.clone();
        expected.insert(first, text("more"));
        assert_eq!(after(change(vec![], vec![], vec!["more"])), expected, "{entries}");
    }
    let kept: Vec<Change<'_>> = (0..before.messages.len()).map(|message| Change::Keep { message }).collect();
    assert_eq!(Value::Array(rewrite(&entries, &before, format, &kept).unwrap()), *entries);
}
