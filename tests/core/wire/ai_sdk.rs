//! Model messages of the AI SDK are read as what they are and written with nothing lost.

use crate::support::one_format::{
    assert_edits_change_what_they_name, call, conversation, edit, edited, entries, message, opaque, part, readable,
    said, text, tree,
};
use crate::support::rewrite;
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::error::Error;
use ullage::invariants::Pairs;
use ullage::media::{Media, MediaKind};
use ullage::message::{Document, Item, Outcome, Part, Pin, Role, Signature};
use ullage::wire::{Change, Format, detect_format, format_to_read, item_node, read};

const FORMAT: Format = Format::AiSdk;

fn result(id: &str, tool: Option<&str>, items: Vec<Item<String>>) -> Part<String> {
    Part::Result { id: id.to_owned(), tool: tool.map(str::to_owned), outcome: Outcome::Unknown, items }
}

fn data(text: &str) -> Item<String> {
    Item::Json(text.to_owned())
}

fn unknown(kind: MediaKind) -> Part<String> {
    Part::Media(Media::unknown(kind))
}

fn file(texts: &[&str], media: Vec<Media>) -> Document<String> {
    Document { texts: texts.iter().map(ToString::to_string).collect(), media }
}

fn assistant(parts: &[Value]) -> Value {
    json!({ "role": "assistant", "content": parts })
}

fn tool(part: &Value) -> Value {
    json!({ "role": "tool", "content": [part] })
}

/// A loop of two calls at once, in the words of version 5 or of version 4.
fn tool_loop(version: u8) -> Value {
    let (input, output) = if version == 5 {
        ("input", json!({ "output": { "type": "text", "value": "one" } }))
    } else {
        ("args", json!({ "result": "one" }))
    };
    let call = |id: &str| json!({ "type": "tool-call", "toolCallId": id, "toolName": "list", input: { "dir": "." } });
    let result = |id: &str| {
        let mut part = json!({ "type": "tool-result", "toolCallId": id, "toolName": "list" });
        part.as_object_mut().into_iter().for_each(|part| part.extend(output.as_object().cloned().unwrap_or_default()));
        tool(&part)
    };
    json!([
        { "role": "system", "content": "be brief" },
        { "role": "user", "content": [{ "type": "text", "text": "look" }] },
        assistant(&[json!({ "type": "text", "text": "looking" }), call("a"), call("b")]),
        result("a"),
        result("b"),
        { "role": "user", "content": "thanks" },
    ])
}

#[test]
fn results_in_a_row_are_one_message_with_the_words_behind_them() {
    for version in [4, 5] {
        let messages = tool_loop(version);
        let conversation = conversation(&messages, FORMAT);
        let shape: Vec<_> = conversation
            .messages
            .iter()
            .map(|message| (message.role, message.span.entries(), message.parts.len()))
            .collect();
        assert_eq!(
            shape,
            [(Role::System, 0..1, 1), (Role::User, 1..2, 1), (Role::Assistant, 2..3, 3), (Role::User, 3..6, 3)]
        );
        let pairs = Pairs::of(&conversation);
        let sites: Vec<_> = pairs.calls().iter().map(|call| (call.message, call.part, call.result)).collect();
        assert_eq!(sites, [(2, 1, Some((3, 0))), (2, 2, Some((3, 1)))]);
        assert_eq!(pairs.violations(&conversation), []);
    }
    let [old, new] = [4, 5].map(tool_loop);
    assert_eq!(conversation(&old, FORMAT), conversation(&new, FORMAT));
}

