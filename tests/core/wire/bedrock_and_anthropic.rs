//! Reading Bedrock's and Anthropic's messages, and refusing what is neither.

use crate::support::{ask, compact, engine, exact, small_policy};
use serde_json::{Value, json};
use ullage::engine::{Room, apply, content};
use ullage::error::Error;
use ullage::media::{Media, MediaKind};
use ullage::message::{Item, Part, Pin, Role, Signature};
use ullage::planner::Urgency;
use ullage::store::Storing;
use ullage::wire::{Format, MAX_DEPTH, read};

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

fn user(content: &Value) -> Value {
    json!([{ "role": "user", "content": content }])
}

#[test]
fn mixed_formats_are_refused() {
    let blocks = [
        json!({ "type": "tool_use", "id": "a", "name": "b", "input": {} }),
        json!({ "toolUse": { "toolUseId": "a", "name": "b" } }),
    ];
    for (format, block) in [(Format::Bedrock, &blocks[0]), (Format::Anthropic, &blocks[1])] {
        let messages = json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": [block] }]);
        let error = read(&&messages, format).unwrap_err();
        assert!(matches!(&error, Error::Message { index: 1, .. }), "{error}");
    }
}

#[test]
fn what_is_no_message_is_an_error_with_its_index() {
    let fine = json!({ "role": "user", "content": "a" });
    for (wrong, said) in [
        (json!(null), "null"),
        (json!("hello"), "a string"),
        (json!([fine]), "a list"),
        (json!({}), "no role"),
        (json!({ "role": "user" }), "missing"),
        (json!({ "role": "user", "content": null }), "missing or None"),
        (json!({ "role": "user", "content": 7 }), "a number"),
        (json!({ "role": "user", "content": { "text": "a" } }), "an object"),
        (json!({ "role": "user", "content": ["a"] }), "block 0 is a string"),
        (json!({ "role": "user", "content": [{ "text": "a" }, null] }), "block 1 is null"),
        (json!({ "role": 7, "content": "a" }), "no role"),
        (json!({ "role": "robot", "content": "a" }), "'robot'"),
        (json!({ "role": "assistant", "content": [{ "toolUse": { "name": "b" } }] }), "toolUseId"),
        (json!({ "role": "assistant", "content": [{ "toolUse": { "toolUseId": 7, "name": "b" } }] }), "toolUseId"),
        (json!({ "role": "assistant", "content": [{ "toolUse": { "toolUseId": "a" } }] }), "name"),
        (json!({ "role": "user", "content": [{ "toolResult": { "content": [] } }] }), "toolUseId"),
        (json!({ "role": "user", "content": [{ "toolResult": { "toolUseId": "a", "content": [1] } }] }), "a number"),
    ] {
        let error = read(&&json!([fine, wrong]), Format::Bedrock).unwrap_err();
        assert!(
            matches!(&error, Error::Message { index: 1, .. }) && error.to_string().contains(said),
            "{wrong}: {error}"
        );
    }
    for wrong in [json!(null), json!({}), json!("a"), json!(1)] {
        assert!(matches!(read(&&wrong, Format::Bedrock), Err(Error::Conversation { .. })), "{wrong}");
    }
}

