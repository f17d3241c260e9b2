//! Conversations that are large in one place: a step that looks at everything for each thing takes minutes here.

use std::collections::HashSet;

use serde_json::{Value, json};
use ullage::validity::{OpenCalls, demands_of, repair};
use ullage::wire::{Format, read, rewrite};

/// So many that their square is felt, and they are not.
const MANY: usize = 20_000;

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
