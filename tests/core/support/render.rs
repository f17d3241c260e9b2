//! A conversation of no format, written in each of them, with fields that ullage does not know.

use std::collections::HashMap;

use serde_json::{Value, json};
use ullage::wire::Format;

use super::{Block, Item, Message};

const IMAGE: &str = "AA==";
const IMAGE_URL: &str = "data:image/png;base64,AA==";
const SIGNATURE: &str = "c2ln";

/// The tool behind each call.
type Tools<'a> = HashMap<&'a str, &'a str>;

/// The list of entries; a message may take several.
pub fn render(messages: &[Message], format: Format) -> Value {
    let blocks = messages.iter().flat_map(|message| &message.blocks);
    let tools: Tools<'_> = blocks
        .filter_map(|block| match block {
            Block::Call { id, tool, .. } => Some((&**id, &**tool)),
            _ => None,
        })
        .collect();
    let mut entries = Vec::new();
    for message in messages {
        for mut entry in entries_of(message, format, &tools) {
            entry["x-entry"] = json!(entries.len());
            if message.pinned {
                entry["metadata"] = json!({ "custom": { "pinned": true }, "x": [1, 2] });
            }
            entries.push(entry);
        }
    }
    Value::Array(entries)
}

fn entries_of(message: &Message, format: Format, tools: &Tools<'_>) -> Vec<Value> {
    match format {
        Format::Bedrock => vec![bedrock(message)],
        Format::Anthropic => vec![anthropic(message)],
        Format::OpenAi => chat(message),
        Format::OpenAiResponses => responses(message),
        Format::Gemini => vec![gemini(message, tools)],
        Format::AiSdk => ai_sdk(message, tools),
    }
}

fn unknown(text: &str) -> Value {
    json!({ "future": { "words": text } })
}

fn bedrock(message: &Message) -> Value {
    let mut content: Vec<Value> = message.blocks.iter().map(bedrock_block).collect();
    if message.cached {
        content.push(json!({ "cachePoint": { "type": "default" } }));
    }
    json!({ "role": message.role, "content": content })
}

fn bedrock_block(block: &Block) -> Value {
    match block {
        Block::Unknown(text) => unknown(text),
        Block::Text(text) => json!({ "text": text }),
        Block::Thinking { text, signed: true } => {
            json!({ "reasoningContent": { "reasoningText": { "text": text, "signature": SIGNATURE } } })
        }
        Block::Thinking { text, .. } => json!({ "reasoningContent": { "reasoningText": { "text": text } } }),
        Block::Image => json!({ "image": { "format": "png", "source": { "bytes": IMAGE } } }),
        Block::Call { id, tool, input } => json!({ "toolUse": { "toolUseId": id, "name": tool, "input": input } }),
        Block::Result { id, items } => {
            let item = |item: &Item| match item {
                Item::Text(text) => json!({ "text": text }),
                Item::Json(value) => json!({ "json": value }),
                Item::Image => bedrock_block(&Block::Image),
            };
            let items: Vec<Value> = items.iter().map(item).collect();
            json!({ "toolResult": { "toolUseId": id, "status": "success", "content": items } })
        }
    }
}

fn anthropic(message: &Message) -> Value {
    let mut content: Vec<Value> = message.blocks.iter().map(anthropic_block).collect();
    match content.last_mut() {
        Some(last) if message.cached && !last["type"].is_null() => {
            last["cache_control"] = json!({ "type": "ephemeral" });
        }
        _ => {}
    }
    match &message.blocks[..] {
        [Block::Text(text)] if !message.cached => json!({ "role": message.role, "content": text }),
        _ => json!({ "role": message.role, "content": content }),
    }
}

fn anthropic_block(block: &Block) -> Value {
    match block {
        Block::Unknown(text) => unknown(text),
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::Thinking { text, signed } => {
            json!({ "type": "thinking", "thinking": text, "signature": if *signed { SIGNATURE } else { "" } })
        }
        Block::Image => json!({ "type": "image", "source": { "type": "base64", "data": IMAGE } }),
        Block::Call { id, tool, input } => json!({ "type": "tool_use", "id": id, "name": tool, "input": input }),
        Block::Result { id, items } => {
            let content = match &items[..] {
                [Item::Text(text)] if text.len() % 2 == 0 => json!(text),
                items => items.iter().map(|item| anthropic_block(&item.as_block())).collect(),
            };
            json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": false })
        }
    }
}

