//! The entries of a message that is repaired: which of them stay, and the form of the new ones.

use crate::support::rewrite;
use serde_json::{Value, json};
use ullage::invariants::Pairs;
use ullage::message::Part;
use ullage::validity::{OpenCalls, demands_of, repair, validate};
use ullage::wire::{Change, Format, detect_format, read};

/// The mended history, which breaks no rule any more.
fn mended(messages: &Value, format: Format) -> Value {
    mended_with(messages, format, OpenCalls::Answer)
}

fn mended_with(messages: &Value, format: Format, open: OpenCalls) -> Value {
    let conversation = read(&messages, format).expect("it can be read");
    let repaired = repair(&conversation, demands_of(format), open);
    let out = Value::Array(rewrite(&messages, &conversation, format, &repaired.changes).expect("it can be written"));
    let left = validate(&read(&&out, format).expect("it can be read"), demands_of(format));
    assert_eq!(left, vec![], "{out:#}");
    out
}

/// A repaired list needs no further repair.
fn mended_once(messages: &Value, format: Format) {
    for open in [OpenCalls::Answer, OpenCalls::Remove] {
        let output = mended_with(messages, format, open);
        assert_eq!(mended_with(&output, format, open), output);
    }
}

fn rules(messages: &Value, format: Format) -> Vec<&'static str> {
    let conversation = read(&messages, format).expect("it can be read");
    validate(&conversation, demands_of(format)).into_iter().map(|violation| violation.rule).collect()
}

/// Two calls, a result to the first, and the words of a user with fields of their own.
fn half_answered(format: Format) -> Value {
    let pinned = json!({ "custom": { "pinned": true } });
    match format {
        Format::OpenAi => json!([
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } },
                { "id": "b", "type": "function", "function": { "name": "f", "arguments": "{}" } },
            ] },
            { "role": "tool", "tool_call_id": "a", "name": "f", "content": "one" },
            { "role": "user", "name": "anna", "metadata": pinned, "content": "and then?" },
        ]),
        Format::AiSdk => json!([
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": [
                { "type": "tool-call", "toolCallId": "a", "toolName": "f", "input": {} },
                { "type": "tool-call", "toolCallId": "b", "toolName": "f", "input": {} },
            ] },
            { "role": "tool", "providerOptions": { "x": 1 }, "content": [
                { "type": "tool-result", "toolCallId": "a", "toolName": "f", "output": { "type": "text", "value": "one" } },
            ] },
            { "role": "user", "providerOptions": { "x": 2 }, "metadata": pinned, "content": "and then?" },
        ]),
        Format::Gemini => json!([
            { "role": "user", "parts": [{ "text": "go" }] },
            { "role": "model", "parts": [
                { "functionCall": { "id": "a", "name": "f", "args": {} } },
                { "functionCall": { "id": "b", "name": "f", "args": {} } },
            ] },
            { "role": "user", "note": 1, "parts": [
                { "functionResponse": { "id": "a", "name": "f", "response": { "result": "one" } } },
            ] },
            { "role": "user", "note": 2, "metadata": pinned, "parts": [{ "text": "and then?" }] },
        ]),
        _ => json!([
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": [
                { "type": "tool_use", "id": "a", "name": "f", "input": {} },
                { "type": "tool_use", "id": "b", "name": "f", "input": {} },
            ] },
            { "role": "user", "note": 1, "content": [{ "type": "tool_result", "tool_use_id": "a", "content": "one" }] },
            { "role": "user", "note": 2, "metadata": pinned, "content": "and then?" },
        ]),
    }
}

#[test]
fn words_behind_a_mended_result_stay_the_entry_that_they_are() {
    for format in [Format::OpenAi, Format::AiSdk, Format::Gemini, Format::Anthropic] {
        let input = half_answered(format);
        let output = mended(&input, format);
        let entries = output.as_array().expect("a list");
        assert_eq!(entries[..2], input.as_array().expect("a list")[..2], "{}", format.name());
        assert_eq!(entries.last(), input.get(3), "{}: {output:#}", format.name());
        // The result keeps its fields too; where results share an entry, the new one stands in it.
        let fields = |entry: &Value| ["name", "providerOptions", "note"].map(|key| entry.get(key).cloned());
        assert_eq!(fields(&entries[2]), fields(&input[2]), "{}: {output:#}", format.name());
    }
}

