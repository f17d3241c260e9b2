//! Telling which wire format a list of messages is in.

use super::key::Key;
use super::node::{Kind, Node};
use super::not_a_list;
use crate::error::{Error, Result};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Bedrock Converse, also the format of Strands.
    Bedrock,
    /// Anthropic Messages.
    Anthropic,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 2] = [Format::Bedrock, Format::Anthropic];

    /// The public name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Bedrock => "bedrock",
            Format::Anthropic => "anthropic",
        }
    }

    /// The format with that public name.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// The format of `messages`, by the first block that only one format has. A block further on that the format cannot read
/// and another can is refused when it is read.
///
/// A list in which nothing tells them apart (empty, or plain strings) is Anthropic's, where a content may be a string.
///
/// # Errors
/// `Conversation` if `messages` is not a list, `Message` if one is in a format that is not read.
pub fn detect_format<N: Node>(messages: &N) -> Result<Format> {
    let length = messages.length().ok_or_else(|| not_a_list(messages))?;
    for (index, message) in (0..length).filter_map(|index| messages.at(index)).enumerate() {
        if message.kind() != Kind::Map {
            continue; // Reading it says what is wrong, with its index.
        }
        refuse_foreign(&message, index)?;
        let blocks = message.present(Key::Content).and_then(|content| content.items()).unwrap_or_default();
        if let Some(format) = blocks.iter().find_map(format_of_block) {
            return Ok(format);
        }
    }
    Ok(Format::Anthropic)
}

/// Refuses a block that belongs to another format than the one being read.
pub(super) fn refuse_mixed<N: Node>(block: &N, reading: Format, index: usize) -> Result<()> {
    match format_of_block(block) {
        Some(other) if other != reading => Err(Error::Message {
            index,
            problem: format!("it has a block of {} form in a conversation of {} form", other.name(), reading.name()),
            remedy: "give all messages in one format".to_owned(),
        }),
        _ => Ok(()),
    }
}

fn format_of_block<N: Node>(block: &N) -> Option<Format> {
    const BEDROCK: [Key; 11] = [
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
        return None;
    }
    if block.present(Key::Type).is_some() {
        return Some(Format::Anthropic);
    }
    BEDROCK.iter().any(|key| block.get(*key).is_some()).then_some(Format::Bedrock)
}

fn refuse_foreign<N: Node>(message: &N, index: usize) -> Result<()> {
    let name = if message.present(Key::ToolCalls).is_some() || message.present(Key::ToolCallId).is_some() {
        "OpenAI Chat"
    } else if message.get(Key::Content).is_none() && message.present(Key::Parts).is_some() {
        "Gemini"
    } else {
        return Ok(());
    };
    Err(Error::Message {
        index,
        problem: format!("it is in {name} form, which this version does not read"),
        remedy: "give Bedrock Converse (Strands) or Anthropic messages".to_owned(),
    })
}
