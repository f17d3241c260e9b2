//! Reads the host's messages in place, and writes the few that change.
//!
//! Each format is written once over [`Node`], and so works on JSON values, on Python dicts and on host objects.

mod ai_sdk;
mod anthropic;
mod bedrock;
mod change;
mod compose;
mod content;
mod detect;
mod dialect;
mod entry;
mod format;
mod gemini;
mod joined;
mod json;
mod key;
mod media;
mod node;
mod openai_chat;
mod openai_responses;
mod rewrite;
mod texts;

pub use change::{Arguments, Change, Piece, Step};
pub use detect::{detect_format, format_to_read, formats_of};
pub use format::Format;
pub use gemini::only_text;
pub use joined::joined_texts;
pub use key::Key;
pub use node::{Build, Bytes, Kind, MAX_DEPTH, MAX_MESSAGE_DEPTH, Node, UNITED};
pub use rewrite::{Rewritten, item_node, rewrite};

use crate::error::{Error, Result};
use crate::message::{Conversation, Message, Part, Pin, Span, Tie};
use entry::{Entry, Joins};

/// Reads a list of messages in `format`. O(blocks). Text is borrowed, and arguments of calls are rendered.
///
/// # Errors
/// `Conversation` if `messages` is not a list, `Message` if a message is not valid in the format.
pub fn read<N: Node>(messages: &N, format: Format) -> Result<Conversation<N::Text>> {
    let length = messages.length().ok_or_else(|| not_a_list(messages))?;
    let mut conversation = Conversation { messages: Vec::with_capacity(length) };
    let mut before = Joins::Nothing;
    let mut newest_replacement = None;
    for (index, node) in (0..length).filter_map(|index| messages.at(index)).enumerate() {
        let Entry { role, parts, pin, joins, ties } =
            dialect::read(&node, index, format).map_err(|error| error.at(index))?;
        // An empty entry is a message of its own, which providers refuse.
        let joins = if parts.is_empty() { Joins::Nothing } else { joins };
        let replaces = ties.iter().any(|(_, tie)| matches!(tie, Tie::Replaces));
        match conversation.messages.last_mut() {
            Some(message) if joins.joins(before) => {
                let first = message.parts.len();
                message.span.grow(first);
                message.parts.extend(parts);
                message.ties.extend(ties.into_iter().map(|(part, tie)| (first + part, tie)));
                if pin == Pin::Pinned {
                    message.pin = pin;
                }
            }
            _ => conversation.messages.push(Message { span: Span::of(index), role, parts, pin, ties }),
        }
        if replaces {
            newest_replacement = conversation.messages.len().checked_sub(1);
        }
        before = joins;
    }
    // The provider no longer reads the messages before it, or may not get them at all. If it were removed, nothing of
    // them would be left. The newest one also replaces older ones, which may be removed.
    if let Some(message) = newest_replacement {
        conversation.messages[message].pin = Pin::Pinned;
    }
    Ok(conversation)
}

/// Returns every message as a node.
fn message_list<N: Node>(messages: &N) -> Result<Vec<N>> {
    messages.items().ok_or_else(|| not_a_list(messages))
}

fn not_a_list<N: Node>(messages: &N) -> Error {
    Error::Conversation {
        problem: format!("the messages are {}, not a list", messages.kind().name()),
        remedy: "give a list of message dicts".to_owned(),
    }
}

fn unknown_block<N: Node>(block: &N, format: Format, index: usize) -> Result<Part<N::Text>> {
    detect::refuse_mixed(block, format, index)?;
    Ok(Part::Opaque(block.rendered()?))
}

/// Returns the error for a value that is nested deeper than [`MAX_DEPTH`].
pub fn too_deep() -> Error {
    Error::Conversation {
        problem: format!("a value is nested deeper than {MAX_DEPTH} levels"),
        remedy: "store it as text, or flatten it".to_owned(),
    }
}