#[test]
fn parallel_results_of_gemini_share_a_content() {
    let output = mended(&half_answered(Format::Gemini), Format::Gemini);
    let responses = output[2]["parts"].as_array().expect("a list");
    assert_eq!(responses.len(), 2, "{output:#}");
    assert_eq!(responses[1]["functionResponse"]["id"], "b");
}

#[test]
fn parallel_results_of_gemini_that_came_apart_are_put_together() {
    let call = |id: &str| json!({ "functionCall": { "id": id, "name": "f", "args": {} } });
    let response = |id: &str| json!({ "functionResponse": { "id": id, "name": "f", "response": { "result": id } } });
    let words = json!({ "role": "user", "parts": [{ "text": "go on" }] });
    let input = json!([
        { "role": "user", "parts": [{ "text": "go" }] },
        { "role": "model", "parts": [call("a"), call("b")] },
        { "role": "user", "parts": [response("a")] },
        { "role": "user", "parts": [response("b")] },
        words,
    ]);
    assert_eq!(rules(&input, Format::Gemini), ["parallel-results-together"]);
    let output = mended(&input, Format::Gemini);
    assert_eq!(output[2]["parts"], json!([response("a"), response("b")]), "{output:#}");
    assert_eq!(output[3], words);
    assert_eq!(output.as_array().map(Vec::len), Some(4));
}

#[test]
fn messages_that_are_joined_keep_a_pin() {
    let input = json!([
        { "role": "user", "content": [{ "text": "go" }], "note": 1, "name": "berta",
            "metadata": { "custom": { "by": "berta" }, "seen": true } },
        { "role": "user", "content": [{ "text": "never touch this" }], "note": 2,
            "metadata": { "custom": { "pinned": true, "by": "anna" }, "usage": { "in": 5 } } },
        { "role": "assistant", "content": [{ "text": "done" }] },
    ]);
    let output = mended(&input, Format::Bedrock);
    assert_eq!(output[0]["content"], json!([{ "text": "go" }, { "text": "never touch this" }]));
    // If both have a field, the field of the pinned one stays.
    let metadata = json!({ "custom": { "pinned": true, "by": "anna" }, "usage": { "in": 5 }, "seen": true });
    assert_eq!(output[0]["metadata"], metadata);
    assert_eq!((&output[0]["note"], &output[0]["name"]), (&json!(2), &json!("berta")));
}

#[test]
fn what_bedrock_gets_in_two_messages_of_one_role_is_put_into_one() {
    let call = |id: &str| json!({ "toolUse": { "toolUseId": id, "name": "f", "input": {} } });
    let result =
        |id: &str| json!({ "toolResult": { "toolUseId": id, "status": "success", "content": [{ "text": id }] } });
    let text = |text: &str| json!({ "text": text });
    let said = |role: &str, blocks: &[Value]| json!({ "role": role, "content": blocks, "note": blocks.len() });
    let mut aside = said("user", &[text("and mind the tests")]);
    aside["metadata"] = json!({ "custom": { "pinned": true } });
    let input = json!([
        said("user", &[text("go")]),
        said("assistant", &[text("first")]),
        said("assistant", &[call("a"), call("b")]),
        said("user", &[result("a")]),
        said("user", &[result("b")]),
        aside,
        said("assistant", &[text("done")]),
    ]);
    let conversation = read(&&input, Format::Bedrock).expect("it can be read");
    let places: Vec<_> = validate(&conversation, demands_of(Format::Bedrock))
        .into_iter()
        .map(|violation| (violation.rule, conversation.spans().place(violation.message, violation.part.unwrap_or(0))))
        .collect();
    assert_eq!(places, [2, 4, 5].map(|entry| ("roles-alternate", (entry, 0))));
    let output = mended(&input, Format::Bedrock);
    let contents: Vec<&Value> = output.as_array().expect("a list").iter().map(|entry| &entry["content"]).collect();
    assert_eq!(
        contents,
        [
            &json!([text("go")]),
            &json!([text("first"), call("a"), call("b")]),
            &json!([result("a"), result("b"), text("and mind the tests")]),
            &json!([text("done")]),
        ]
    );
    assert_eq!(output[2]["metadata"], aside["metadata"]);
    // A host that may send them this way needs no repair.
    let elsewhere = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": "first" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "f", "input": {} }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a", "content": "one" }] },
        { "role": "user", "content": "and mind the tests" },
        { "role": "assistant", "content": "done" },
    ]);
    assert_eq!(mended(&elsewhere, Format::Anthropic), elsewhere);
}

