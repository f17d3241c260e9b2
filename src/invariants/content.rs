//! No message is empty and no text is blank.
//!
//! Anthropic: "all messages must have non-empty content except for the optional final assistant message" and "text
//! content blocks must contain non-whitespace text" (<https://docs.anthropic.com/en/api/errors>). Bedrock Converse:
//! "The text field in the `ContentBlock` object is blank" and "The content field in the `Message` object is empty"
//! (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html>). OpenAI's specification
//! requires at least one part (<https://github.com/openai/openai-python/issues/1812>), and a server of its format says
//! "Each message must have at least one content element" (<https://github.com/AstrBotDevs/AstrBot/pull/6551>). Gemini:
//! "contents.parts must not be empty" (<https://ai.google.dev/api/caching#Content>).

use super::Violation;
use crate::message::{Conversation, Part, Text};

/// True if a part is a blank text.
pub fn is_blank<T: Text>(part: &Part<T>) -> bool {
    matches!(part, Part::Text(text) if text.trim().is_empty())
}

pub(super) fn blanks<T: Text>(conversation: &Conversation<T>) -> impl Iterator<Item = Violation> + '_ {
    conversation.messages.iter().enumerate().flat_map(|(message, content)| {
        let blank = content.parts.iter().enumerate().filter(|(_, part)| is_blank(part));
        blank.map(move |(part, _)| Violation {
            rule: "no-blank-text",
            message,
            part: Some(part),
            problem: "a text is empty or only white space".to_owned(),
            remedy: "remove the block, or add text to it",
        })
    })
}

pub(super) fn empty<T: Text>(conversation: &Conversation<T>) -> impl Iterator<Item = Violation> + '_ {
    let empty = conversation.messages.iter().enumerate().filter(|(_, content)| content.parts.is_empty());
    empty.map(|(message, _)| Violation {
        rule: "no-empty-message",
        message,
        part: None,
        problem: "the message has no content".to_owned(),
        remedy: "remove the message, or add content to it",
    })
}
