//! Messages of OpenAI Chat are read as what they are, also with what hosts of other models write beside the content.

use std::borrow::Cow;

use serde_json::{Value, json};
use ullage::message::{Part, Signature};
use ullage::wire::{Format, detect_format, format_to_read, read};

const FORMAT: Format = Format::OpenAi;

/// As the SDK's `model_dump` writes it: what is not there is null.
fn dump(field: &str, value: &Value) -> Value {
    let mut dump = json!({
        "role": "assistant", "content": null, "refusal": null, "annotations": null, "audio": null,
        "function_call": null, "tool_calls": null,
    });
    dump[field] = value.clone();
    dump
}

type Said<'a> = Part<Cow<'a, str>>;

fn text(text: &str) -> Said<'_> {
    Part::Text(text.into())
}

fn thought(text: &str, signature: Signature) -> Said<'_> {
    Part::Reasoning { text: text.into(), signature }
}

fn call<'a>(id: &'a str, name: &'a str, input: &'a str) -> Said<'a> {
    Part::Call { id: id.into(), name: name.into(), input: input.into() }
}

fn opaque(value: &Value) -> Said<'static> {
    Part::Opaque(value.to_string().into())
}

/// Asserts what one message says.
fn assert_says(message: &Value, expected: &[Said<'_>]) {
    let messages = json!([message]);
    let read = read(&&messages, FORMAT).unwrap();
    assert_eq!(read.messages[0].parts, expected, "{message}");
}

#[test]
fn an_answer_without_content_is_told_and_read() {
    let audio = json!({ "id": "audio_1" });
    let call_of = json!([{ "id": "a", "type": "function", "function": { "name": "t", "arguments": "{}" } }]);
    for (dump, expected) in [
        (dump("refusal", &json!("I cannot")), vec![text("I cannot")]),
        (dump("audio", &audio), vec![opaque(&audio)]),
        (dump("tool_calls", &call_of), vec![call("a", "t", "{}")]),
        (dump("tool_calls", &json!([])), vec![]),
        (dump("content", &json!(null)), vec![]),
    ] {
        let messages = json!([{ "role": "user", "content": "hi" }, dump]);
        assert_eq!(format_to_read(&&messages), Ok(FORMAT), "{dump}");
        assert_eq!(detect_format(&&messages), Ok(FORMAT), "{dump}");
        assert_says(&dump, &expected);
    }
    let users = json!([{ "role": "user", "content": null }]);
    assert!(read(&&users, FORMAT).is_err(), "only a model may say nothing");
}

#[test]
fn what_is_written_beside_the_content_is_read() {
    let call_of = json!([{ "id": "a", "type": "function", "function": { "name": "t", "arguments": "{}" } }]);
    let details = json!([
        { "type": "reasoning.text", "text": "hm", "signature": "s", "format": "anthropic-claude-v1" },
        { "type": "reasoning.summary", "summary": "so" },
        { "type": "reasoning.encrypted", "data": "xyz" },
        { "type": "reasoning.future", "what": 1 },
    ]);
    for (message, expected) in [
        (json!({ "reasoning": "hm" }), vec![thought("hm", Signature::Unsigned)]),
        (
            json!({ "reasoning_details": details }),
            vec![
                thought("hm", Signature::Signed),
                thought("so", Signature::Unsigned),
                thought("xyz", Signature::Signed),
                opaque(&details[3]),
            ],
        ),
        (
            json!({ "thinking_blocks": [{ "type": "thinking", "thinking": "hm", "signature": "s" }] }),
            vec![thought("hm", Signature::Signed)],
        ),
        (json!({ "tool_plan": "first a", "tool_calls": call_of }), vec![text("first a"), call("a", "t", "{}")]),
    ] {
        let mut message = message;
        message["role"] = json!("assistant");
        for content in [None, Some(json!("done"))] {
            let mut expected = expected.clone();
            if let Some(content) = content {
                message["content"] = content;
                let at = expected.iter().position(|part| !matches!(part, Part::Reasoning { .. } | Part::Opaque(_)));
                expected.insert(at.unwrap_or(expected.len()), text("done"));
            }
            assert_eq!(detect_format(&&json!([message])), Ok(FORMAT), "{message}");
            assert_says(&message, &expected);
        }
    }
}

#[test]
fn reasoning_that_is_written_twice_is_read_once() {
    let details = json!([{ "type": "reasoning.text", "text": "hm" }]);
    let encrypted = json!([{ "type": "reasoning.encrypted", "data": "xyz" }]);
    let plain = thought("hm", Signature::Unsigned);
    for (message, expected) in [
        (json!({ "reasoning": "hm", "reasoning_details": details }), vec![plain.clone()]),
        (json!({ "reasoning_content": "hm", "reasoning_details": details }), vec![plain.clone()]),
        (json!({ "reasoning": "hm", "reasoning_content": "hm" }), vec![plain.clone()]),
        (json!({ "reasoning": "hm", "reasoning_content": "hm", "reasoning_details": details }), vec![plain.clone()]),
        (json!({ "reasoning": "hm", "reasoning_details": [] }), vec![plain.clone()]),
        (
            json!({ "reasoning": "hm", "reasoning_content": "so" }),
            vec![thought("so", Signature::Unsigned), plain.clone()],
        ),
        (
            json!({ "reasoning": "hm", "reasoning_details": encrypted }),
            vec![plain.clone(), thought("xyz", Signature::Signed)],
        ),
    ] {
        let mut message = message;
        message["role"] = json!("assistant");
        assert_says(&message, &expected);
    }
}

#[test]
fn arguments_are_found_by_the_name_that_each_host_has_for_them() {
    let input = json!({ "path": "x" });
    for call_of in [
        json!({ "id": "a", "function": { "name": "t", "arguments": input.to_string() } }),
        json!({ "id": "a", "custom": { "name": "t", "input": input } }),
        json!({ "id": "a", "tool": "t", "arguments": input }),
        json!({ "id": "a", "name": "t", "args": input, "type": "tool_call" }),
        json!({ "id": "a", "name": "t", "arguments": null, "args": input }),
    ] {
        let entry = json!({ "role": "assistant", "content": "", "tool_calls": [call_of] });
        assert_says(&entry, &[text(""), call("a", "t", r#"{"path":"x"}"#)]);
    }
}