fn chat(message: &Message) -> Vec<Value> {
    let mut entries = Vec::new();
    let (mut content, mut calls, mut thinking) = (Vec::new(), Vec::new(), Vec::new());
    let mut plain_thinking = None;
    for block in &message.blocks {
        match block {
            Block::Result { id, items } => {
                let content = match &items[..] {
                    [Item::Text(text)] => json!(text),
                    items => items.iter().filter_map(|item| chat_block(&item.as_block())).collect(),
                };
                entries.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
            }
            Block::Call { id, tool, input } => {
                // With the spaces that Python's own `json` writes.
                let arguments = input.to_string().replace("\":", "\": ").replace(",\"", ", \"");
                let function = json!({ "name": tool, "arguments": arguments });
                calls.push(json!({ "id": id, "type": "function", "function": function }));
            }
            Block::Thinking { signed: true, .. } => thinking.push(anthropic_block(block)),
            Block::Thinking { text, .. } => plain_thinking = Some(text),
            block => content.extend(chat_block(block)),
        }
    }
    if entries.is_empty() || !content.is_empty() {
        let mut entry = json!({ "role": message.role, "content": content });
        if let [Block::Text(text)] = &message.blocks[..] {
            entry["content"] = json!(text);
        } else if content.is_empty() && !calls.is_empty() && message.role == "assistant" {
            entry["content"] = Value::Null;
        }
        if !calls.is_empty() {
            entry["tool_calls"] = json!(calls);
        }
        if !thinking.is_empty() {
            entry["thinking_blocks"] = json!(thinking);
        }
        if let Some(text) = plain_thinking {
            entry["reasoning_content"] = json!(text);
        }
        entries.push(entry);
    }
    entries
}

fn chat_block(block: &Block) -> Option<Value> {
    match block {
        Block::Unknown(text) => Some(unknown(text)),
        Block::Text(text) => Some(json!({ "type": "text", "text": text })),
        Block::Image => Some(json!({ "type": "image_url", "image_url": { "url": IMAGE_URL } })),
        Block::Thinking { .. } | Block::Call { .. } | Block::Result { .. } => None,
    }
}

fn responses(message: &Message) -> Vec<Value> {
    let words = if message.role == "assistant" { "output_text" } else { "input_text" };
    let block = |block: &Block| match block {
        Block::Unknown(text) => Some(unknown(text)),
        Block::Text(text) => Some(json!({ "type": words, "text": text })),
        Block::Image => Some(json!({ "type": "input_image", "image_url": IMAGE_URL })),
        Block::Thinking { .. } | Block::Call { .. } | Block::Result { .. } => None,
    };
    let mut items = Vec::new();
    let mut content: Vec<Value> = Vec::new();
    let said = |content: &mut Vec<Value>, items: &mut Vec<Value>| {
        if !content.is_empty() {
            let mut item = json!({ "type": "message", "role": message.role, "content": std::mem::take(content) });
            if message.stored {
                item["id"] = json!("msg_1");
            }
            items.push(item);
        }
    };
    for part in &message.blocks {
        let item = match part {
            Block::Result { id, items } => {
                let output = match &items[..] {
                    [Item::Text(text)] => json!(text),
                    items => items.iter().map(|item| responses_item(&item.as_block())).collect(),
                };
                json!({ "type": "function_call_output", "call_id": id, "output": output })
            }
            Block::Call { id, tool, input } => {
                json!({ "type": "function_call", "call_id": id, "name": tool, "arguments": input.to_string() })
            }
            Block::Thinking { text, signed } => {
                let mut item = json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": text }] });
                if *signed {
                    item["id"] = json!("rs_1");
                }
                item
            }
            part => {
                content.extend(block(part));
                continue;
            }
        };
        said(&mut content, &mut items);
        items.push(item);
    }
    said(&mut content, &mut items);
    items
}

