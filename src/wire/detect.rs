//! Detects the wire format of a list of messages.
//!
//! Every message shows which formats are possible. The format is the one that all messages share.

use super::format::{Format, Formats};
use super::key::Key;
use super::node::{Kind, Node};
use super::not_a_list;
use crate::error::{Error, Result};

/// The formats in which a message may be a role and a string.
const WORDS: Formats =
    Formats::of(&[Format::Bedrock, Format::Anthropic, Format::OpenAi, Format::OpenAiResponses, Format::AiSdk]);
const ANTHROPIC: Formats = Formats::of(&[Format::Anthropic]);
const BEDROCK: Formats = Formats::of(&[Format::Bedrock]);
const CHAT: Formats = Formats::of(&[Format::OpenAi]);
const RESPONSES: Formats = Formats::of(&[Format::OpenAiResponses]);
const EITHER_OPENAI: Formats = Formats::of(&[Format::OpenAi, Format::OpenAiResponses]);
const GEMINI: Formats = Formats::of(&[Format::Gemini]);
const AI_SDK: Formats = Formats::of(&[Format::AiSdk]);
const TYPED_TEXT: Formats = Formats::of(&[Format::Anthropic, Format::OpenAi, Format::AiSdk]);
/// litellm and Amplifier put Anthropic's reasoning into Chat's messages.
const THINKING: Formats = Formats::of(&[Format::Anthropic, Format::OpenAi]);
/// Blocks of these formats have the same name, but other fields.
const IMAGE: Formats = Formats::of(&[Format::Anthropic, Format::AiSdk]);
/// Hosts that use the AI SDK's messages may write a result as in Chat.
const TOOL: Formats = Formats::of(&[Format::OpenAi, Format::AiSdk]);
const FILE: Formats = Formats::of(&[Format::OpenAi, Format::AiSdk]);

/// Returns the format of `messages`.
///
/// # Errors
/// `Conversation` if `messages` is not a list or its format is ambiguous, `Message` if a message has another format
/// than those before it.
pub fn detect_format<N: Node>(messages: &N) -> Result<Format> {
    let formats = possible_formats(messages)?;
    formats.only().ok_or_else(|| Error::Conversation {
        problem: format!("the format of the messages is ambiguous: it may be {}", formats.names()),
        remedy: "name the format".to_owned(),
    })
}

/// Returns the format to read `messages` in. If it is ambiguous, the choice does not matter, and the most common is
/// used.
///
/// # Errors
/// As for [`detect_format`], except for an ambiguous format.
pub fn format_to_read<N: Node>(messages: &N) -> Result<Format> {
    let formats = possible_formats(messages)?;
    let first = |of: &[Format]| of.iter().copied().find(|format| formats.has(*format));
    Ok(formats
        .only()
        .or_else(|| first(&[Format::Anthropic, Format::OpenAi]))
        .or_else(|| first(&Format::ALL))
        .unwrap_or(
            // OK because no set is empty here.
            Format::Anthropic,
        ))
}

/// Returns every possible format of `messages`.
///
/// # Errors
/// As for [`format_to_read`].
pub fn formats_of<N: Node>(messages: &N) -> Result<Vec<Format>> {
    let formats = possible_formats(messages)?;
    Ok(Format::ALL.into_iter().filter(|format| formats.has(*format)).collect())
}

fn possible_formats<N: Node>(messages: &N) -> Result<Formats> {
    let length = messages.length().ok_or_else(|| not_a_list(messages))?;
    let mut formats = Formats::ALL;
    for (index, message) in (0..length).filter_map(|index| messages.at(index)).enumerate() {
        let these = formats_of_message(&message);
        let common = formats.and(these);
        if common.is_empty() {
            return Err(mixed_formats(index, these, formats));
        }
        formats = common;
        if formats.only().is_some() {
            break; // A later message in another format is refused when it is read.
        }
    }
    Ok(formats)
}

fn mixed_formats(index: usize, these: Formats, before: Formats) -> Error {
    Error::Message {
        index,
        problem: format!("it is in {} form, in a conversation of {} form", these.names(), before.names()),
        remedy: "give all messages in one format".to_owned(),
    }
}

/// Refuses a block that belongs to other formats than the one being read.
pub(super) fn refuse_mixed<N: Node>(block: &N, reading: Format, index: usize) -> Result<()> {
    let these = formats_of_block(block);
    if these.has(reading) { Ok(()) } else { Err(mixed_formats(index, these, Formats::of(&[reading]))) }
}

/// Fields that only messages of Chat have, unless a host has put them beside blocks of another format.
const BESIDE_IN_CHAT: [Key; 6] =
    [Key::Refusal, Key::Audio, Key::ThinkingBlocks, Key::Reasoning, Key::ReasoningDetails, Key::ToolPlan];

