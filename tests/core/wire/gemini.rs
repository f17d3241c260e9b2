//! Gemini's contents, in both spellings: every kind of part is read, and what changes is all that changes.

use crate::support::rewrite;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use ullage::error::Error;
use ullage::invariants::{CutPoints, Pairs};
use ullage::ledger::fingerprint;
use ullage::media::{Media, MediaKind, Size};
use ullage::message::{Conversation, Document, Item, Outcome, Part, Pin, Role, Signature};
use ullage::wire::{Change, Format, detect_format, item_node, read};

const GEMINI: Format = Format::Gemini;

/// The names that the API spells in camel case.
const SNAKE: [&str; 16] = [
    "function_call",
    "function_response",
    "inline_data",
    "file_data",
    "file_uri",
    "mime_type",
    "display_name",
    "thought_signature",
    "executable_code",
    "code_execution_result",
    "tool_call",
    "tool_response",
    "will_continue",
    "part_metadata",
    "video_metadata",
    "tool_type",
];

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap().to_owned();
    words.fold(first, |out, word| out + &word[..1].to_uppercase() + &word[1..])
}

/// The same value with the names of the format in camel case.
fn in_camel(value: &Value) -> Value {
    let named = |name: &String| if SNAKE.contains(&&**name) { camel(name) } else { name.clone() };
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (named(name), in_camel(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(in_camel).collect(),
        other => other.clone(),
    }
}

fn text_of(text: &str) -> Part<String> {
    Part::Text(text.to_owned())
}

fn owned<T: ullage::message::Text>(part: &Part<T>) -> Part<String> {
    let own = |text: &T| text.to_string();
    let document = |it: &Document<T>| Document { texts: it.texts.iter().map(own).collect(), media: it.media.clone() };
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
                    Item::Document(it) => Item::Document(document(it)),
                })
                .collect(),
        },
        Part::Media(media) => Part::Media(*media),
        Part::Document(it) => Part::Document(document(it)),
        Part::CachePoint => Part::CachePoint,
        Part::Opaque(text) => Part::Opaque(own(text)),
    }
}

/// The part that a value is read as. It must be the same in both spellings.
fn part(value: &Value) -> Part<String> {
    let read_one = |value: &Value| {
        let messages = json!([{ "role": "user", "parts": [value] }]);
        let conversation = read(&&messages, GEMINI).unwrap();
        let [part] = &conversation.messages[0].parts[..] else { panic!("one part is one part") };
        owned(part)
    };
    let (snake, camel) = (read_one(value), read_one(&in_camel(value)));
    if !matches!(snake, Part::Opaque(_)) {
        assert_eq!(snake, camel, "{value}");
    }
    snake
}

fn content(role: &str, parts: &Value) -> Value {
    json!({ "role": role, "parts": parts })
}

fn png(width: u32, height: u32) -> String {
    let dimensions = [width.to_be_bytes(), height.to_be_bytes()].concat();
    STANDARD.encode([b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &*dimensions, b"\x08\x02\0\0\0", &[0; 40]].concat())
}

#[test]
fn every_kind_of_words_is_read() {
    let reasoning = |signature| Part::Reasoning { text: "hm".to_owned(), signature };
    for (value, expected) in [
        (json!({ "text": "a" }), text_of("a")),
        (json!({ "text": "" }), text_of("")),
        (json!({ "text": "a", "thought": false, "thought_signature": "c2ln" }), text_of("a")),
        (json!({ "text": "a", "thought": null, "function_call": null, "inline_data": null }), text_of("a")),
        (json!({ "text": "hm", "thought": true }), reasoning(Signature::Unsigned)),
        (json!({ "text": "hm", "thought": true, "thought_signature": null }), reasoning(Signature::Unsigned)),
        (json!({ "text": "hm", "thought": true, "thought_signature": "" }), reasoning(Signature::Unsigned)),
        (json!({ "text": "hm", "thought": true, "thought_signature": "c2ln" }), reasoning(Signature::Signed)),
    ] {
        assert_eq!(part(&value), expected, "{value}");
    }
}

