//! Items of OpenAI Responses are read as what they are and written with nothing lost.

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

const FORMAT: Format = Format::OpenAiResponses;

fn result(id: &str, items: Vec<Item<String>>) -> Part<String> {
    Part::Result { id: id.to_owned(), tool: None, outcome: Outcome::Unknown, items }
}

/// A tool loop with everything in it: two calls at once, a person's words between the answers of two turns.
fn tool_loop() -> Value {
    json!([
        { "role": "developer", "content": "be brief" },
        { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "look" }] },
        { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" },
        { "type": "function_call", "id": "fc_1", "call_id": "a", "name": "list", "arguments": "{\"dir\": \".\"}" },
        { "type": "custom_tool_call", "call_id": "b", "name": "run", "input": "ls  -l" },
        { "type": "function_call_output", "call_id": "a", "output": "one" },
        { "type": "custom_tool_call_output", "call_id": "b", "output": [{ "type": "input_text", "text": "two" }] },
        { "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
          "content": [{ "type": "output_text", "text": "done", "annotations": [] }] },
        { "type": "web_search_call", "id": "ws_1", "action": { "type": "search", "query": "q" } },
        { "role": "user", "content": "thanks" },
    ])
}

#[test]
fn items_of_one_answer_are_one_message_and_so_are_their_outputs() {
    let items = tool_loop();
    let conversation = conversation(&items, FORMAT);
    let shape: Vec<_> = conversation
        .messages
        .iter()
        .map(|message| (message.role, message.span.entries(), message.parts.len()))
        .collect();
    assert_eq!(
        shape,
        [
            (Role::System, 0..1, 1),
            (Role::User, 1..2, 1),
            (Role::Assistant, 2..5, 3),
            (Role::User, 5..7, 2),
            (Role::Assistant, 7..9, 2),
            (Role::User, 9..10, 1),
        ]
    );
}

#[test]
fn calls_are_paired_with_their_outputs() {
    let items = tool_loop();
    let conversation = conversation(&items, FORMAT);
    let pairs = Pairs::of(&conversation);
    let sites: Vec<_> = pairs.calls().iter().map(|call| (call.message, call.part, call.result)).collect();
    assert_eq!(sites, [(2, 1, Some((3, 0))), (2, 2, Some((3, 1)))]);
    assert_eq!(pairs.violations(&conversation), []);
}

#[test]
fn every_tool_of_openai_pairs_by_its_own_id() {
    for (call, output) in [
        (
            json!({ "type": "computer_call", "call_id": "c", "action": { "type": "click" } }),
            json!({ "type": "computer_call_output", "call_id": "c", "output": {} }),
        ),
        (
            json!({ "type": "computer_call", "call_id": "c", "actions": [] }),
            json!({ "type": "computer_call_output", "call_id": "c" }),
        ),
        (
            json!({ "type": "local_shell_call", "id": "x", "call_id": "c", "action": {} }),
            json!({ "type": "local_shell_call_output", "id": "c", "output": "" }),
        ),
        (
            json!({ "type": "local_shell_call", "id": "x", "call_id": "c", "action": {} }),
            json!({ "type": "local_shell_call_output", "id": "y", "call_id": "c", "output": "" }),
        ),
        (
            json!({ "type": "shell_call", "call_id": "c", "action": {} }),
            json!({ "type": "shell_call_output", "call_id": "c", "output": [] }),
        ),
        (
            json!({ "type": "apply_patch_call", "call_id": "c", "operation": {} }),
            json!({ "type": "apply_patch_call_output", "call_id": "c", "status": "completed" }),
        ),
        (
            json!({ "type": "mcp_approval_request", "id": "c", "name": "n", "arguments": "{}" }),
            json!({ "type": "mcp_approval_response", "approval_request_id": "c", "approve": true }),
        ),
    ] {
        let items = json!([call, output]);
        let conversation = conversation(&items, FORMAT);
        let pairs = Pairs::of(&conversation);
        assert_eq!(pairs.calls().len(), 1, "{items}");
        assert_eq!(pairs.calls()[0].result, Some((1, 0)), "{items}");
        assert_eq!(pairs.violations(&conversation), [], "{items}");
    }
}