#[test]
fn what_a_model_says_stays_together_when_a_call_is_removed() {
    let call = |id: &str| json!({ "functionCall": { "id": id, "name": "f", "args": {} } });
    let input = json!([
        { "role": "user", "parts": [{ "text": "go" }] },
        { "role": "model", "parts": [call("a")] },
        { "role": "model", "parts": [{ "text": "and" }, call("b")] },
        { "role": "user", "parts": [{ "functionResponse": { "id": "a", "name": "f", "response": { "result": "x" } } }] },
        { "role": "model", "parts": [{ "text": "done" }] },
    ]);
    let output = mended_with(&input, Format::Gemini, OpenCalls::Remove);
    assert_eq!(output[1]["parts"], json!([call("a"), { "text": "and" }]));
    assert_eq!(output[2], input[3]);
}

/// A request, and two calls of which the second asks a person.
fn asking() -> Vec<Value> {
    let call = |id: &str| json!({ "type": "tool-call", "toolCallId": id, "toolName": "pay", "input": {} });
    vec![
        json!({ "role": "user", "content": "pay them" }),
        json!({ "role": "assistant", "content": [
            call("a"),
            call("b"),
            { "type": "tool-approval-request", "approvalId": "r", "toolCallId": "b" },
        ] }),
    ]
}

fn paid(id: &str) -> Value {
    json!({ "type": "tool-result", "toolCallId": id, "toolName": "pay", "output": { "type": "text", "value": "ok" } })
}

fn tool(parts: &[Value]) -> Value {
    json!({ "role": "tool", "content": parts })
}

fn approved() -> Value {
    json!({ "type": "tool-approval-response", "approvalId": "r", "approved": true })
}

#[test]
fn a_call_that_waits_for_approval_is_no_open_call() {
    let said = json!({ "role": "user", "content": "and?" });
    let lawful = [
        vec![tool(&[paid("a")])],
        vec![tool(&[paid("a"), approved()])],
        vec![tool(&[paid("a")]), tool(&[approved()])],
        vec![tool(&[paid("a")]), tool(&[approved()]), tool(&[paid("b")])],
        // The SDK lets go on what a person has decided.
        vec![tool(&[paid("a"), approved()]), said.clone()],
    ];
    for behind in lawful {
        let messages = Value::Array([asking(), behind].concat());
        assert_eq!(rules(&messages, Format::AiSdk), [""; 0], "{messages:#}");
        assert_eq!(mended(&messages, Format::AiSdk), messages);
    }
    // The first call asks nobody.
    let messages = Value::Array(asking());
    assert_eq!(rules(&messages, Format::AiSdk), ["call-has-result"]);
    let output = mended(&messages, Format::AiSdk);
    assert_eq!((&output[2]["content"][0]["toolCallId"], output[2]["content"].get(1)), (&json!("a"), None));
    // Nor does the SDK go on when nobody has decided.
    let messages = Value::Array([asking(), vec![tool(&[paid("a")]), said]].concat());
    assert_eq!(rules(&messages, Format::AiSdk), ["call-has-result"]);
    mended(&messages, Format::AiSdk);
}

#[test]
fn a_decision_stays_in_a_message_of_the_tools() {
    let messages = Value::Array([asking(), vec![tool(&[approved()])]].concat());
    let output = mended(&messages, Format::AiSdk);
    let roles: Vec<_> = output.as_array().expect("a list").iter().map(|entry| entry["role"].clone()).collect();
    assert_eq!(roles[..2], ["user", "assistant"]);
    assert!(roles[2..].iter().all(|role| role == "tool"), "{output:#}");
    assert!(output.to_string().contains("tool-approval-response"));
    // With something to mend in its own message too.
    let messages = Value::Array([asking(), vec![tool(&[approved(), paid("a"), paid("x")])]].concat());
    let output = mended(&messages, Format::AiSdk);
    assert_eq!(output[2], tool(&[paid("a"), approved()]), "{output:#}");
    assert_eq!(output[3]["role"], "user");
}