#[test]
fn both_formats_read_the_same() {
    let bedrock = json!([{ "role": "user", "metadata": { "custom": { "pinned": true } }, "content": [
        { "text": "a" }, { "image": {} }, { "document": {} },
        { "reasoningContent": { "reasoningText": { "text": "hm", "signature": "s" } } },
        { "reasoningContent": { "reasoningText": { "text": "hm" } } },
        { "reasoningContent": { "reasoningText": { "text": "hm", "signature": "" } } },
        { "toolUse": { "toolUseId": "1", "name": "t", "input": { "b": 1, "a": [null] } } },
        { "toolResult": { "toolUseId": "1", "content": [{ "text": "x" }, { "image": {} }, { "new": 1 }] } },
        { "toolResult": { "toolUseId": "1" } },
    ] }]);
    let anthropic = json!([{ "role": "user", "metadata": { "custom": { "pinned": true } }, "content": [
        { "type": "text", "text": "a" }, { "type": "image" }, { "type": "document" },
        { "type": "thinking", "thinking": "hm", "signature": "s" },
        { "type": "thinking", "thinking": "hm" },
        { "type": "thinking", "thinking": "hm", "signature": "" },
        { "type": "tool_use", "id": "1", "name": "t", "input": { "b": 1, "a": [null] } },
        { "type": "tool_result", "tool_use_id": "1", "content": [{ "type": "text", "text": "x" }, { "type": "image" }, { "new": 1 }] },
        { "type": "tool_result", "tool_use_id": "1" },
    ] }]);
    let (b, a) = (&bedrock, &anthropic);
    let (b, a) = (read(&b, Format::Bedrock).unwrap(), read(&a, Format::Anthropic).unwrap());
    assert_eq!(b, a);
    let message = &b.messages[0];
    assert_eq!((message.role, message.pin), (Role::User, Pin::Pinned));
    assert_eq!(message.parts[1], Part::Media(Media::unknown(MediaKind::Image)));
    assert!(matches!(&message.parts[4], Part::Reasoning { signature: Signature::Unsigned, .. }));
    assert!(matches!(&message.parts[6], Part::Call { input, .. } if input == r#"{"b":1,"a":[null]}"#));
    assert!(matches!(&message.parts[7], Part::Result { items, .. } if items[2] == Item::Opaque(r#"{"new":1}"#.into())));
}

#[test]
fn only_true_pins() {
    for (pinned, pin) in [
        (json!(true), Pin::Pinned),
        (json!(false), Pin::Free),
        (json!("true"), Pin::Free),
        (json!(1), Pin::Free),
        (json!(null), Pin::Free),
    ] {
        let messages = json!([{ "role": "user", "content": "a", "metadata": { "custom": { "pinned": pinned } } }]);
        assert_eq!(read(&&messages, Format::Anthropic).unwrap().messages[0].pin, pin, "{pinned}");
    }
}

#[test]
fn a_value_nested_too_deeply_is_refused() {
    for levels in [MAX_DEPTH, MAX_DEPTH + 1, 2_000] {
        for block in [
            json!({ "toolUse": { "toolUseId": "a", "name": "b", "input": nested(levels) } }),
            json!({ "toolResult": { "toolUseId": "a", "content": [{ "json": nested(levels) }] } }),
            json!({ "future": nested(levels) }),
        ] {
            let error = read(&&user(&json!([block])), Format::Bedrock).unwrap_err();
            assert!(error.to_string().contains("deeper than 256"), "{error}");
        }
    }
    let deep = json!({ "toolUse": { "toolUseId": "a", "name": "b", "input": nested(MAX_DEPTH - 1) } });
    assert!(read(&&user(&json!([deep])), Format::Bedrock).is_ok());
}

/// Everything that can be read and planned can also be stored, though a whole message is deeper than the value in it.
#[test]
fn a_value_that_is_just_not_too_deep_can_be_removed() {
    for levels in [100, 240, MAX_DEPTH - 6, MAX_DEPTH - 1] {
        let mut messages = vec![json!({ "role": "user", "content": [{ "text": "go" }] })];
        let call = json!({ "toolUse": { "toolUseId": "a", "name": "b", "input": nested(levels) } });
        messages.push(json!({ "role": "assistant", "content": [call] }));
        messages.push(json!({ "role": "user", "content": [{ "toolResult": { "toolUseId": "a", "content": [{ "text": "so ".repeat(900) }] } }] }));
        messages.extend(
            (0..5)
                .flat_map(|_| ["assistant", "user"])
                .map(|role| json!({ "role": role, "content": [{ "text": "ok" }] })),
        );
        let messages = Value::Array(messages);
        let policy = ullage::policy::Policy { stages: vec![ullage::policy::StageName::Window], ..small_policy() };
        let outcome = compact(&engine(&policy, &exact(), Storing::On), &messages, Format::Bedrock, 500, Urgency::Hard);
        assert!(
            outcome.as_ref().is_ok_and(|outcome| outcome.plan.removals().count() == 1),
            "{levels}: {:?}",
            outcome.err()
        );
    }
}

#[test]
fn a_shortened_item_keeps_its_other_fields_and_its_neighbours() {
    let long = "all is well\n".repeat(300);
    let messages = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "bash", "input": {}, "x": 1 }] },
        { "role": "user", "x": { "y": [null] }, "content": [{ "type": "tool_result", "tool_use_id": "a", "is_error": true, "content": [
            { "type": "image", "source": {} }, { "type": "text", "text": long, "cache_control": { "type": "ephemeral" } }, { "type": "text", "text": "short" },
        ] }] },
    ]);
    let engine = engine(&small_policy(), &exact(), Storing::On);
    let reading = engine.read(&&messages, None, &[]).unwrap();
    let plan = engine.plan(&reading, ask(2_000, Urgency::Hard)).unwrap();
    assert_eq!(
        &*content(&plan, &reading.conversation, &plan.artifacts[0].source, &&messages).unwrap(),
        long.as_bytes()
    );
    let mut after = apply(&plan, &&messages).unwrap();
    let text = after[2].pointer_mut("/content/0/content/1/text").unwrap();
    assert!(text.as_str().unwrap().len() < 1_500);
    *text = json!(long);
    assert_eq!(Value::Array(after), messages);
    assert!(engine.status(&reading, Room { budget: Some(2_000), ..Room::default() }).is_ok());
}