#[test]
fn calls_are_read_with_and_without_ids() {
    let call =
        |id: &str, input: &str| Part::Call { id: id.to_owned(), name: "bash".to_owned(), input: input.to_owned() };
    for (value, expected) in [
        (json!({ "id": "1", "name": "bash", "args": { "b": 1, "a": [null] } }), call("1", r#"{"b":1,"a":[null]}"#)),
        (json!({ "name": "bash", "args": {} }), call("", "{}")),
        (json!({ "id": null, "name": "bash", "args": null, "will_continue": false }), call("", "")),
        (json!({ "id": "", "name": "bash" }), call("", "")),
    ] {
        // A text beside it is empty at most, and a signature travels with the call.
        let beside = json!({ "text": "", "function_call": value, "thought_signature": "c2ln", "thought": null });
        assert_eq!(part(&json!({ "function_call": value })), expected, "{value}");
        assert_eq!(part(&beside), expected, "{value}");
    }
}

#[test]
fn a_response_that_is_one_string_in_a_wrapper_reads_as_that_string() {
    let items = |response: &Value| match part(&json!({ "function_response": { "name": "bash", "response": response } }))
    {
        Part::Result { id, tool, items, .. } if id.is_empty() && tool.as_deref() == Some("bash") => items,
        other => panic!("{other:?}"),
    };
    for wrapper in ["result", "output", "error"] {
        assert_eq!(items(&json!({ wrapper: "done\n\"so\"" })), [Item::Text("done\n\"so\"".to_owned())]);
    }
    for whole in [
        json!({ "result": { "rows": [1, 2] } }),
        json!({ "result": 7 }),
        json!({ "result": null }),
        json!({ "result": "a", "status": "ok" }),
        json!({ "text": "a" }),
        json!({ "result": "a", "error": "b" }),
        json!({}),
        json!("bare"),
        json!([1, "a"]),
    ] {
        assert_eq!(items(&whole), [Item::Json(whole.to_string())]);
    }
    assert_eq!(items(&Value::Null), []);
}

#[test]
fn media_beside_a_response_are_further_items() {
    let value = json!({ "function_response": {
        "id": "1", "name": "look", "response": { "output": "see" }, "scheduling": "SILENT",
        "parts": [
            { "inline_data": { "mime_type": "image/png", "data": png(640, 480), "display_name": "a.png" } },
            { "file_data": { "mime_type": "application/pdf", "file_uri": "gs://bucket/b.pdf", "display_name": "b.pdf" } },
            { "future": 1 },
        ],
    } });
    let pdf = Document { texts: vec!["b.pdf".to_owned()], media: vec![Media::unknown(MediaKind::Document)] };
    let items = vec![
        Item::Text("see".to_owned()),
        Item::Media(Media { kind: MediaKind::Image, size: Size::Pixels { width: 640, height: 480 } }),
        Item::Document(pdf),
        Item::Opaque(r#"{"future":1}"#.to_owned()),
    ];
    assert_eq!(
        part(&value),
        Part::Result { id: "1".to_owned(), tool: Some("look".to_owned()), outcome: Outcome::Unknown, items }
    );
}

#[test]
fn attached_content_is_what_its_type_says() {
    let inline = |mime: &str, data: String| part(&json!({ "inline_data": { "mime_type": mime, "data": data } }));
    let known = |kind, size| Part::Media(Media { kind, size });
    let image = known(MediaKind::Image, Size::Pixels { width: 30, height: 20 });
    assert_eq!(inline("image/png", png(30, 20)), image);
    assert_eq!(inline("IMAGE/PNG", png(30, 20)), image);
    let sound = STANDARD.encode(vec![7; 64_000]);
    for (mime, kind) in [("audio/mp3", MediaKind::Audio), ("video/mp4", MediaKind::Video)] {
        let read = inline(mime, sound.clone());
        assert!(matches!(&read, Part::Media(Media { kind: of, size: Size::Seconds(_) }) if *of == kind), "{read:?}");
        let elsewhere = json!({ "file_data": { "mime_type": mime, "file_uri": "https://example.org/a" } });
        assert_eq!(part(&elsewhere), Part::Media(Media::unknown(kind)));
    }
    let words = Document { texts: vec!["notes.md".to_owned(), "# Notes".to_owned()], media: vec![] };
    let notes = json!({ "mime_type": "text/markdown", "data": STANDARD.encode("# Notes"), "display_name": "notes.md" });
    assert_eq!(part(&json!({ "inline_data": notes })), Part::Document(words));
    let unknown = Document { texts: vec![], media: vec![Media::unknown(MediaKind::Document)] };
    for bare in [
        json!({ "inline_data": {} }),
        json!({ "inline_data": { "mime_type": "application/pdf", "data": null } }),
        json!({ "file_data": { "file_uri": "https://example.org/a" } }),
        json!({ "file_data": { "mime_type": "text/plain", "file_uri": "files/abc" } }),
    ] {
        assert_eq!(part(&bare), Part::Document(unknown.clone()), "{bare}");
    }
    let nothing = part(&json!({ "inline_data": { "mime_type": "image/png" } }));
    assert_eq!(nothing, Part::Media(Media::unknown(MediaKind::Image)));
}

#[test]
fn what_is_not_understood_is_kept_whole() {
    let parts = json!([
        { "executable_code": { "code": "print(1)", "language": "PYTHON" } },
        { "codeExecutionResult": { "outcome": "OUTCOME_OK", "output": "1\n" } },
        { "tool_call": { "id": "s1", "tool_type": "GOOGLE_SEARCH_WEB", "args": { "q": null } } },
        { "toolResponse": { "id": "s1", "response": {} } },
        { "thoughtSignature": "c2ln" },
        { "future": { "words": "here" } },
        { "function_call": "no call" },
        { "function_response": 7 },
        { "inline_data": [1] },
        { "text": 7 },
        { "toolUse": { "toolUseId": "1", "name": "of another format" } },
        {},
    ]);
    let messages = json!([content("model", &parts), content("user", &json!([{ "text": "go on" }]))]);
    let conversation = read(&&messages, GEMINI).unwrap();
    let expected: Vec<_> = parts.as_array().unwrap().iter().map(|part| Part::Opaque(part.to_string())).collect();
    assert_eq!(conversation.messages[0].parts.iter().map(owned).collect::<Vec<_>>(), expected);
    let edit = Change::Edit { message: 0, items: vec![], drop: vec![4], append: vec!["more"], calls: vec![] };
    let out = rewrite(&&messages, &conversation, GEMINI, &[edit, Change::Keep { message: 1 }]).unwrap();
    let mut left = parts.as_array().unwrap().clone();
    left.remove(4);
    left.push(json!({ "text": "more" }));
    assert_eq!(out, [content("model", &left.into()), messages[1].clone()]);
}

#[test]
fn a_missing_role_is_the_users() {
    let one = json!([{ "text": "a" }]);
    for (message, role) in [
        (content("user", &one), Role::User),
        (content("model", &one), Role::Assistant),
        (content("function", &one), Role::User),
        (content("tool", &one), Role::User),
        (content("system", &one), Role::System),
        (json!({ "parts": one }), Role::User),
        (json!({ "role": null, "parts": one }), Role::User),
    ] {
        let messages = json!([message]);
        assert_eq!(detect_format(&&messages), Ok(GEMINI), "{messages}");
        let conversation = read(&&messages, GEMINI).unwrap();
        assert_eq!(conversation.messages[0].role, role, "{messages}");
        assert_eq!(conversation.messages[0].parts.len(), 1);
    }
    for silent in
        [json!({ "role": "model" }), json!({ "role": "model", "parts": null }), json!({ "role": "model", "parts": [] })]
    {
        assert_eq!(read(&&json!([silent]), GEMINI).unwrap().messages[0].parts.len(), 0);
    }
    let pinned = json!([{ "parts": one, "metadata": { "custom": { "pinned": true } } }]);
    assert_eq!(read(&&pinned, GEMINI).unwrap().messages[0].pin, Pin::Pinned);
}

#[test]
fn what_is_no_content_is_an_error_with_its_index() {
    let fine = content("user", &json!([{ "text": "a" }]));
    for (wrong, said) in [
        (json!(null), "null"),
        (json!("hello"), "a string"),
        (json!({}), "`parts` are missing"),
        (json!({ "role": "user", "content": "a" }), "`parts` are missing"),
        (content("user", &json!("a")), "a string"),
        (content("user", &json!({ "text": "a" })), "an object"),
        (content("user", &json!(["a"])), "block 0 is a string"),
        (content("user", &json!([{ "text": "a" }, null])), "block 1 is null"),
        (content("assistant", &json!([])), "'assistant'"),
        (json!({ "role": 7, "parts": [] }), "no role"),
        (content("model", &json!([{ "functionCall": {} }])), "`name`"),
        (content("model", &json!([{ "functionCall": { "name": 7 } }])), "`name`"),
        (content("model", &json!([{ "function_call": { "name": "a", "id": 7 } }])), "`id`"),
        (content("user", &json!([{ "functionResponse": { "id": [] } }])), "`id`"),
        (content("user", &json!([{ "functionResponse": { "parts": 7 } }])), "a number"),
        (content("user", &json!([{ "functionResponse": { "parts": [7] } }])), "block 0 is a number"),
    ] {
        let error = read(&&json!([fine, wrong]), GEMINI).unwrap_err();
        let placed = matches!(&error, Error::Message { index: 1, .. });
        assert!(placed && error.to_string().contains(said), "{wrong}: {error}");
    }
}

/// A task, a round of parallel calls, and fields that ullage does not know at every level.
fn history() -> Value {
    json!([
        { "role": "user", "parts": [{ "text": "go", "x": 1 }], "x": 2 },
        { "role": "model", "parts": [
            { "text": "hm", "thought": true },
            { "function_call": { "name": "bash", "args": { "n": 1 }, "x": 3 }, "thought_signature": "c2ln" },
            { "function_call": { "name": "list", "args": {} } },
        ] },
        { "role": "user", "x": 4, "parts": [
            { "function_response": { "name": "bash", "response": { "output": "a long text" }, "x": 5 }, "x": 6 },
            { "function_response": { "name": "list", "scheduling": "SILENT", "response": { "rows": [1, 2] } } },
        ] },
    ])
}

#[test]
fn a_shortened_response_keeps_its_wrapper_and_everything_beside_it() {
    for messages in [history(), in_camel(&history())] {
        let conversation = read(&&messages, GEMINI).unwrap();
        let items = vec![(0, 0, "short"), (1, 0, "two rows")];
        let edit = Change::Edit { message: 2, items, drop: vec![], append: vec!["a note"], calls: vec![] };
        let out = rewrite(
            &&messages,
            &conversation,
            GEMINI,
            &[Change::Keep { message: 0 }, Change::Keep { message: 1 }, edit],
        );
        let key =
            if messages[2]["parts"][0].get("function_response").is_some() { SNAKE[1] } else { "functionResponse" };
        let mut expected = messages.clone();
        expected[2]["parts"][0][key]["response"]["output"] = json!("short");
        expected[2]["parts"][1][key]["response"] = json!({ "result": "two rows" });
        // Vertex AI refuses a text beside results.
        expected.as_array_mut().unwrap().push(content("user", &json!([{ "text": "a note" }])));
        assert_eq!(Value::from(out.unwrap()), expected);
        // The text that was put there is read again.
        let again = read(&&expected, GEMINI).unwrap();
        for (part, text) in ["short", "two rows"].into_iter().enumerate() {
            let Part::Result { items, .. } = owned(&again.messages[2].parts[part]) else { panic!("still a result") };
            assert_eq!(items, [Item::Text(text.to_owned())]);
        }
    }
}

#[test]
fn a_new_content_has_the_role_that_the_api_knows() {
    let messages = history();
    let conversation = read(&&messages, GEMINI).unwrap();
    let inserts = [Role::User, Role::Assistant].map(|role| Change::Insert { role, text: "a note" });
    let out = rewrite(&&messages, &conversation, GEMINI, &inserts).unwrap();
    assert_eq!(out, ["user", "model"].map(|role| content(role, &json!([{ "text": "a note" }]))));
}

#[test]
fn the_string_of_a_response_is_found_for_storing() {
    for messages in [history(), in_camel(&history())] {
        let results = &messages[2];
        assert_eq!(item_node(&results, GEMINI, 0, 0), Some(&json!("a long text")));
        assert_eq!(item_node(&results, GEMINI, 1, 0), None);
        assert_eq!(item_node(&&messages[0], GEMINI, 0, 0), None);
        assert_eq!(item_node(&results, GEMINI, 9, 0), None);
    }
}

#[test]
fn both_spellings_read_the_same() {
    let (snake, camel) = (history(), in_camel(&history()));
    assert_ne!(snake, camel);
    let (snake, camel) = (read(&&snake, GEMINI).unwrap(), read(&&camel, GEMINI).unwrap());
    assert_eq!(snake, camel);
    assert_eq!(fingerprint(&snake), fingerprint(&camel));
}

/// A host that keeps a content for each event has parallel calls, and their results, in several.
#[test]
fn results_in_contents_of_their_own_answer_together() {
    let call = |name: &str| json!([{ "function_call": { "name": name } }]);
    let result = |name: &str| json!({ "function_response": { "name": name, "response": { "result": "ok" } } });
    let mut messages = json!([
        content("user", &json!([{ "text": "go" }])),
        content("model", &call("a")),
        content("model", &call("b")),
        content("user", &json!([result("a")])),
        content("user", &json!([result("b")])),
        content("user", &json!([{ "text": "and now?" }])),
    ]);
    let check = |messages: &Value| {
        let conversation = read(&messages, GEMINI).unwrap();
        let spans: Vec<_> = conversation.messages.iter().map(|message| message.span.entries()).collect();
        // Words behind results are one message with them, as where roles alternate.
        assert_eq!(spans, [0..1, 1..3, 3..6]);
        assert_eq!(Pairs::of(&conversation).violations(&conversation), []);
    };
    check(&messages);
    // A field that a host adds beside one of them separates nothing.
    messages[4]["parts"].as_array_mut().unwrap().push(json!({ "text": "beside" }));
    check(&messages);
}

/// Any JSON of the names that the format has, and some values that mean something to it.
fn any_json() -> impl Strategy<Value = Value> {
    let names = SNAKE.iter().flat_map(|name| [(*name).to_owned(), camel(name)]);
    let plain = ["role", "parts", "text", "thought", "id", "name", "args", "response", "result", "output", "error"];
    let rest = ["data", "content", "type", "metadata", "custom", "pinned", "url", "bytes", "future"];
    let names: Vec<String> = names.chain(plain.into_iter().chain(rest).map(str::to_owned)).collect();
    let words = ["", "user", "model", "image/png", "text/plain", "video/", "/", "a", "iVBORw0KGgo=", "data:,a", "ÿ"];
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i8>().prop_map(Value::from),
        3 => prop::sample::select(words.to_vec()).prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 4, move |inner| {
        let fields = vec((prop::sample::select(names.clone()), inner.clone()), 0..5);
        prop_oneof![
            2 => vec(inner, 0..4).prop_map(Value::from),
            5 => fields.prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A map with some of these fields, each of the right form or any.
fn some_of(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let each: Vec<_> = fields
        .into_iter()
        .map(|(name, right)| {
            let value = prop_oneof![6 => Just(None), 40 => right.prop_map(Some), 1 => any_json().prop_map(Some)];
            (any::<bool>(), value)
                .prop_map(move |(spelling, value)| {
                    let name = if spelling { camel(name) } else { name.to_owned() };
                    value.map(|value| (name, value))
                })
                .boxed()
        })
        .collect();
    each.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect())).boxed()
}

fn one_of(values: &'static [&'static str]) -> BoxedStrategy<Value> {
    prop::sample::select(values).prop_map(Value::from).boxed()
}

fn any_content() -> BoxedStrategy<Value> {
    let text = || one_of(&["", "a", "some words"]);
    let blob = || {
        let mime = one_of(&["image/png", "audio/wav", "application/pdf", "text/plain", "x"]);
        let data = prop_oneof![Just(Value::from(png(9, 9))), text()].boxed();
        some_of(vec![("mime_type", mime), ("data", data), ("display_name", text()), ("file_uri", text())])
    };
    let attached = || some_of(vec![("inline_data", blob()), ("file_data", blob())]);
    let returned = prop_oneof![any_json(), text().prop_map(|text| json!({ "result": text }))].boxed();
    let call = some_of(vec![("id", text()), ("name", one_of(&["a", "b"])), ("args", any_json().boxed())]);
    let response = some_of(vec![
        ("id", text()),
        ("name", one_of(&["a", "b"])),
        ("response", returned),
        ("parts", vec(attached(), 0..2).prop_map(Value::from).boxed()),
    ]);
    let part = prop_oneof![
        2 => some_of(vec![("text", text()), ("thought", Just(json!(true)).boxed()), ("thought_signature", text())]),
        2 => some_of(vec![("function_call", call)]),
        3 => some_of(vec![("function_response", response)]),
        1 => attached(),
        1 => any_json(),
    ];
    let role = one_of(&["user", "model", "function", "tool", "system"]);
    some_of(vec![("role", role), ("parts", vec(part, 0..4).prop_map(Value::from).boxed())])
}

/// Reads, judges and rewrites `messages` in every way; what is written must read again.
fn use_it(messages: &Value) {
    let _ = detect_format(&messages);
    let Ok(conversation) = read(&messages, GEMINI) else { return };
    let pairs = Pairs::of(&conversation);
    let _ = (pairs.violations(&conversation), CutPoints::of(&conversation, &pairs));
    let kept: Vec<_> = (0..conversation.messages.len()).map(|message| Change::Keep { message }).collect();
    let same = rewrite(&messages, &conversation, GEMINI, &kept).unwrap();
    assert_eq!(&Value::from(same), messages);
    let out = Value::from(rewrite(&messages, &conversation, GEMINI, &edits(&conversation)).unwrap());
    let note = text_of("a note");
    let again = read(&&out, GEMINI).unwrap();
    let written: Vec<_> = again.messages.iter().flat_map(|message| &message.parts).map(owned).collect();
    assert_eq!(written.iter().filter(|part| **part == note).count(), conversation.messages.len());
    let expected = conversation.messages.iter().flat_map(|message| &message.parts).map(|part| match owned(part) {
        Part::Result { id, tool, outcome, items } => {
            let short = |item| match item {
                Item::Text(_) | Item::Json(_) => Item::Text("short".to_owned()),
                other => other,
            };
            Part::Result { id, tool, outcome, items: items.into_iter().map(short).collect() }
        }
        other => other,
    });
    let left: Vec<_> = written.into_iter().filter(|part| *part != note).collect();
    assert_eq!(left, expected.collect::<Vec<_>>(), "{messages}\n{out}");
    for entry in out.as_array().unwrap() {
        let alone = json!([entry]);
        let alone = read(&&alone, GEMINI).unwrap();
        let parts: Vec<_> = alone.messages[0].parts.iter().map(owned).collect();
        let results = parts.iter().any(|part| matches!(part, Part::Result { .. }));
        assert!(!(results && parts.contains(&note)), "{entry}");
    }
}

/// Every item that a plan may shorten, shortened, and a note in every message.
fn edits<T: ullage::message::Text>(conversation: &Conversation<T>) -> Vec<Change<'static>> {
    let messages = conversation.messages.iter().enumerate();
    messages
        .map(|(message, content)| {
            let mut items = Vec::new();
            for (part, block) in content.parts.iter().enumerate() {
                let Part::Result { items: pieces, .. } = block else { continue };
                let shortened = pieces.iter().enumerate().filter(|(_, it)| matches!(it, Item::Text(_) | Item::Json(_)));
                items.extend(shortened.map(|(item, _)| (part, item, "short")));
            }
            Change::Edit { message, items, drop: vec![], append: vec!["a note"], calls: vec![] }
        })
        .collect()
}

proptest! {
    // Cheap, and the mistakes worth finding are in pairs of odd values.
    #![proptest_config(crate::support::cases(2_000))]

    #[test]
    fn contents_that_are_nearly_right_are_refused_or_read_and_written(messages in vec(any_content(), 0..5)) {
        use_it(&Value::from(messages));
    }

    #[test]
    fn any_json_is_refused_or_read_and_written(messages in vec(any_json(), 0..5), whole in any_json()) {
        use_it(&Value::from(messages));
        use_it(&whole);
    }
}
