//! The field names of every wire format, as one closed set.
//!
//! A host object is asked for its fields thousands of times per plan. With a closed set the Python binding keeps one
//! interned string for each name instead of making a new one at every look-up.

/// A field name that some wire format uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // Each variant is the field that the table spells.
pub enum Key {
    Audio,
    Bytes,
    CachePoint,
    CitationsContent,
    Content,
    Context,
    Custom,
    Data,
    Document,
    GuardContent,
    Id,
    Image,
    Input,
    Json,
    Metadata,
    Name,
    Parts,
    Pinned,
    ReasoningContent,
    ReasoningText,
    Result,
    Role,
    Signature,
    Source,
    Text,
    Thinking,
    Title,
    ToolCallId,
    ToolCalls,
    ToolResult,
    ToolUse,
    ToolUseId,
    ToolUseIdCamel,
    Type,
    Url,
    Video,
}

impl Key {
    /// Every key with its name on the wire, in the order of the variants.
    pub const ALL: [(Key, &str); 36] = [
        (Key::Audio, "audio"),
        (Key::Bytes, "bytes"),
        (Key::CachePoint, "cachePoint"),
        (Key::CitationsContent, "citationsContent"),
        (Key::Content, "content"),
        (Key::Context, "context"),
        (Key::Custom, "custom"),
        (Key::Data, "data"),
        (Key::Document, "document"),
        (Key::GuardContent, "guardContent"),
        (Key::Id, "id"),
        (Key::Image, "image"),
        (Key::Input, "input"),
        (Key::Json, "json"),
        (Key::Metadata, "metadata"),
        (Key::Name, "name"),
        (Key::Parts, "parts"),
        (Key::Pinned, "pinned"),
        (Key::ReasoningContent, "reasoningContent"),
        (Key::ReasoningText, "reasoningText"),
        (Key::Result, "result"),
        (Key::Role, "role"),
        (Key::Signature, "signature"),
        (Key::Source, "source"),
        (Key::Text, "text"),
        (Key::Thinking, "thinking"),
        (Key::Title, "title"),
        (Key::ToolCallId, "tool_call_id"),
        (Key::ToolCalls, "tool_calls"),
        (Key::ToolResult, "toolResult"),
        (Key::ToolUse, "toolUse"),
        (Key::ToolUseId, "tool_use_id"),
        (Key::ToolUseIdCamel, "toolUseId"),
        (Key::Type, "type"),
        (Key::Url, "url"),
        (Key::Video, "video"),
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        Key::ALL[self as usize].1
    }
}
