//! An answer stays with its question, and content that replaces everything before it stays.

use serde_json::{Value, json};
use ullage::invariants::{CutPoints, Pairs};
use ullage::message::Pin;
use ullage::validity::{OpenCalls, demands_of, repair, validate};
use ullage::wire::{Format, read};

/// The groups of a history, each as the entries of its first message and behind its last; it breaks no rule.
fn groups(messages: &Value, format: Format) -> Vec<(usize, usize)> {
    let conversation = read(&messages, format).expect("it can be read");
    assert_eq!(validate(&conversation, demands_of(format)), vec![], "{messages:#}");
    assert_eq!(repair(&conversation, demands_of(format), OpenCalls::Answer).repairs, vec![]);
    let groups = CutPoints::of(&conversation, &Pairs::of(&conversation)).groups();
    let spans = conversation.spans();
    let entries = groups.into_iter().map(|group| spans.entries(group));
    entries.map(|entries| (entries.start, entries.end)).collect()
}

#[test]
fn a_step_of_the_provider_stays_with_its_late_outcome() {
    let anthropic = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [
            { "type": "server_tool_use", "id": "s", "name": "code_execution", "input": { "code": "f()" } },
            { "type": "tool_use", "id": "c", "name": "f", "input": {}, "caller": { "type": "code_execution_20250825", "tool_id": "s" } },
        ] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c", "content": "1" }] },
        { "role": "assistant", "content": [
            { "type": "code_execution_tool_result", "tool_use_id": "s", "content": { "stdout": "1" } },
            { "type": "text", "text": "one" },
        ] },
        { "role": "user", "content": "thanks" },
    ]);
    assert_eq!(groups(&anthropic, Format::Anthropic), [(0, 1), (1, 4), (4, 5)]);

    let ai_sdk = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [
            { "type": "tool-call", "toolCallId": "s", "toolName": "code_execution", "input": {}, "providerExecuted": true },
            { "type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {} },
        ] },
        { "role": "tool", "content": [
            { "type": "tool-result", "toolCallId": "c", "toolName": "f", "output": { "type": "text", "value": "1" } },
        ] },
        { "role": "assistant", "content": [
            { "type": "tool-result", "toolCallId": "s", "toolName": "code_execution", "output": { "type": "text", "value": "1" } },
            { "type": "text", "text": "one" },
        ] },
        { "role": "user", "content": "thanks" },
    ]);
    assert_eq!(groups(&ai_sdk, Format::AiSdk), [(0, 1), (1, 4), (4, 5)]);
}

#[test]
fn a_decision_stays_with_its_request() {
    let messages = json!([
        { "role": "user", "content": "pay" },
        { "role": "assistant", "content": [
            { "type": "tool-call", "toolCallId": "s", "toolName": "mcp", "input": {}, "providerExecuted": true },
            { "type": "tool-approval-request", "approvalId": "r", "toolCallId": "s" },
        ] },
        { "role": "tool", "content": [
            { "type": "tool-approval-response", "approvalId": "r", "approved": true, "providerExecuted": true },
        ] },
        { "role": "assistant", "content": "paid" },
    ]);
    assert_eq!(groups(&messages, Format::AiSdk), [(0, 1), (1, 3), (3, 4)]);
}

#[test]
fn an_output_may_answer_a_call_that_the_provider_has_stored() {
    let output = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "x" });
    let said = |role: &str| json!({ "type": "message", "role": role, "content": "go" });
    let messages = json!([
        said("user"),
        { "type": "item_reference", "id": "rs_1" },
        { "id": "fc_1" },
        output("a"),
        said("assistant"),
    ]);
    assert_eq!(groups(&messages, Format::OpenAiResponses), [(0, 1), (1, 4), (4, 5)]);
    // There are no more calls than references, and they stand right before.
    for messages in [
        json!([said("user"), { "type": "item_reference", "id": "fc_1" }, output("a"), output("b")]),
        json!([{ "type": "item_reference", "id": "fc_1" }, said("user"), said("assistant"), output("a")]),
    ] {
        let messages = &messages;
        let conversation = read(&messages, Format::OpenAiResponses).expect("it can be read");
        assert_eq!(Pairs::of(&conversation).orphans().len(), 1, "{messages:#}");
    }
}

#[test]
fn what_stands_for_all_before_it_is_never_removed() {
    let compaction = json!({ "type": "compaction", "encrypted_content": "gAAA" });
    let said = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": text });
    let responses = json!([
        said("user", "a"),
        compaction,
        said("user", "b"),
        said("assistant", "c"),
        said("user", "d"),
        compaction,
        said("user", "e"),
    ]);
    let pins = |messages: &Value, format| -> Vec<bool> {
        let conversation = read(&messages, format).expect("it can be read");
        conversation.messages.iter().map(|message| message.pin == Pin::Pinned).collect()
    };
    // The older of the two is part of what the newer one stands for.
    assert_eq!(pins(&responses, Format::OpenAiResponses), [false, false, false, false, false, true, false]);
    let anthropic = json!([
        { "role": "user", "content": "a" },
        { "role": "assistant", "content": [{ "type": "compaction", "content": "so far" }, { "type": "text", "text": "b" }] },
        { "role": "user", "content": "c" },
    ]);
    assert_eq!(pins(&anthropic, Format::Anthropic), [false, true, false]);
}
