//! Telling formats apart, and saying so where they cannot be told apart or are mixed.

use crate::support::generate::{ANY, Shape, conversation};
use crate::support::{cases, check, render};
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::error::Error;
use ullage::wire::{Format, detect_format, format_to_read, read};

fn user(content: &Value) -> Value {
    json!([{ "role": "user", "content": content }])
}

#[test]
fn what_one_format_has_tells_it() {
    let bedrock =
        ["text", "toolUse", "toolResult", "reasoningContent", "cachePoint", "image", "document", "video", "audio"];
    for key in bedrock {
        assert_eq!(detect_format(&&user(&json!([{ key: {} }]))), Ok(Format::Bedrock), "{key}");
    }
    for (name, messages, expected) in [
        ("a call of Anthropic", user(&json!([{ "type": "tool_use" }])), Format::Anthropic),
        ("a result of Anthropic's own tool", user(&json!([{ "type": "web_search_tool_result" }])), Format::Anthropic),
        ("an unknown block first", user(&json!([{ "future": 1 }, { "text": "a" }])), Format::Bedrock),
        (
            "a string first",
            json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": [{ "text": "b" }] }]),
            Format::Bedrock,
        ),
        ("what is no message", json!([1, { "role": "user", "content": [{ "text": "a" }] }]), Format::Bedrock),
        ("a null type", user(&json!([{ "type": null, "text": "a" }])), Format::Bedrock),
        ("calls", json!([{ "role": "assistant", "content": null, "tool_calls": [{}] }]), Format::OpenAi),
        ("an address of an image", user(&json!([{ "type": "image_url" }])), Format::OpenAi),
        (
            "thinking as Amplifier has it",
            json!([
                { "role": "assistant", "content": [{ "type": "thinking", "thinking": "hm" }] },
                { "role": "assistant", "content": null, "tool_calls": [{}] },
            ]),
            Format::OpenAi,
        ),
        ("an item", json!([{ "type": "function_call", "call_id": "a" }]), Format::OpenAiResponses),
        ("parts", json!([{ "role": "user", "parts": [{ "text": "a" }] }]), Format::Gemini),
        ("the model's role", json!([{ "role": "model", "parts": [] }]), Format::Gemini),
        ("a call with a hyphen", user(&json!([{ "type": "tool-call" }])), Format::AiSdk),
    ] {
        assert_eq!(detect_format(&&messages), Ok(expected), "{name}");
    }
}

#[test]
fn what_tells_nothing_is_refused_by_name_and_read_all_the_same() {
    for messages in [
        json!([]),
        user(&json!("hello")),
        user(&json!([])),
        user(&json!([{ "type": "text", "text": "a" }])),
        json!([{ "role": "system", "content": "be brief" }, { "role": "user", "content": "hello" }]),
        json!([{ "role": "developer", "content": "be brief" }, { "role": "user", "content": "hello" }]),
        json!([{ "role": "tool", "content": "a", "tool_call_id": "b" }]),
    ] {
        let error = detect_format(&&messages).expect_err("it tells nothing");
        assert!(matches!(&error, Error::Conversation { problem, .. } if problem.contains("openai")), "{error}");
        let format = format_to_read(&&messages).expect("it can be read");
        assert!(read(&&messages, format).is_ok(), "{messages}");
    }
}

#[test]
fn what_is_mixed_is_refused_with_its_index_and_both_names() {
    let mixed = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "b", "input": {} }] },
        { "role": "tool", "tool_call_id": "a", "content": "done" },
    ]);
    let error = read(&&mixed, detect_format(&&mixed).expect("the first tells")).expect_err("it is mixed");
    assert!(matches!(error, Error::Message { index: 2, .. }), "{error}");
    let strict = json!([
        { "role": "user", "content": [{ "type": "input_text", "text": "a" }] },
        { "role": "model", "parts": [{ "text": "b" }] },
    ]);
    let first = json!([strict[1], strict[0]]);
    for messages in [strict, first] {
        assert!(read(&&messages, format_to_read(&&messages).expect("the first tells")).is_err());
    }
    let beside = json!([
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "b", "input": {} }] },
        { "role": "assistant", "content": "words", "tool_calls": [{ "id": "c" }] },
    ]);
    for format in [Format::Bedrock, Format::Anthropic, Format::OpenAiResponses, Format::AiSdk] {
        let error = read(&&json!([beside[1]]), format).expect_err("its calls would be lost");
        assert!(error.to_string().contains("tool_calls"), "{error}");
    }
    assert!(read(&&beside, Format::Anthropic).is_err());
    let none_beside = json!([
        { "role": "assistant", "tool_calls": [],
          "content": [{ "type": "tool_use", "id": "a", "name": "b", "input": {} }] },
        { "role": "assistant", "reasoning": "kept by the host",
          "content": [{ "type": "tool_use", "id": "c", "name": "b", "input": {} }] },
    ]);
    for message in none_beside.as_array().into_iter().flatten() {
        assert_eq!(detect_format(&&json!([message])), Ok(Format::Anthropic), "{message}");
    }
    assert!(read(&&none_beside, Format::Anthropic).is_ok());
    let between = json!([
        { "role": "user", "content": [{ "type": "text", "text": "a" }] },
        { "role": "user", "content": [{ "text": "b" }] },
    ]);
    let error = detect_format(&&between).expect_err("it is mixed");
    assert!(
        matches!(&error, Error::Message { index: 1, problem, .. }
            if problem.contains("bedrock") && problem.contains("anthropic")),
        "{error}"
    );
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_conversation_with_calls_is_told_in_every_format(
        messages in conversation(Shape { output: 60, ..ANY }, "t"),
    ) {
        for format in Format::ALL {
            let input = render(&messages, format);
            let told = detect_format(&&input);
            let has_calls = check::turns(&input, format).iter().any(|turn| !turn.calls.is_empty());
            if has_calls {
                prop_assert_eq!(told, Ok(format));
            } else if let Ok(told) = told {
                prop_assert_eq!(told, format);
            }
        }
    }
}