#[test]
fn a_call_of_before_there_were_tools_is_answered_by_a_function() {
    let messages = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": null, "function_call": { "name": "ls", "arguments": "{}" } },
        { "role": "user", "content": "and?" },
    ]);
    let output = mended(&messages, Format::OpenAi);
    assert_eq!((&output[2]["role"], &output[2]["name"]), (&json!("function"), &json!("ls")));
    assert!(output[2]["content"].as_str().is_some_and(|text| text.contains("never answered")));
    assert_eq!(output[2].get("tool_call_id"), None);
    assert_eq!(output[3], messages[2]);
}

#[test]
fn calls_without_ids_are_matched_by_their_places() {
    let call = |name: &str| json!({ "id": null, "name": name, "args": {}, "type": "tool_call" });
    let result = |name: &str| json!({ "role": "tool", "tool_call_id": null, "name": name, "content": name });
    let messages = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": "", "tool_calls": [call("ls"), call("cat")] },
        result("cat"),
        result("ls"),
        { "role": "assistant" },
    ]);
    let conversation = read(&&messages, Format::OpenAi).expect("it can be read");
    let results: Vec<_> = Pairs::of(&conversation).calls().iter().map(|call| call.result).collect();
    assert_eq!(results, [Some((2, 1)), Some((2, 0))]);
    let open = json!([messages[0], messages[1], messages[2]]);
    let output = mended(&open, Format::OpenAi);
    assert!(output.as_array().expect("a list").contains(&messages[2]));
}

#[test]
fn an_answer_of_nothing_is_an_answer_of_chat() {
    for nothing in [json!({ "role": "assistant" }), json!({ "role": "assistant", "content": null })] {
        let messages = json!([{ "role": "user", "content": "go" }, nothing, { "role": "user", "content": "well?" }]);
        assert_eq!(detect_format(&&messages).expect("it is told"), Format::OpenAi);
        assert_eq!(rules(&messages, Format::OpenAi), ["no-empty-message"]);
        assert_eq!(mended(&messages, Format::OpenAi), json!([messages[0], messages[2]]));
    }
}

#[test]
fn reasoning_that_is_written_several_times_counts_once_and_goes_at_once() {
    let said = json!({
        "role": "assistant",
        "reasoning_content": "hm",
        "thinking_blocks": [{ "type": "thinking", "thinking": "hm", "signature": "s" }],
        "reasoning_details": [{ "type": "reasoning.text", "text": "hm", "signature": "s" }],
        "content": "yes",
        "tool_calls": [{ "id": "a", "type": "function", "function": { "name": "ls", "arguments": "{}" } }],
    });
    let messages = json!([{ "role": "user", "content": "go" }, said, { "role": "user", "content": "well?" }]);
    let conversation = read(&&messages, Format::OpenAi).expect("it can be read");
    let reasoning = |part: &&Part<_>| matches!(part, Part::Reasoning { .. });
    assert_eq!(conversation.messages[1].parts.iter().filter(reasoning).count(), 1);

    let drop = vec![Change::Edit { message: 1, items: vec![], drop: vec![0], append: vec![], calls: vec![] }];
    let out = rewrite(&&messages, &conversation, Format::OpenAi, &drop).expect("it can be written");
    let left: Vec<&str> = out[0].as_object().expect("a message").keys().map(String::as_str).collect();
    assert_eq!(left, ["role", "content", "tool_calls"]);

    // It stays wherever it stood when something else goes.
    let output = mended_with(&messages, Format::OpenAi, OpenCalls::Remove);
    let mut kept = said.clone();
    kept.as_object_mut().expect("a message").shift_remove("tool_calls");
    assert_eq!(output[1], kept);
}