#[test]
fn content_of_messages_is_read_as_what_it_is() {
    let audio = Part::Media(Media::unknown(MediaKind::Audio));
    let image = Part::Media(Media::unknown(MediaKind::Image));
    let file = |texts: &[&str]| {
        Part::Document(Document {
            texts: texts.iter().map(ToString::to_string).collect(),
            media: vec![Media::unknown(MediaKind::Document)],
        })
    };
    for (block, expected) in [
        (json!({ "type": "input_text", "text": "a" }), text("a")),
        (json!({ "type": "output_text", "text": "a", "annotations": [{ "url": "b" }] }), text("a")),
        (json!({ "type": "refusal", "refusal": "no" }), text("no")),
        (json!({ "type": "input_image", "image_url": "https://x/y.png", "detail": "low" }), image.clone()),
        (json!({ "type": "input_image", "file_id": "file_1" }), image),
        (json!({ "type": "input_file", "file_id": "file_1" }), file(&[])),
        (json!({ "type": "input_file", "file_url": "https://x/y.pdf", "filename": "y" }), file(&["y"])),
        (json!({ "type": "input_audio", "input_audio": {} }), audio),
        (json!({ "type": "input_hologram", "rays": 7 }), opaque(&json!({ "type": "input_hologram", "rays": 7 }))),
        (json!({ "type": "refusal", "refusal": 7 }), opaque(&json!({ "type": "refusal", "refusal": 7 }))),
    ] {
        assert_eq!(part(&json!({ "role": "user", "content": [block] }), FORMAT), expected, "{block}");
    }
    let held = json!({ "role": "user", "content": [
        { "type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,aGVsbG8gd29ybGQ=" }] });
    let document = Document { texts: vec!["a.txt".to_owned(), "hello world".to_owned()], media: vec![] };
    assert_eq!(part(&held, FORMAT), Part::Document(document));
}

#[test]
fn every_role_is_read() {
    for (role, expected) in
        [("user", Role::User), ("assistant", Role::Assistant), ("system", Role::System), ("developer", Role::System)]
    {
        for item in
            [json!({ "role": role, "content": "a" }), json!({ "type": "message", "role": role, "content": "a" })]
        {
            let message = message(&item, FORMAT);
            assert_eq!((message.role, message.parts), (expected, vec![text("a")]), "{item}");
        }
    }
    let pinned = json!({ "role": "user", "content": "a", "metadata": { "custom": { "pinned": true } } });
    assert_eq!(message(&pinned, FORMAT).pin, Pin::Pinned);
}

#[test]
fn reasoning_is_signed_where_it_must_travel() {
    let summary = json!([{ "type": "summary_text", "text": "a" }]);
    let content = json!([{ "type": "reasoning_text", "text": "b" }, { "type": "reasoning_text", "text": "c" }]);
    for (item, text, signature) in [
        (json!({ "summary": summary }), "a", Signature::Unsigned),
        (json!({ "summary": summary, "id": "" }), "a", Signature::Unsigned),
        (json!({ "summary": summary, "id": "rs" }), "a", Signature::Signed),
        (json!({ "summary": summary, "content": content, "id": "rs" }), "a\nb\nc", Signature::Signed),
        (json!({ "summary": summary, "encrypted_content": "x" }), "a", Signature::Signed),
        (json!({ "summary": [], "encrypted_content": "x", "id": null }), "x", Signature::Signed),
        (json!({}), "", Signature::Unsigned),
    ] {
        let mut item = item;
        item["type"] = json!("reasoning");
        assert_eq!(part(&item, FORMAT), Part::Reasoning { text: text.to_owned(), signature }, "{item}");
    }
}