fn responses_item(block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "input_text", "text": text }),
        _ => json!({ "type": "input_image", "image_url": IMAGE_URL }),
    }
}

fn gemini(message: &Message, tools: &Tools<'_>) -> Value {
    let image = || json!({ "inlineData": { "mimeType": "image/png", "data": IMAGE } });
    let part = |block: &Block| match block {
        Block::Unknown(text) => unknown(text),
        Block::Text(text) => json!({ "text": text }),
        Block::Thinking { text, signed: true } => {
            json!({ "text": text, "thought": true, "thoughtSignature": SIGNATURE })
        }
        Block::Thinking { text, .. } => json!({ "text": text, "thought": true }),
        Block::Image => image(),
        Block::Call { id, tool, input } => json!({ "functionCall": { "id": id, "name": tool, "args": input } }),
        Block::Result { id, items } => {
            let texts: Vec<Value> = items
                .iter()
                .filter_map(|item| match item {
                    Item::Text(text) => Some(json!(text)),
                    Item::Json(value) => Some(value.clone()),
                    Item::Image => None,
                })
                .collect();
            let response = match &texts[..] {
                [text] => json!({ "result": text }),
                texts => json!({ "result": texts }),
            };
            let images: Vec<Value> = items.iter().filter(|item| matches!(item, Item::Image)).map(|_| image()).collect();
            let name = tools.get(&**id).copied().unwrap_or("unknown");
            let mut answer = json!({ "id": id, "name": name, "response": response });
            if !images.is_empty() {
                answer["parts"] = json!(images);
            }
            json!({ "functionResponse": answer })
        }
    };
    let role = if message.role == "assistant" { "model" } else { message.role };
    json!({ "role": role, "parts": message.blocks.iter().map(part).collect::<Vec<_>>() })
}

fn ai_sdk(message: &Message, tools: &Tools<'_>) -> Vec<Value> {
    let part = |block: &Block| match block {
        Block::Unknown(text) => unknown(text),
        Block::Text(text) if message.stored => {
            json!({ "type": "text", "text": text, "providerOptions": { "openai": { "itemId": "msg_1" } } })
        }
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::Thinking { text, signed: true } => {
            json!({ "type": "reasoning", "text": text, "providerOptions": { "anthropic": { "signature": SIGNATURE } } })
        }
        Block::Thinking { text, .. } => json!({ "type": "reasoning", "text": text }),
        Block::Image => json!({ "type": "image", "image": IMAGE, "mediaType": "image/png" }),
        Block::Call { id, tool, input } => {
            json!({ "type": "tool-call", "toolCallId": id, "toolName": tool, "input": input })
        }
        Block::Result { id, items } => {
            let output = match &items[..] {
                [Item::Text(text)] => json!({ "type": "text", "value": text }),
                [Item::Json(value)] => json!({ "type": "json", "value": value }),
                items => json!({ "type": "content", "value": items.iter().map(ai_sdk_item).collect::<Vec<_>>() }),
            };
            let name = tools.get(&**id).copied().unwrap_or("unknown");
            json!({ "type": "tool-result", "toolCallId": id, "toolName": name, "output": output })
        }
    };
    let (results, others): (Vec<_>, Vec<_>) =
        message.blocks.iter().partition(|block| matches!(block, Block::Result { .. }));
    let mut entries = Vec::new();
    if !results.is_empty() {
        entries.push(json!({ "role": "tool", "content": results.into_iter().map(part).collect::<Vec<_>>() }));
    }
    match &others[..] {
        [] if !entries.is_empty() => {}
        [Block::Text(text)] if !message.cached && !message.stored => {
            entries.push(json!({ "role": message.role, "content": text }));
        }
        others => {
            let content: Vec<Value> = others.iter().map(|block| part(block)).collect();
            entries.push(json!({ "role": message.role, "content": content }));
        }
    }
    entries
}

fn ai_sdk_item(item: &Item) -> Value {
    match item {
        Item::Image => json!({ "type": "media", "data": IMAGE, "mediaType": "image/png" }),
        Item::Text(text) => json!({ "type": "text", "text": text }),
        Item::Json(value) => json!({ "type": "text", "text": value.to_string() }),
    }
}
