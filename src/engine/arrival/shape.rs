//! Finds the output in a tool's return value: a block of a wire format, or the whole value.

use crate::wire::{Key, Kind, Node, only_text};

/// The place of a tool's output in a map.
pub(super) enum OutputPlace<N> {
    /// This field, which is a text, a list of items or any other value.
    Field(Key, N),
    /// A block in this field.
    Block(Key, N),
    /// This value of the AI SDK, which states if it is text or JSON.
    Typed(N),
}

/// Finds the output in `map`; `None` if the map itself is the output.
pub(super) fn find_output<N: Node>(map: &N) -> Option<OutputPlace<N>> {
    const WRAPPERS: [Key; 3] = [Key::ToolResult, Key::FunctionResponse, Key::FunctionResponseSnake];
    const IDS: [Key; 5] = [Key::ToolUseIdCamel, Key::ToolUseId, Key::ToolCallId, Key::ToolCallIdCamel, Key::CallId];
    let present = |key: Key| map.present(key).map(|value| (key, value));
    if let Some((key, block)) = WRAPPERS.into_iter().find_map(present).filter(|(_, block)| block.kind() == Kind::Map) {
        return Some(match block.present(Key::Response) {
            Some(_) => OutputPlace::Block(key, block),
            None if key == Key::ToolResult => OutputPlace::Block(key, block),
            None => OutputPlace::Field(key, block),
        });
    }
    if let (Some(response), Some(_)) = (map.present(Key::Response), map.present(Key::Name)) {
        return Some(OutputPlace::Field(Key::Response, response));
    }
    if IDS.into_iter().any(|id| map.present(id).is_some()) {
        let content = present(Key::Content).or_else(|| present(Key::Output));
        return content.map(|(key, content)| match content.present(Key::Value) {
            Some(_) if content.present(Key::Type).is_some() => OutputPlace::Typed(content),
            _ => OutputPlace::Field(key, content),
        });
    }
    only_text(map).map(|(wrapper, text)| OutputPlace::Field(wrapper, text))
}

/// True if a list holds content items: texts, pictures, files, blocks. Any other list is a plain value.
pub(super) fn is_content<N: Node>(list: &N) -> bool {
    list.items().unwrap_or_default().iter().any(is_item)
}

fn is_item<N: Node>(item: &N) -> bool {
    /// Values of `type` in items and blocks of the wire formats and of MCP.
    const TYPES: [&str; 19] = [
        "audio",
        "document",
        "file",
        "function_call_output",
        "image",
        "image_url",
        "input_audio",
        "input_file",
        "input_image",
        "input_text",
        "json",
        "output_text",
        "resource",
        "resource_link",
        "search_result",
        "text",
        "tool-result",
        "tool_result",
        "video",
    ];
    const FIELDS: [Key; 7] = [
        Key::Image,
        Key::Document,
        Key::Video,
        Key::InlineData,
        Key::InlineDataSnake,
        Key::ToolResult,
        Key::FunctionResponse,
    ];
    if item.kind() != Kind::Map {
        return false;
    }
    let is_typed = item.get(Key::Type).and_then(|kind| kind.text()).is_some_and(|kind| TYPES.contains(&&*kind));
    // Bedrock's items have one field, whose name is the type.
    let is_single = item.field_count() == Some(1) && (item.get(Key::Text).is_some() || item.get(Key::Json).is_some());
    is_typed
        || is_single
        || FIELDS.into_iter().any(|key| item.present(key).is_some_and(|held| held.kind() == Kind::Map))
}