/// A result without a call that holds a picture, and the block of the picture in a message of the user.
fn lost_picture(format: Format) -> (Value, Value) {
    let data = "iVBORw0KGgo=";
    let url = format!("data:image/png;base64,{data}");
    let lost = |entry: Value| json!([entry]);
    match format {
        Format::Bedrock => {
            let block = json!({ "image": { "format": "png", "source": { "bytes": data } } });
            let result = json!({ "toolUseId": "x", "status": "success", "content": [block] });
            (lost(json!({ "role": "user", "content": [{ "toolResult": result }] })), block)
        }
        Format::Anthropic => {
            let source = json!({ "type": "base64", "media_type": "image/png", "data": data });
            let block = json!({ "type": "image", "source": source });
            let result = json!({ "type": "tool_result", "tool_use_id": "x", "content": [block] });
            (lost(json!({ "role": "user", "content": [result] })), block)
        }
        Format::OpenAi => {
            let block = json!({ "type": "image_url", "image_url": { "url": url } });
            (lost(json!({ "role": "tool", "tool_call_id": "x", "content": [block] })), block)
        }
        Format::OpenAiResponses => {
            let output = json!({ "type": "computer_screenshot", "image_url": url });
            let item = json!({ "type": "computer_call_output", "call_id": "x", "output": output });
            (lost(item), json!({ "type": "input_image", "image_url": url }))
        }
        Format::Gemini => {
            let block = json!({ "inlineData": { "mimeType": "image/png", "data": data } });
            let response = json!({ "name": "f", "response": { "result": "see" }, "parts": [block] });
            (lost(json!({ "role": "user", "parts": [{ "functionResponse": response }] })), block)
        }
        Format::AiSdk => {
            let item = json!({ "type": "media", "data": data, "mediaType": "image/png" });
            let output = json!({ "type": "content", "value": [{ "type": "text", "text": "see" }, item] });
            let result = json!({ "type": "tool-result", "toolCallId": "x", "toolName": "f", "output": output });
            let block = json!({ "type": "image", "image": data, "mediaType": "image/png" });
            (lost(json!({ "role": "tool", "content": [result] })), block)
        }
    }
}

#[test]
fn a_picture_of_a_lost_result_stays() {
    for format in Format::ALL {
        let (input, block) = lost_picture(format);
        let output = mended(&input, format);
        let user = output.as_array().expect("a list").iter().all(|entry| entry["role"] == "user");
        assert!(user && output.to_string().contains(&block.to_string()), "{}: {output:#}", format.name());
        let conversation = read(&&output, format).expect("it can be read");
        let pictures = conversation.messages.iter().flat_map(|message| &message.parts);
        let pictures = pictures.filter(|part| matches!(part, Part::Media(_)));
        assert_eq!(pictures.count(), 1, "{}: {output:#}", format.name());
    }
    // Content that is stored at the provider cannot be in a message of the user.
    let item = json!({ "type": "image-file-id", "fileId": "f" });
    let output = json!({ "type": "content", "value": [item] });
    let result = json!({ "type": "tool-result", "toolCallId": "x", "toolName": "f", "output": output });
    mended(&json!([{ "role": "tool", "content": [result] }]), Format::AiSdk);
}

#[test]
fn results_of_gemini_stand_in_contents_of_their_own() {
    let call = json!({ "functionCall": { "id": "a", "name": "ls", "args": {} } });
    let response =
        |name: &str| json!({ "functionResponse": { "id": "a", "name": name, "response": { "result": "x" } } });
    let history = |parts: Value| {
        json!([
            { "role": "user", "parts": [{ "text": "go" }] },
            { "role": "model", "parts": [call] },
            { "role": "user", "note": 1, "parts": parts },
            { "role": "model", "parts": [{ "text": "done" }] },
        ])
    };
    let mixed = history(json!([{ "text": "and?" }, response("ls")]));
    assert_eq!(rules(&mixed, Format::Gemini), ["results-not-mixed"]);
    let output = mended(&mixed, Format::Gemini);
    assert_eq!(output[2]["parts"], json!([response("ls")]));
    assert_eq!(output[3]["parts"], json!([{ "text": "and?" }]));

    let misnamed = history(json!([response("cat")]));
    assert_eq!(rules(&misnamed, Format::Gemini), ["result-names-tool"]);
    assert_eq!(mended(&misnamed, Format::Gemini), history(json!([response("ls")])));
}