#[test]
fn calls_are_read_with_their_input() {
    for (item, expected) in [
        (
            json!({ "type": "function_call", "call_id": "c", "name": "n", "arguments": "{ \"a\": 1 }" }),
            call("c", "n", r#"{"a":1}"#),
        ),
        (
            json!({ "type": "function_call", "call_id": "c", "name": "n", "arguments": "{ bro" }),
            call("c", "n", "{ bro"),
        ),
        (json!({ "type": "function_call", "call_id": "c", "name": "n" }), call("c", "n", "")),
        (
            json!({ "type": "custom_tool_call", "call_id": "c", "name": "n", "input": "[1,  2]" }),
            call("c", "n", "[1,  2]"),
        ),
        (
            json!({ "type": "computer_call", "call_id": "c", "action": { "type": "wait" } }),
            call("c", "computer_call", r#"{"type":"wait"}"#),
        ),
        (
            json!({ "type": "apply_patch_call", "call_id": "c", "operation": { "path": "p" } }),
            call("c", "apply_patch_call", r#"{"path":"p"}"#),
        ),
        (json!({ "type": "mcp_approval_request", "id": "m", "name": "n", "arguments": "{}" }), call("m", "n", "{}")),
        (json!({ "type": "mcp_approval_request", "id": "m" }), call("m", "mcp_approval_request", "")),
        (json!({ "type": "shell_call", "call_id": "c" }), call("c", "shell_call", "")),
    ] {
        assert_eq!(part(&item, FORMAT), expected, "{item}");
    }
}

#[test]
fn what_is_unknown_or_runs_at_openai_is_kept_whole() {
    for name in [
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "compaction",
        "item_reference",
        "tool_search_output",
        "of_the_future",
        "computer_call",
    ] {
        let item = json!({ "type": name, "id": "i", "anything": [1, { "deep": null }] });
        let message = message(&item, FORMAT);
        assert_eq!((message.role, message.parts), (Role::Assistant, vec![opaque(&item)]));
    }
    let reference = json!({ "id": "msg_1" });
    assert_eq!(part(&reference, FORMAT), opaque(&reference));
}

#[test]
fn a_generated_image_is_counted_as_an_image() {
    let item = json!({ "type": "image_generation_call", "id": "i", "result": "AAAA".repeat(1_000) });
    assert!(matches!(part(&item, FORMAT), Part::Media(Media { kind: MediaKind::Image, .. })));
}

#[test]
fn outputs_are_read_by_what_they_hold() {
    let image = Item::Media(Media::unknown(MediaKind::Image));
    let file = Document { texts: vec!["f".to_owned()], media: vec![Media::unknown(MediaKind::Document)] };
    for (output, expected) in [
        (json!("a"), vec![said("a")]),
        (json!(null), vec![]),
        (json!([]), vec![]),
        (json!({ "a": 1 }), vec![Item::Json(r#"{"a":1}"#.into())]),
        (
            json!([{ "type": "input_text", "text": "a" }, { "type": "output_text", "text": "b" }]),
            vec![said("a"), said("b")],
        ),
        (json!([{ "type": "input_image", "file_id": "f" }]), vec![image.clone()]),
        (json!({ "type": "computer_screenshot", "image_url": "https://x/y" }), vec![image]),
        (json!([{ "type": "input_file", "filename": "f", "file_id": "i" }]), vec![Item::Document(file)]),
        (json!([{ "type": "new" }]), vec![Item::Opaque(r#"{"type":"new"}"#.into())]),
        (
            json!([{ "stdout": "a", "stderr": "", "outcome": { "type": "timeout" } }, { "stderr": "b" }]),
            vec![said("a"), said(""), Item::Opaque(r#"{"type":"timeout"}"#.into()), said("b")],
        ),
    ] {
        let item = json!({ "type": "function_call_output", "call_id": "c", "output": output });
        assert_eq!(part(&item, FORMAT), result("c", expected), "{item}");
    }
}

#[test]
fn outputs_keep_their_shape_when_an_item_is_replaced() {
    for (output, at, expected) in [
        (json!("old"), 0, json!("new")),
        (json!({ "a": 1 }), 0, json!("new")),
        (
            json!([{ "type": "input_image", "file_id": "f" }, { "type": "input_text", "text": "old", "mark": 1 }]),
            1,
            json!([{ "type": "input_image", "file_id": "f" }, { "type": "input_text", "text": "new", "mark": 1 }]),
        ),
        (
            json!([{ "stdout": "a", "stderr": "b", "outcome": {} }, { "stdout": "old", "stderr": "c", "more": 1 }]),
            3,
            json!([{ "stdout": "a", "stderr": "b", "outcome": {} }, { "stdout": "new", "stderr": "c", "more": 1 }]),
        ),
    ] {
        let item =
            json!({ "type": "shell_call_output", "call_id": "c", "id": "o", "status": "completed", "output": output });
        let mut new = item.clone();
        new["output"] = expected;
        assert_eq!(edited(&json!([item]), FORMAT, &edit(vec![(0, at, "new")], vec![], vec![])), [new]);
        if let Some(node) = item_node(&&item, FORMAT, 0, at) {
            assert!(node == "old", "{item}");
        }
    }
}

#[test]
fn a_text_is_put_into_a_message_and_behind_any_other_item() {
    let block = |kind: &str, text: &str| json!({ "type": kind, "text": text });
    for (role, kind) in
        [("user", "input_text"), ("developer", "input_text"), ("system", "input_text"), ("assistant", "output_text")]
    {
        let item = json!({ "type": "message", "id": "m", "role": role, "content": [block(kind, "a")] });
        let new =
            json!({ "type": "message", "id": "m", "role": role, "content": [block(kind, "a"), block(kind, "b")] });
        assert_eq!(edited(&json!([item]), FORMAT, &edit(vec![], vec![], vec!["b"])), std::slice::from_ref(&new));
        let string = json!({ "type": "message", "id": "m", "role": role, "content": "a" });
        if role != "user" {
            assert_eq!(edited(&json!([string]), FORMAT, &edit(vec![], vec![], vec!["b"])), [new]);
        }
    }
    for item in [
        json!({ "type": "function_call_output", "call_id": "c", "output": "a" }),
        json!({ "type": "function_call", "call_id": "c", "name": "n", "arguments": "{}" }),
        json!({ "type": "web_search_call", "id": "w" }),
    ] {
        let behind = json!({ "type": "message", "role": "user", "content": "b" });
        assert_eq!(edited(&json!([item]), FORMAT, &edit(vec![], vec![], vec!["b"])), [item, behind]);
    }
}

#[test]
fn nothing_is_left_of_an_item_whose_parts_all_go() {
    let items = tool_loop();
    let conversation = conversation(&items, FORMAT);
    let all = |message: usize| Change::Edit {
        message,
        items: vec![],
        drop: (0..conversation.messages[message].parts.len()).collect(),
        append: vec![],
        calls: vec![],
    };
    let changes: Vec<Change<'_>> = (0..conversation.messages.len()).map(all).collect();
    assert_eq!(rewrite(&&items, &conversation, FORMAT, &changes).unwrap(), Vec::<Value>::new());
    let half = edited(
        &items,
        FORMAT,
        &Change::Edit { message: 2, items: vec![], drop: vec![1], append: vec![], calls: vec![] },
    );
    let mut expected = items.as_array().unwrap().clone();
    expected.remove(3);
    assert_eq!(half, expected);
}

#[test]
fn a_new_message_is_one_of_the_format() {
    let items = tool_loop();
    let conversation = conversation(&items, FORMAT);
    for (role, name) in [(Role::User, "user"), (Role::Assistant, "assistant"), (Role::System, "system")] {
        let new = rewrite(&&items, &conversation, FORMAT, &[Change::Insert { role, text: "a" }]).unwrap();
        assert_eq!(new, [json!({ "type": "message", "role": name, "content": "a" })]);
        let new = Value::Array(new);
        assert_eq!(message(&new[0], FORMAT).parts, [text("a")]);
        assert_eq!(detect_format(&&new), Ok(FORMAT));
    }
}

#[test]
fn the_format_is_detected_by_every_item_and_block_that_no_other_has() {
    for name in [
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "computer_call",
        "computer_call_output",
        "local_shell_call",
        "local_shell_call_output",
        "shell_call",
        "shell_call_output",
        "apply_patch_call",
        "apply_patch_call_output",
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "item_reference",
        "compaction",
        "tool_search_call",
        "tool_search_output",
    ] {
        let items = json!([{ "role": "user", "content": "a" }, { "type": name }]);
        assert_eq!(detect_format(&&items), Ok(FORMAT), "{name}");
    }
    for name in ["input_text", "output_text", "input_image", "input_file"] {
        let items = json!([{ "role": "user", "content": [{ "type": name }] }]);
        assert_eq!(detect_format(&&items), Ok(FORMAT), "{name}");
    }
    assert_eq!(detect_format(&&json!([{ "type": "message", "role": "user", "content": "a" }])), Ok(FORMAT));
    for unclear in [
        json!([{ "role": "developer", "content": "a" }]),
        json!([{ "role": "user", "content": [{ "type": "input_audio" }] }]),
        json!([{ "type": "human", "data": { "content": "a" } }]),
    ] {
        assert!(detect_format(&&unclear).is_err(), "{unclear}");
        assert!(format_to_read(&&unclear).is_ok(), "{unclear}");
    }
}

#[test]
fn what_is_no_item_is_an_error_with_its_index() {
    let fine = json!({ "role": "user", "content": "a" });
    for (wrong, said) in [
        (json!(null), "null"),
        (json!([]), "a list"),
        (json!({}), "no role"),
        (json!({ "type": 7, "content": "a" }), "no role"),
        (json!({ "type": "message" }), "no role"),
        (json!({ "type": "message", "id": "m", "content": "a" }), "no role"),
        (json!({ "role": "robot", "content": "a" }), "'robot'"),
        (json!({ "role": "tool", "content": "a" }), "'tool'"),
        (json!({ "role": "user" }), "missing"),
        (json!({ "role": "user", "content": 7 }), "a number"),
        (json!({ "role": "user", "content": ["a"] }), "block 0 is a string"),
        (json!({ "role": "user", "content": [{ "type": "text", "text": "a" }] }), "openai-responses"),
        (json!({ "role": "user", "content": [{ "type": "tool_use" }] }), "anthropic"),
        (json!({ "type": "function_call", "name": "n" }), "`call_id`"),
        (json!({ "type": "function_call", "call_id": 7, "name": "n" }), "`call_id`"),
        (json!({ "type": "function_call", "call_id": "c" }), "`name`"),
        (json!({ "type": "custom_tool_call", "call_id": "c", "name": [] }), "`name`"),
        (json!({ "type": "function_call_output", "output": "a" }), "`call_id`"),
        (json!({ "type": "local_shell_call_output", "output": "a" }), "`id`"),
        (json!({ "type": "mcp_approval_response" }), "`approval_request_id`"),
        (json!({ "type": "function_call_output", "call_id": "c", "output": 7 }), "a number"),
        (json!({ "type": "function_call_output", "call_id": "c", "output": [null] }), "block 0 is null"),
    ] {
        let error = read(&&json!([fine, wrong]), FORMAT).unwrap_err();
        assert!(
            matches!(&error, Error::Message { index: 1, .. }) && error.to_string().contains(said),
            "{wrong}: {error}"
        );
    }
}

const TYPES: &[&str] = &[
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "computer_call",
    "computer_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "mcp_approval_request",
    "mcp_approval_response",
    "image_generation_call",
    "web_search_call",
    "item_reference",
    "input_text",
    "output_text",
    "refusal",
    "input_image",
    "input_file",
    "input_audio",
    "computer_screenshot",
    "summary_text",
    "exotic",
];
const FIELDS: &[&str] = &[
    "id",
    "call_id",
    "name",
    "arguments",
    "input",
    "output",
    "content",
    "summary",
    "encrypted_content",
    "text",
    "refusal",
    "image_url",
    "file_data",
    "filename",
    "input_audio",
    "action",
    "operation",
    "result",
    "stdout",
    "stderr",
    "outcome",
    "approval_request_id",
    "metadata",
    "data",
    "url",
];
const ROLES: &[&str] = &["user", "assistant", "system", "developer", "tool"];

/// Outputs whose blocks have the fields that they need, and others.
fn outputs() -> impl Strategy<Value = Vec<Value>> {
    let name = proptest::sample::select(&["function_call_output", "shell_call_output", "computer_call_output"][..]);
    let output = (name, entries(TYPES, ROLES, FIELDS), tree(TYPES, ROLES, FIELDS), any::<bool>());
    let output = output.prop_map(|(name, blocks, value, listed)| {
        json!({ "type": name, "call_id": "c", "output": if listed { Value::Array(blocks) } else { value } })
    });
    proptest::collection::vec(output, 0..4)
}

proptest! {
    #![proptest_config(crate::support::cases(1_500))]

    #[test]
    fn any_tree_is_read_or_refused(tree in tree(TYPES, ROLES, FIELDS), items in entries(TYPES, ROLES, FIELDS)) {
        for tree in [tree, Value::Array(items)] {
            let _ = detect_format(&&tree);
            if let Err(error) = read(&&tree, FORMAT) {
                let is_of_list = matches!(error, Error::Message { .. }) || !tree.is_array();
                prop_assert!(is_of_list, "{error}");
            }
        }
    }

    #[test]
    fn an_edit_changes_what_it_names_and_nothing_else(
        items in entries(TYPES, ROLES, FIELDS),
        outputs in outputs(),
    ) {
        let items = [items, outputs].concat();
        assert_edits_change_what_they_name(&readable(items, FORMAT), FORMAT);
    }
}
