//! Conversations that are large in one place: a step that looks at everything for each thing takes minutes here.

use std::collections::HashSet;

use crate::support::{Outcome, compact, engine, estimate, fresh_count, rewrite, small_policy};
use serde_json::{Value, json};
use ullage::message::Part;
use ullage::planner::Urgency;
use ullage::policy::{Policy, StageName};
use ullage::store::Storing;
use ullage::validity::{OpenCalls, demands_of, repair, validate};
use ullage::wire::{Format, read};

/// So many that their square is felt, and they are not.
const MANY: usize = 10_000;

fn mend(messages: &Value, format: Format) -> Vec<Value> {
    let conversation = read(&messages, format).expect("it can be read");
    let repaired = repair(&conversation, demands_of(format), OpenCalls::Remove);
    assert!(!repaired.repairs.is_empty(), "there is something to mend");
    rewrite(&messages, &conversation, format, &repaired.changes).expect("it can be written")
}

fn chat_call(id: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": "ls", "arguments": "{}" } })
}

fn chat_result(id: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": "a" })
}

#[test]
fn a_message_of_many_blocks_and_calls_is_put_together_anew() {
    let blocks: Vec<Value> = (0..MANY).map(|block| json!({ "type": "text", "text": block.to_string() })).collect();
    let calls: Vec<Value> = (0..MANY).map(|call| chat_call(&call.to_string())).collect();
    let mut messages = vec![
        json!({ "role": "user", "content": "go" }),
        json!({ "role": "assistant", "content": blocks, "tool_calls": calls }),
    ];
    messages.extend((1..MANY).map(|call| chat_result(&call.to_string())));
    let mended = mend(&Value::Array(messages.clone()), Format::OpenAi);
    assert_eq!(mended[1]["content"], messages[1]["content"]);
    assert_eq!(mended[1]["tool_calls"].as_array().map(|calls| &calls[..]), Some(&calls[1..]));
    assert_eq!(mended[2..], messages[2..]);
}

#[test]
fn many_calls_with_one_id_get_ids_of_their_own() {
    let call = json!({ "type": "tool_use", "id": "a", "name": "ls", "input": {} });
    let result = json!({ "type": "tool_result", "tool_use_id": "a", "content": "b" });
    let messages = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": vec![call; MANY] },
        { "role": "user", "content": vec![result; MANY] },
    ]);
    let mended = mend(&messages, Format::Anthropic);
    let ids = |message: usize, key: &str| -> HashSet<String> {
        let blocks = mended[message]["content"].as_array().expect("a list of blocks");
        blocks.iter().filter_map(|block| block[key].as_str()).map(str::to_owned).collect()
    };
    assert_eq!(ids(1, "id").len(), MANY);
    assert_eq!(ids(1, "id"), ids(2, "tool_use_id"));
}

/// Down to half of what it takes.
fn halve(messages: &Value, format: Format, stage: StageName) -> Outcome {
    let policy = Policy { window: 100_000_000, stages: vec![stage], ..small_policy() };
    let budget = fresh_count(messages, format, &estimate()) / 2;
    compact(&engine(&policy, &estimate(), Storing::On), messages, format, budget, Urgency::Hard).expect("there is room")
}

#[test]
fn a_system_message_after_every_turn_makes_many_gaps() {
    const TURNS: usize = 4_000;
    let turn = |turn: usize| {
        let answer = "all is well, as far as can be told ".repeat(20);
        [
            json!({ "role": "user", "content": format!("and {turn}?") }),
            json!({ "role": "assistant", "content": answer }),
            json!({ "role": "system", "content": "be brief" }),
        ]
    };
    let messages: Value = (0..TURNS).flat_map(turn).collect();
    let outcome = halve(&messages, Format::OpenAi, StageName::Window);
    assert!(outcome.plan.edits.len() > TURNS / 4, "{}", outcome.plan.edits.len());
}

#[test]
fn many_results_in_a_row_are_shortened() {
    let text = "all is well\n".repeat(120);
    let calls: Vec<Value> = (0..MANY).map(|call| chat_call(&call.to_string())).collect();
    let result = |call: usize| json!({ "role": "tool", "tool_call_id": call.to_string(), "content": text });
    let mut messages =
        vec![json!({ "role": "user", "content": "go" }), json!({ "role": "assistant", "tool_calls": calls })];
    messages.extend((0..MANY).map(result));
    let word = |role: &str| json!({ "role": role, "content": "done" });
    messages.extend(["assistant", "user"].into_iter().cycle().take(6).map(word));
    let outcome = halve(&Value::Array(messages), Format::OpenAi, StageName::Offload);
    assert!(outcome.plan.edits.len() > MANY / 2, "{}", outcome.plan.edits.len());
}

#[test]
fn many_items_of_one_output_are_stored() {
    let text = "all is well\n".repeat(120);
    let block = json!({ "type": "input_text", "text": text });
    let mut messages = vec![
        json!({ "type": "message", "role": "user", "content": "go" }),
        json!({ "type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}" }),
        json!({ "type": "function_call_output", "call_id": "c", "output": vec![block; MANY] }),
    ];
    let word = |role: &str| json!({ "type": "message", "role": role, "content": "done" });
    messages.extend(["assistant", "user"].into_iter().cycle().take(6).map(word));
    let outcome = halve(&Value::Array(messages), Format::OpenAiResponses, StageName::Offload);
    assert!(outcome.plan.edits.len() > MANY / 2, "{}", outcome.plan.edits.len());
}

#[test]
fn many_results_behind_many_system_messages_are_late() {
    const CALLS: usize = 10 * MANY;
    let calls: Vec<Value> = (0..CALLS).map(|call| chat_call(&call.to_string())).collect();
    let mut messages = vec![json!({ "role": "assistant", "tool_calls": calls })];
    messages.extend(vec![json!({ "role": "system", "content": "be brief" }); CALLS]);
    messages.extend((0..CALLS).map(|call| chat_result(&call.to_string())));
    let messages = &Value::Array(messages);
    let conversation = read(&messages, Format::OpenAi).expect("it can be read");
    assert_eq!(validate(&conversation, demands_of(Format::OpenAi)).len(), CALLS);
}

#[test]
fn a_model_that_answers_many_calls_itself_is_read() {
    let call =
        |call: usize| json!({ "type": "tool-call", "toolCallId": call.to_string(), "toolName": "ls", "input": {} });
    let result = |call: usize| json!({ "type": "tool-result", "toolCallId": call.to_string(), "toolName": "ls" });
    let parts: Vec<Value> = (0..2 * MANY).map(call).chain((0..2 * MANY).map(result)).collect();
    let messages = json!([{ "role": "assistant", "content": parts }]);
    let conversation = read(&&messages, Format::AiSdk).expect("it can be read");
    assert!(conversation.messages[0].parts.iter().all(|part| matches!(part, Part::Opaque(_))));
}