fn formats_of_message<N: Node>(message: &N) -> Formats {
    if message.kind() != Kind::Map {
        return Formats::ALL; // Reading it says what is wrong, with its index.
    }
    // Dumps, and hosts that use one shape for every message, write an empty list of calls anywhere.
    let has = |key| message.present(key).is_some_and(|value: N| value.length() != Some(0));
    let text = |key| message.get(key).and_then(|value: N| value.text());
    let content = message.present(Key::Content);
    if content.is_none() && message.present(Key::Parts).is_some() {
        return GEMINI;
    }
    if has(Key::ToolCalls) || has(Key::FunctionCallSnake) || has(Key::ReasoningContentSnake) {
        return CHAT;
    }
    let blocks = content.as_ref().and_then(|content| content.length().map(|length| (content, length)));
    let of_blocks = blocks.map_or(Formats::ALL, |(content, length)| {
        (0..length).filter_map(|at| content.at(at)).fold(Formats::ALL, |all, block| {
            // Contradictory blocks are found when they are read.
            let common = all.and(formats_of_block(&block));
            if common.is_empty() { all } else { common }
        })
    });
    if of_blocks.has(Format::OpenAi) && BESIDE_IN_CHAT.into_iter().any(has) {
        return CHAT;
    }
    let unless_blocks_differ = |formats: Formats| {
        let common = formats.and(of_blocks);
        if common.is_empty() { formats } else { common }
    };
    match (text(Key::Role).as_deref(), text(Key::Type).as_deref()) {
        (None, Some(name)) if is_item(name) => RESPONSES,
        (None, Some(_)) => Formats::ALL,
        // A response of Anthropic's SDK has this type too.
        (Some(_), Some("message")) if of_blocks == Formats::ALL && blocks.is_none() => RESPONSES,
        (Some("developer"), _) => unless_blocks_differ(EITHER_OPENAI),
        (Some("tool"), _) if has(Key::ToolCallIdCamel) => AI_SDK,
        (Some("tool"), _) => unless_blocks_differ(TOOL),
        (Some("function"), _) => CHAT,
        (Some("model"), _) => GEMINI,
        // An answer with only calls or a refusal, or without anything. No other format has answers without content.
        (Some("assistant"), _) if content.is_none() => CHAT,
        _ if blocks.is_none() && content.is_some() => WORDS,
        _ => of_blocks,
    }
}

/// True if an item of Responses has this type: its name says that it is a call or an output, or it is listed here.
fn is_item(name: &str) -> bool {
    const OTHERS: [&str; 8] = [
        "message",
        "reasoning",
        "item_reference",
        "compaction",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "tool_search_output",
    ];
    name.ends_with("_call") || name.ends_with("_call_output") || OTHERS.contains(&name)
}

fn formats_of_block<N: Node>(block: &N) -> Formats {
    /// Each block of Bedrock has one of these fields.
    const OF_BEDROCK: [Key; 11] = [
        Key::Text,
        Key::ToolUse,
        Key::ToolResult,
        Key::ReasoningContent,
        Key::CachePoint,
        Key::Image,
        Key::Document,
        Key::Video,
        Key::Audio,
        Key::GuardContent,
        Key::CitationsContent,
    ];
    if block.kind() != Kind::Map {
        return Formats::ALL;
    }
    let Some(name) = block.present(Key::Type).and_then(|name| name.text()) else {
        return if OF_BEDROCK.iter().any(|key| block.get(*key).is_some()) { BEDROCK } else { Formats::ALL };
    };
    match &*name {
        "text" => TYPED_TEXT,
        "thinking" | "redacted_thinking" => THINKING,
        "image" if block.present(Key::Source).is_some() => ANTHROPIC,
        "image" if block.present(Key::Image).is_some() => AI_SDK,
        "image" => IMAGE,
        "file" if block.present(Key::File).is_some() => CHAT,
        "file" if block.present(Key::Data).is_some() => AI_SDK,
        "file" => FILE,
        "tool-call"
        | "tool-result"
        | "tool-approval-request"
        | "tool-approval-response"
        | "reasoning"
        | "redacted-reasoning"
        | "reasoning-file" => AI_SDK,
        "image_url" | "video_url" => CHAT,
        "refusal" | "input_audio" => EITHER_OPENAI,
        "input_text"
        | "output_text"
        | "input_image"
        | "input_file"
        | "computer_screenshot"
        | "reasoning_text"
        | "summary_text" => RESPONSES,
        "tool_use" | "tool_result" | "document" | "search_result" | "server_tool_use" | "mcp_tool_use"
        | "mcp_tool_result" | "container_upload" => ANTHROPIC,
        name if name.ends_with("_tool_result") => ANTHROPIC,
        _ => Formats::ALL,
    }
}
