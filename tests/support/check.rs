//! What a provider takes, judged without any code of ullage's.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use ullage::planner::Plan;
use ullage::wire::{Change, Format};

/// A call or result: its block's id.
fn ids<'a>(message: &'a Value, format: Format, bedrock: &str, anthropic: (&str, &str)) -> Vec<&'a str> {
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    blocks
        .iter()
        .filter_map(|block| match format {
            Format::Bedrock => block[bedrock]["toolUseId"].as_str(),
            Format::Anthropic if block["type"] == anthropic.0 => block[anthropic.1].as_str(),
            Format::Anthropic => None,
        })
        .collect()
}

pub fn call_ids(message: &Value, format: Format) -> Vec<&str> {
    ids(message, format, "toolUse", ("tool_use", "id"))
}

pub fn result_ids(message: &Value, format: Format) -> Vec<&str> {
    ids(message, format, "toolResult", ("tool_result", "tool_use_id"))
}

/// What breaks the rule of pairs: calls are answered all together in the next message, and nothing else is answered.
/// The calls of the last message may wait.
pub fn unpaired(messages: &Value, format: Format) -> Vec<String> {
    let messages = messages.as_array().expect("a list");
    let mut problems = Vec::new();
    let mut waiting = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let mut answered = result_ids(message, format);
        answered.sort_unstable();
        if answered != waiting {
            problems.push(format!("message {index} answers {answered:?}, asked were {waiting:?}"));
        }
        waiting = call_ids(message, format);
        waiting.sort_unstable();
    }
    problems
}

/// How often a role follows itself, system messages aside, and whether the first one is the user's.
pub fn roles(messages: &Value) -> (usize, bool) {
    let roles: Vec<&Value> = messages
        .as_array()
        .expect("a list")
        .iter()
        .map(|message| &message["role"])
        .filter(|role| **role != "system")
        .collect();
    let repeated = roles.windows(2).filter(|pair| pair[0] == pair[1]).count();
    (repeated, roles.first().is_none_or(|role| **role == "user"))
}

pub fn is_pinned(message: &Value) -> bool {
    message["metadata"]["custom"]["pinned"] == true
}

pub fn is_signed(message: &Value) -> bool {
    message["content"].as_array().is_some_and(|blocks| {
        blocks.iter().any(|block| {
            block["reasoningContent"]["reasoningText"]["signature"].is_string()
                || block["signature"].as_str().is_some_and(|signature| !signature.is_empty())
        })
    })
}

/// Index before, index after of every message that stays.
pub fn survivors(plan: &Plan) -> BTreeMap<usize, usize> {
    plan.changes()
        .iter()
        .enumerate()
        .filter_map(|(after, change)| match change {
            Change::Keep { message } | Change::Edit { message, .. } => Some((*message, after)),
            Change::Insert { .. } => None,
        })
        .collect()
}

/// The blocks of a content, a plain string being one.
pub fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::Array(blocks) => blocks.clone(),
        Value::String(text) => vec![serde_json::json!({ "type": "text", "text": text })],
        other => vec![other.clone()],
    }
}

/// Every string in a value, at any depth.
pub fn strings<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, into)),
        _ => {}
    }
}

/// What looks like a reference in a text.
pub fn references(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    text.split(|c: char| !word(c))
        .filter(|word| {
            word.rsplit_once('-').is_some_and(|(tool, hash)| {
                !tool.is_empty() && hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit())
            })
        })
        .map(str::to_owned)
        .collect()
}
