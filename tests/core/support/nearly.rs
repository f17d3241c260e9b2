//! Pieces of conversations in every format: names of fields, words, and whole entries.

/// Names of fields, and texts that say what a thing is, of every format.
#[rustfmt::skip]
pub const NAMES: &[&str] = &[
    "role", "content", "parts", "type", "text", "toolUse", "toolResult", "toolUseId", "name", "input", "id", "tool_use_id",
    "tool_calls", "tool_call_id", "function", "arguments", "call_id", "output", "summary", "functionCall", "function_call",
    "functionResponse", "function_response", "response", "result", "args", "toolCallId", "toolName", "value", "source",
    "data", "url", "image_url", "reasoningContent", "reasoningText", "signature", "thinking", "thought", "metadata",
    "custom", "pinned", "cachePoint", "json", "image", "document", "refusal", "reasoning_content", "thinking_blocks",
];
#[rustfmt::skip]
pub const WORDS: &[&str] = &[
    "user", "assistant", "model", "system", "tool", "developer", "function", "text", "tool_use", "tool_result", "thinking",
    "redacted_thinking", "image", "document", "function_call", "function_call_output", "reasoning", "message", "input_text",
    "output_text", "input_image", "tool-call", "tool-result", "json", "content", "error-text", "image_url", "file", "a", "b",
    "", " ", "[ullage: 3 earlier messages were removed to fit the context window]",
];

/// Entries of each format, with an open call, a result, words and what a provider has beside them.
#[rustfmt::skip]
pub const ENTRIES: &[&[&str]] = &[
    &[
        r#"{"role": "user", "content": [{"text": "a"}]}"#,
        r#"{"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "b", "signature": "s"}}}, {"toolUse": {"toolUseId": "a", "name": "t", "input": {}}}]}"#,
        r#"{"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "x"}, {"json": {}}]}}, {"cachePoint": {}}]}"#,
    ],
    &[
        r#"{"role": "user", "content": "a"}"#,
        r#"{"role": "assistant", "content": [{"type": "thinking", "thinking": "b", "signature": "s"}, {"type": "tool_use", "id": "a", "name": "t", "input": {}}]}"#,
        r#"{"role": "user", "content": [{"type": "text", "text": " "}, {"type": "tool_result", "tool_use_id": "a", "content": "x"}]}"#,
    ],
    &[
        r#"{"role": "user", "content": "a"}"#,
        r#"{"role": "assistant", "content": null, "tool_calls": [{"id": "a", "function": {"name": "t", "arguments": "{}"}}, {"id": "a", "function": {"name": "t", "arguments": "{"}}]}"#,
        r#"{"role": "tool", "tool_call_id": "a", "content": "x"}"#,
        r#"{"role": "system", "content": "b"}"#,
    ],
    &[
        r#"{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}"#,
        r#"{"type": "reasoning", "id": "r", "summary": []}"#,
        r#"{"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"}"#,
        r#"{"type": "function_call_output", "call_id": "a", "output": "x"}"#,
    ],
    &[
        r#"{"role": "user", "parts": [{"text": "a"}]}"#,
        r#"{"role": "model", "parts": [{"text": "b", "thought": true}, {"functionCall": {"name": "t", "args": {}}}]}"#,
        r#"{"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {"result": "x"}}}]}"#,
    ],
    &[
        r#"{"role": "user", "content": [{"type": "text", "text": "a"}]}"#,
        r#"{"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "a", "toolName": "t", "input": {}}]}"#,
        r#"{"role": "tool", "content": [{"type": "tool-result", "toolCallId": "a", "toolName": "t", "output": {"type": "text", "value": "x"}}]}"#,
    ],
];