#[test]
fn entries_of_an_answer_stay_apart_with_their_fields_when_calls_go() {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "ls", "arguments": "{}" } });
    let thought =
        json!({ "role": "assistant", "name": "anna", "content": "Here.", "reasoning_content": "Where is it?" });
    let second = json!({ "role": "assistant", "name": "berta", "content": "Then there.", "reasoning_content": "And there?",
        "tool_calls": [call("a"), call("a")] });
    let input = json!([{ "role": "user", "content": "go" }, thought, second]);
    let mut output = mended_with(&input, Format::OpenAi, OpenCalls::Remove);
    assert_eq!(output[1], input[1]);
    output[2]["tool_calls"] = input[2]["tool_calls"].clone();
    assert_eq!(output[2], input[2]);

    let mut output = mended(&input, Format::OpenAi);
    assert_eq!(output[1], input[1]);
    assert_eq!(output[2]["tool_calls"], json!([call("a"), call("a-2")]));
    output[2]["tool_calls"] = input[2]["tool_calls"].clone();
    assert_eq!(output[2], input[2]);

    let said = |name: &str, kind: Value| json!({ "role": "assistant", "name": name, "content": [kind, { "type": "text", "text": name }] });
    let use_of = |id: &str| json!({ "type": "tool_use", "id": id, "name": "ls", "input": {} });
    let input = json!([
        { "role": "user", "content": "go" },
        said("anna", use_of("a")),
        said("berta", use_of("b")),
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a", "content": "one" }] },
    ]);
    let output = mended_with(&input, Format::Anthropic, OpenCalls::Remove);
    assert_eq!(output[1], input[1]);
    assert_eq!(
        output[2],
        json!({ "role": "assistant", "name": "berta", "content": [{ "type": "text", "text": "berta" }] })
    );
    assert_eq!(output[3], input[3]);
}

#[test]
fn a_pinned_result_stays_pinned_wherever_it_goes() {
    let pin = json!({ "custom": { "pinned": true, "by": "berta" }, "usage": { "in": 5 } });
    let result =
        |id: &str| json!({ "toolResult": { "toolUseId": id, "content": [{ "text": format!("output {id}") }] } });
    let input = json!([
        { "role": "user", "content": [{ "text": "go" }] },
        { "role": "assistant", "content": [{ "toolUse": { "toolUseId": "a", "name": "f", "input": {} } }] },
        { "role": "user", "content": [{ "text": "and?" }], "metadata": { "custom": { "by": "anna" } } },
        { "role": "assistant", "content": [{ "text": "well" }] },
        { "role": "user", "content": [result("a")], "metadata": pin },
        { "role": "assistant", "content": [{ "text": "done" }] },
        { "role": "user", "content": [result("lost")], "metadata": pin },
        { "role": "assistant", "content": [{ "toolUse": { "toolUseId": "b", "name": "f", "input": {} } }] },
        { "role": "assistant", "content": [{ "text": "well" }] },
        { "role": "user", "content": [result("b")], "metadata": pin, "note": 1 },
    ]);
    let output = mended(&input, Format::Bedrock);
    assert_eq!(output[2]["content"][0], result("a"));
    assert_eq!(output[2]["metadata"], json!({ "custom": { "by": "anna", "pinned": true }, "usage": { "in": 5 } }));
    assert!(output[4]["content"].to_string().contains("output lost"), "{output:#}");
    assert_eq!(output[4]["metadata"], pin);
    assert_eq!(
        output[6],
        json!({ "role": "user", "content": [result("b")], "metadata": pin, "note": 1 }),
        "{output:#}"
    );

    let input = json!([
        { "role": "user", "content": "go" },
        { "role": "tool", "tool_call_id": "lost", "content": "the output", "metadata": pin },
        { "role": "user", "content": "and?" },
    ]);
    let output = mended(&input, Format::OpenAi);
    assert!(output[1]["content"].to_string().contains("the output"), "{output:#}");
    assert_eq!((&output[1]["metadata"], &output[2]), (&pin, &input[2]));
}

#[test]
fn calls_among_results_of_the_ai_sdk_stand_in_one_answer() {
    let call = |id: &str| json!({ "type": "tool-call", "toolCallId": id, "toolName": "f", "input": {} });
    let output = json!({ "type": "text", "value": "out" });
    let result = |id: &str| json!({ "type": "tool-result", "toolCallId": id, "toolName": "f", "output": output });
    let thought = json!({ "type": "reasoning", "text": "Why?" });
    let entry = |role: &str, parts: &[Value]| json!({ "role": role, "content": parts });
    let histories = [
        json!([entry("tool", &[call("x")]), entry("tool", &[call("y")]), entry("tool", &[result("x"), result("y")])]),
        json!([entry("tool", &[result("a"), result("b"), call("x")]), entry("user", &[call("y")])]),
        json!([entry("tool", &[result("a"), call("x")]), entry("user", std::slice::from_ref(&thought))]),
        json!([entry("tool", &[thought])]),
    ];
    for input in &histories {
        mended_once(input, Format::AiSdk);
    }
}