#[test]
fn parts_are_read_as_what_they_are() {
    let signed = |text: &str| Part::Reasoning { text: text.to_owned(), signature: Signature::Signed };
    let plain = |text: &str| Part::Reasoning { text: text.to_owned(), signature: Signature::Unsigned };
    let pages = vec![Media::unknown(MediaKind::Document)];
    for (block, expected) in [
        (json!({ "type": "text", "text": "a", "providerOptions": { "x": {} } }), text("a")),
        (json!({ "type": "image", "image": "https://x/y.png" }), unknown(MediaKind::Image)),
        (json!({ "type": "image", "image": { "type": "url", "url": "https://x/y" } }), unknown(MediaKind::Image)),
        (json!({ "type": "file", "data": "https://x/y", "mediaType": "image/png" }), unknown(MediaKind::Image)),
        (json!({ "type": "file", "data": "https://x/y", "mediaType": "IMAGE/PNG" }), unknown(MediaKind::Image)),
        (json!({ "type": "file", "data": "https://x/y", "mediaType": "audio/wav" }), unknown(MediaKind::Audio)),
        (json!({ "type": "file", "data": "https://x/y", "mimeType": "video/mp4" }), unknown(MediaKind::Video)),
        (
            json!({ "type": "file", "data": "https://x/y", "mediaType": "application/pdf", "filename": "y" }),
            Part::Document(file(&["y"], pages.clone())),
        ),
        (
            json!({ "type": "file", "data": "aGVsbG8gd29ybGQ=", "mediaType": "text/plain" }),
            Part::Document(file(&["hello world"], vec![])),
        ),
        (
            json!({ "type": "file", "data": { "type": "text", "text": "b" }, "mediaType": "text/plain", "filename": "a" }),
            Part::Document(file(&["a", "b"], vec![])),
        ),
        (json!({ "type": "file", "data": 7, "mediaType": 7 }), Part::Document(file(&[], pages))),
        (json!({ "type": "reasoning", "text": "a" }), plain("a")),
        (json!({ "type": "reasoning", "text": "a", "providerOptions": {}, "providerMetadata": null }), plain("a")),
        (json!({ "type": "reasoning", "text": "a", "providerOptions": { "x": {} } }), signed("a")),
        (json!({ "type": "reasoning", "text": "a", "providerMetadata": { "x": {} } }), signed("a")),
        (json!({ "type": "reasoning", "text": "a", "signature": "s" }), signed("a")),
        (json!({ "type": "reasoning", "text": "", "providerOptions": { "x": "y" } }), signed(r#"{"x":"y"}"#)),
        (json!({ "type": "redacted-reasoning", "data": "a" }), signed("a")),
        (
            json!({ "type": "tool-call", "toolCallId": "c", "toolName": "n", "input": { "a": 1 } }),
            call("c", "n", r#"{"a":1}"#),
        ),
        (
            json!({ "type": "tool-call", "toolCallId": "c", "toolName": "n", "args": { "a": 1 } }),
            call("c", "n", r#"{"a":1}"#),
        ),
        (json!({ "type": "tool-call", "toolCallId": "c", "toolName": "n" }), call("c", "n", "")),
        (
            json!({ "type": "tool-call", "toolCallId": "c", "toolName": "n", "input": 1, "providerExecuted": false }),
            call("c", "n", "1"),
        ),
    ] {
        assert_eq!(part(&assistant(std::slice::from_ref(&block)), FORMAT), expected, "{block}");
    }
}

#[test]
fn what_is_unknown_is_kept_whole() {
    for block in [
        json!({ "type": "tool-approval-request", "approvalId": "a", "toolCallId": "c" }),
        json!({ "type": "tool-approval-response", "approvalId": "a", "approved": true }),
        json!({ "type": "hologram", "rays": 7 }),
        json!({ "type": "reasoning", "text": 7 }),
        json!({ "type": "redacted-reasoning" }),
        json!({ "type": "file", "mediaType": "image/png" }),
        json!({ "future": 1 }),
        json!({}),
    ] {
        assert_eq!(part(&assistant(std::slice::from_ref(&block)), FORMAT), opaque(&block));
        assert_eq!(part(&tool(&block), FORMAT), opaque(&block));
    }
}

#[test]
fn what_a_provider_runs_is_opaque_with_its_result() {
    let call = |id: &str| json!({ "type": "tool-call", "toolCallId": id, "toolName": "search", "input": {} });
    let result = json!({ "type": "tool-result", "toolCallId": "a", "toolName": "search", "output": { "type": "text", "value": "x" } });
    let mut marked = call("b");
    marked["providerExecuted"] = json!(true);
    let answer = assistant(&[call("a"), result.clone(), marked.clone(), call("c")]);
    let parts = message(&answer, FORMAT).parts;
    assert_eq!(parts[..3], [opaque(&call("a")), opaque(&result), opaque(&marked)]);
    assert!(matches!(&parts[3], Part::Call { id, .. } if id == "c"));
    let messages = json!([
        answer,
        tool(&{
            let mut result = result;
            result["toolCallId"] = json!("c");
            result
        })
    ]);
    let conversation = conversation(&messages, FORMAT);
    assert_eq!(Pairs::of(&conversation).violations(&conversation), []);
}

#[test]
fn results_are_read_by_what_they_hold() {
    let image = Item::Media(Media::unknown(MediaKind::Image));
    let pages = || vec![Media::unknown(MediaKind::Document)];
    for (fields, expected) in [
        (json!({ "output": { "type": "text", "value": "a" } }), vec![said("a")]),
        (json!({ "output": { "type": "error-text", "value": "a" } }), vec![said("a")]),
        (json!({ "output": { "type": "json", "value": { "a": 1 } } }), vec![data(r#"{"a":1}"#)]),
        (json!({ "output": { "type": "json", "value": "a" } }), vec![said("a")]),
        (json!({ "output": { "type": "error-json", "value": [1] } }), vec![data("[1]")]),
        (
            json!({ "output": { "type": "execution-denied", "reason": "no" } }),
            vec![Item::Opaque(r#"{"type":"execution-denied","reason":"no"}"#.to_owned())],
        ),
        (
            json!({ "output": { "type": "new", "value": 1 } }),
            vec![Item::Opaque(r#"{"type":"new","value":1}"#.to_owned())],
        ),
        (json!({ "output": { "type": "text" } }), vec![Item::Opaque(r#"{"type":"text"}"#.to_owned())]),
        (json!({ "output": "a" }), vec![said("a")]),
        (json!({ "output": 7 }), vec![Item::Opaque("7".to_owned())]),
        (
            json!({ "output": { "type": "content", "value": [
                { "type": "text", "text": "a" },
                { "type": "media", "data": "https://x/y", "mediaType": "image/png" },
                { "type": "image-data", "data": "", "mediaType": "image/png" },
                { "type": "image-url", "url": "https://x/y" },
                { "type": "file-data", "data": "aGVsbG8gd29ybGQ=", "mediaType": "text/plain", "filename": "f" },
                { "type": "file-id", "fileId": "f" },
                { "type": "custom" },
                { "type": "text" },
            ] } }),
            vec![
                said("a"),
                image.clone(),
                image.clone(),
                image.clone(),
                Item::Document(file(&["f", "hello world"], vec![])),
                Item::Document(file(&[], pages())),
                Item::Opaque(r#"{"type":"custom"}"#.to_owned()),
                Item::Opaque(r#"{"type":"text"}"#.to_owned()),
            ],
        ),
        (json!({ "result": "a", "isError": true }), vec![said("a")]),
        (json!({ "result": { "a": 1 } }), vec![data(r#"{"a":1}"#)]),
        (
            json!({ "result": "b", "experimental_content": [{ "type": "text", "text": "a" }, { "type": "image", "data": "" }] }),
            vec![said("a"), image, said("b")],
        ),
        (json!({}), vec![]),
        (json!({ "output": null, "result": null }), vec![]),
    ] {
        let mut block = json!({ "type": "tool-result", "toolCallId": "c", "toolName": "n" });
        block
            .as_object_mut()
            .into_iter()
            .for_each(|block| block.extend(fields.as_object().cloned().unwrap_or_default()));
        assert_eq!(part(&tool(&block), FORMAT), result("c", Some("n"), expected), "{block}");
    }
}

#[test]
fn results_keep_their_shape_when_an_item_is_replaced() {
    let options = json!({ "x": { "cache": 1 } });
    for (fields, at, expected) in [
        (
            json!({ "output": { "type": "text", "value": "old", "providerOptions": options } }),
            0,
            json!({ "output": { "type": "text", "value": "new", "providerOptions": options } }),
        ),
        (
            json!({ "output": { "type": "error-text", "value": "old" } }),
            0,
            json!({ "output": { "type": "error-text", "value": "new" } }),
        ),
        (
            json!({ "output": { "type": "json", "value": { "a": 1 } } }),
            0,
            json!({ "output": { "type": "text", "value": "new" } }),
        ),
        (
            json!({ "output": { "type": "error-json", "value": [] } }),
            0,
            json!({ "output": { "type": "error-text", "value": "new" } }),
        ),
        (
            json!({ "output": { "type": "content", "value": [{ "type": "image-url" }, { "type": "text", "text": "old", "m": 1 }] } }),
            1,
            json!({ "output": { "type": "content", "value": [{ "type": "image-url" }, { "type": "text", "text": "new", "m": 1 }] } }),
        ),
        (json!({ "output": "old" }), 0, json!({ "output": "new" })),
        (json!({ "result": { "a": 1 }, "isError": true }), 0, json!({ "result": "new", "isError": true })),
        (
            json!({ "result": "b", "experimental_content": [{ "type": "text", "text": "old" }] }),
            0,
            json!({ "result": "b", "experimental_content": [{ "type": "text", "text": "new" }] }),
        ),
        (
            json!({ "result": "old", "experimental_content": [{ "type": "text", "text": "a" }] }),
            1,
            json!({ "result": "new", "experimental_content": [{ "type": "text", "text": "a" }] }),
        ),
    ] {
        let with = |fields: &Value| {
            let mut block =
                json!({ "type": "tool-result", "toolCallId": "c", "toolName": "n", "providerOptions": options });
            block
                .as_object_mut()
                .into_iter()
                .for_each(|block| block.extend(fields.as_object().cloned().unwrap_or_default()));
            json!({ "role": "tool", "content": [block], "extra": 1 })
        };
        let old = with(&fields);
        assert_eq!(edited(&json!([old]), FORMAT, &edit(vec![(0, at, "new")], vec![], vec![])), [with(&expected)]);
        if let Some(node) = item_node(&&old, FORMAT, 0, at) {
            assert_eq!(node, "old");
        }
    }
}

#[test]
fn a_result_may_be_a_plain_string_with_its_id_beside_it() {
    for (message, expected) in [
        (
            json!({ "role": "tool", "content": "a", "tool_call_id": "c", "metadata": { "tool_name": "n" } }),
            result("c", Some("n"), vec![said("a")]),
        ),
        (
            json!({ "role": "tool", "content": "a", "toolCallId": "c", "toolName": "n" }),
            result("c", Some("n"), vec![said("a")]),
        ),
        (json!({ "role": "tool", "content": "a" }), result("", None, vec![said("a")])),
        (json!({ "role": "tool", "content": null, "toolCallId": "c" }), result("c", None, vec![])),
        (
            json!({ "role": "tool", "content": [{ "type": "text", "text": "a" }], "toolCallId": "c", "name": "n" }),
            result("c", Some("n"), vec![said("a")]),
        ),
    ] {
        assert_eq!(part(&message, FORMAT), expected, "{message}");
    }
    let old = json!({ "role": "tool", "content": "old", "tool_call_id": "c", "metadata": { "tool_name": "n" } });
    let new = json!({ "role": "tool", "content": "new", "tool_call_id": "c", "metadata": { "tool_name": "n" } });
    assert_eq!(edited(&json!([old]), FORMAT, &edit(vec![(0, 0, "new")], vec![], vec![])), [new]);
    assert_eq!(edited(&json!([old]), FORMAT, &edit(vec![], vec![0], vec![])), Vec::<Value>::new());
    let behind = json!({ "role": "user", "content": "more" });
    assert_eq!(edited(&json!([old]), FORMAT, &edit(vec![], vec![], vec!["more"])), [old, behind]);
}

#[test]
fn a_text_is_put_into_what_the_user_and_the_model_say_and_behind_anything_else() {
    let block = |text: &str| json!({ "type": "text", "text": text });
    for role in ["user", "assistant"] {
        let new = json!({ "role": role, "content": [block("a"), block("b")], "extra": 1 });
        // The string of a user stays one.
        let string = if role == "user" { json!([block("a")]) } else { json!("a") };
        for content in [string, json!([block("a")])] {
            let old = json!({ "role": role, "content": content, "extra": 1 });
            assert_eq!(edited(&json!([old]), FORMAT, &edit(vec![], vec![], vec!["b"])), std::slice::from_ref(&new));
        }
    }
    let behind = json!({ "role": "user", "content": "b" });
    for old in [
        json!({ "role": "system", "content": "a" }),
        tool(&json!({ "type": "tool-result", "toolCallId": "c", "output": { "type": "text", "value": "a" } })),
    ] {
        assert_eq!(edited(&json!([old]), FORMAT, &edit(vec![], vec![], vec!["b"])), [old, behind.clone()]);
    }
}

#[test]
fn nothing_is_left_of_a_message_whose_parts_all_go() {
    let messages = tool_loop(5);
    let conversation = conversation(&messages, FORMAT);
    let all = |message: usize| Change::Edit {
        message,
        items: vec![],
        drop: (0..conversation.messages[message].parts.len()).collect(),
        append: vec![],
        calls: vec![],
    };
    let changes: Vec<Change<'_>> = (0..conversation.messages.len()).map(all).collect();
    assert_eq!(rewrite(&&messages, &conversation, FORMAT, &changes), Ok(vec![]));
    let one = edited(
        &messages,
        FORMAT,
        &Change::Edit { message: 3, items: vec![], drop: vec![1], append: vec![], calls: vec![] },
    );
    let mut expected = messages.as_array().cloned().unwrap_or_default();
    expected.remove(4);
    assert_eq!(one, expected);
}

#[test]
fn a_new_message_is_one_of_the_format() {
    let messages = tool_loop(5);
    let conversation = conversation(&messages, FORMAT);
    for (role, name) in [(Role::User, "user"), (Role::Assistant, "assistant"), (Role::System, "system")] {
        let new = rewrite(&&messages, &conversation, FORMAT, &[Change::Insert { role, text: "a" }]);
        assert_eq!(new, Ok(vec![json!({ "role": name, "content": "a" })]));
    }
}

#[test]
fn pins_are_read() {
    let pinned = json!({ "role": "tool", "content": "a", "metadata": { "custom": { "pinned": true } } });
    assert_eq!(message(&pinned, FORMAT).pin, Pin::Pinned);
}

#[test]
fn the_format_is_detected_by_every_part_that_no_other_has() {
    for block in [
        json!({ "type": "tool-call" }),
        json!({ "type": "tool-result" }),
        json!({ "type": "tool-approval-request" }),
        json!({ "type": "tool-approval-response" }),
        json!({ "type": "reasoning" }),
        json!({ "type": "redacted-reasoning" }),
        json!({ "type": "image", "image": "" }),
        json!({ "type": "file", "data": "" }),
    ] {
        let messages = json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": [block] }]);
        assert_eq!(detect_format(&&messages), Ok(FORMAT), "{block}");
    }
    let beside = json!([{ "role": "tool", "content": "a", "toolCallId": "c" }]);
    assert_eq!(detect_format(&&beside), Ok(FORMAT));
    let as_in_chat = json!([
        { "role": "tool", "content": "a", "tool_call_id": "c" },
        assistant(&[json!({ "type": "tool-call", "toolCallId": "c", "toolName": "n", "args": {} })]),
    ]);
    assert_eq!(detect_format(&&as_in_chat), Ok(FORMAT));
    let chat = json!([
        { "role": "tool", "content": "a", "tool_call_id": "c" },
        { "role": "assistant", "content": null, "tool_calls": [] },
    ]);
    assert_eq!(detect_format(&&chat), Ok(Format::OpenAi));
    let unclear = json!([{ "role": "tool", "content": "a", "tool_call_id": "c" }]);
    assert!(detect_format(&&unclear).is_err());
    assert_eq!(format_to_read(&&unclear), Ok(Format::OpenAi));
}

#[test]
fn what_is_no_message_is_an_error_with_its_index() {
    let fine = json!({ "role": "user", "content": "a" });
    for (wrong, said) in [
        (json!(null), "null"),
        (json!("a"), "a string"),
        (json!({}), "no role"),
        (json!({ "role": 7, "content": "a" }), "no role"),
        (json!({ "role": "developer", "content": "a" }), "'developer'"),
        (json!({ "role": "user" }), "missing"),
        (json!({ "role": "assistant", "content": null }), "missing"),
        (json!({ "role": "user", "content": 7 }), "a number"),
        (json!({ "role": "tool", "content": {} }), "an object"),
        (json!({ "role": "tool", "content": [7] }), "block 0 is a number"),
        (assistant(&[json!({ "type": "tool-call", "toolName": "n" })]), "`toolCallId`"),
        (assistant(&[json!({ "type": "tool-call", "toolCallId": "c", "toolName": 7 })]), "`toolName`"),
        (tool(&json!({ "type": "tool-result", "toolCallId": {} })), "`toolCallId`"),
        (
            tool(&json!({ "type": "tool-result", "toolCallId": "c", "output": { "type": "content", "value": ["a"] } })),
            "block 0 is a string",
        ),
        (assistant(&[json!({ "type": "tool_use" })]), "anthropic"),
        (assistant(&[json!({ "toolUse": {} })]), "bedrock"),
        (assistant(&[json!({ "type": "output_text", "text": "a" })]), "openai-responses"),
    ] {
        let messages = json!([fine, wrong]);
        let result = read(&&messages, FORMAT);
        assert!(
            matches!(&result, Err(error @ Error::Message { index: 1, .. }) if error.to_string().contains(said)),
            "{wrong}: {result:?}"
        );
    }
}

const TYPES: &[&str] = &[
    "text",
    "image",
    "file",
    "reasoning",
    "redacted-reasoning",
    "tool-call",
    "tool-result",
    "tool-approval-request",
    "json",
    "error-text",
    "error-json",
    "execution-denied",
    "content",
    "media",
    "image-data",
    "file-data",
    "exotic",
];
const ROLES: &[&str] = &["user", "assistant", "tool", "system"];
const FIELDS: &[&str] = &[
    "content",
    "text",
    "image",
    "data",
    "mediaType",
    "filename",
    "providerOptions",
    "providerMetadata",
    "toolCallId",
    "tool_call_id",
    "toolName",
    "input",
    "args",
    "output",
    "value",
    "result",
    "experimental_content",
    "providerExecuted",
    "metadata",
    "url",
];

/// Messages whose parts have the fields that they need, and others.
fn messages() -> impl Strategy<Value = Vec<Value>> {
    let parts = || entries(TYPES, ROLES, FIELDS);
    let message = (proptest::sample::select(ROLES), parts(), parts(), tree(TYPES, ROLES, FIELDS), 0..4);
    let message = message.prop_map(|(role, mut parts, list, value, kind)| {
        for part in &mut parts {
            let name = part["type"].as_str().unwrap_or_default().to_owned();
            if name != "tool-call" && name != "tool-result" {
                continue;
            }
            part["toolCallId"] = json!("c");
            part["toolName"] = json!("n");
            // Else it would become a call again when its result in the same message goes.
            part["providerExecuted"] = json!(name == "tool-call" && role == "assistant");
            match kind {
                0 => part["output"] = json!({ "type": "content", "value": list }),
                1 => part["output"] = json!({ "type": "error-json", "value": value }),
                2 => part["output"] = value.clone(),
                _ => {
                    part["output"] = json!(null);
                    part["result"] = value.clone();
                    part["experimental_content"] = json!(list);
                }
            }
        }
        json!({ "role": role, "content": parts })
    });
    proptest::collection::vec(message, 0..5)
}

proptest! {
    #![proptest_config(crate::support::cases(1_500))]

    #[test]
    fn any_tree_is_read_or_refused(
        tree in tree(TYPES, ROLES, FIELDS),
        loose in entries(TYPES, ROLES, FIELDS),
        messages in messages(),
    ) {
        for tree in [tree, Value::Array(loose), Value::Array(messages)] {
            let _ = detect_format(&&tree);
            if let Err(error) = read(&&tree, FORMAT) {
                let is_of_list = matches!(error, Error::Message { .. }) || !tree.is_array();
                prop_assert!(is_of_list, "{error}");
            }
        }
    }

    #[test]
    fn an_edit_changes_what_it_names_and_nothing_else(
        messages in messages(),
        loose in entries(TYPES, &["user", "tool", "system"], FIELDS),
    ) {
        for messages in [messages, loose] {
            assert_edits_change_what_they_name(&readable(messages, FORMAT), FORMAT);
        }
    }
}