#[test]
fn a_part_of_gemini_that_is_two_things_is_mended_as_what_it_is_read_as() {
    let call = |id: &str| json!({ "functionCall": { "id": id, "name": "f", "args": {} } });
    let mut both = call("a");
    both["functionResponse"] = json!({});
    let said = json!({ "functionResponse": {}, "text": "s" });
    let entry = |role: &str, parts: &[Value]| json!({ "role": role, "parts": parts });
    let go = entry("user", &[json!({ "text": "go" })]);
    let histories = [
        json!([go, entry("model", &[both, call("b")]), entry("user", std::slice::from_ref(&said))]),
        json!([go, entry("model", &[call("a")]), entry("user", &[said])]),
    ];
    for input in &histories {
        mended_once(input, Format::Gemini);
    }
}

#[test]
fn a_call_that_may_wait_is_not_removed() {
    let call = json!({ "functionCall": { "id": "a", "name": "f", "args": {} } });
    let input = json!([{ "role": "user", "parts": [{ "text": "go" }] }, { "role": "model", "parts": [call] }]);
    assert_eq!(mended_with(&input, Format::Gemini, OpenCalls::Remove), input);
}

/// Repairs a history whose last calls may wait, and once more.
fn mended_waiting(messages: &Value, format: Format) -> Value {
    let once = |messages: &Value| {
        let conversation = read(&messages, format).expect("it can be read");
        let repaired = repair(&conversation, demands_of(format), OpenCalls::Wait);
        Value::Array(rewrite(&messages, &conversation, format, &repaired.changes).expect("it can be written"))
    };
    let output = once(messages);
    assert_eq!(once(&output), output);
    output
}

#[test]
fn a_result_without_a_call_ends_the_wait_of_the_calls_before_it() {
    let call = json!({ "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let lost = json!({ "role": "tool", "tool_call_id": "lost", "content": "one" });
    let go = json!({ "role": "user", "content": "go" });
    let input = json!([go, { "role": "assistant", "content": null, "tool_calls": [call] }, lost]);
    let output = mended_waiting(&input, Format::OpenAi);
    assert_eq!(output[2]["tool_call_id"], "a");
    assert_eq!(output[3]["role"], "user");
}

#[test]
fn a_message_that_is_dropped_does_not_end_the_wait() {
    let call = json!({ "type": "tool_use", "id": "a", "name": "f", "input": {} });
    let go = json!({ "role": "user", "content": "go" });
    let waiting = json!([go, { "role": "assistant", "content": [call] }]);
    let mut input = waiting.clone();
    input.as_array_mut().expect("a list").push(json!({ "role": "user", "content": [{ "type": "text", "text": " " }] }));
    assert_eq!(mended_waiting(&input, Format::Anthropic), waiting);
}

#[test]
fn a_system_message_that_becomes_the_users_ends_the_wait() {
    let call = json!({ "type": "tool_use", "id": "a", "name": "f", "input": {} });
    let go = json!({ "role": "user", "content": "go" });
    let input = json!([go, { "role": "assistant", "content": [call] }, { "role": "system", "content": "Be brief." }]);
    let output = mended_waiting(&input, Format::Anthropic);
    assert_eq!(output[2]["content"][0]["tool_use_id"], "a");
}

#[test]
fn a_result_without_a_call_ends_the_wait_for_approval() {
    let call = json!({ "type": "tool-call", "toolCallId": "a", "toolName": "f", "input": {} });
    let ask = json!({ "type": "tool-approval-request", "approvalId": "r", "toolCallId": "a" });
    let output = json!({ "type": "text", "value": "out" });
    let lost = json!({ "type": "tool-result", "toolCallId": "lost", "toolName": "f", "output": output });
    let input = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [call, ask] },
        { "role": "tool", "content": [lost] },
    ]);
    mended_once(&input, Format::AiSdk);
    mended_waiting(&input, Format::AiSdk);
}
