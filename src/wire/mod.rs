//! Reading the host's messages in place, and writing the few that change.
//!
//! Each format is written once over [`Node`] and so works on JSON values, on Python dicts and on host objects.

mod anthropic;
mod bedrock;
mod detect;
mod json;
mod key;
mod media;
mod node;
mod rewrite;

pub use detect::{Format, detect_format};
pub use key::Key;
pub use node::{Build, Bytes, Kind, MAX_DEPTH, MAX_MESSAGE_DEPTH, Node};
pub use rewrite::{Change, item_node, rewrite};

use crate::error::{Error, Result};
use crate::message::{Conversation, Message, Part, Pin, Role, Signature};

/// Reads a list of messages in `format`. O(blocks); text is borrowed, arguments of calls are rendered.
///
/// # Errors
/// `Conversation` if `messages` is not a list, `Message` if a message is not what the format asks for.
pub fn read<N: Node>(messages: &N, format: Format) -> Result<Conversation<N::Text>> {
    let length = messages.length().ok_or_else(|| not_a_list(messages))?;
    let mut conversation = Conversation { messages: Vec::with_capacity(length) };
    for (index, node) in (0..length).filter_map(|index| messages.at(index)).enumerate() {
        conversation.messages.push(read_message(&node, index, format).map_err(|error| error.at(index))?);
    }
    Ok(conversation)
}

/// Every message, as nodes.
pub(crate) fn message_list<N: Node>(messages: &N) -> Result<Vec<N>> {
    messages.items().ok_or_else(|| not_a_list(messages))
}

fn not_a_list<N: Node>(messages: &N) -> Error {
    Error::Conversation {
        problem: format!("the messages are {}, not a list", messages.kind().name()),
        remedy: "give a list of message dicts".to_owned(),
    }
}

fn read_message<N: Node>(node: &N, index: usize, format: Format) -> Result<Message<N::Text>> {
    let bad = |problem: String, remedy: &str| Error::Message { index, problem, remedy: remedy.to_owned() };
    if node.kind() != Kind::Map {
        return Err(bad(
            format!("it is {}, not a message", node.kind().name()),
            "give a dict with `role` and `content`",
        ));
    }
    let role = match node.get(Key::Role).and_then(|role| role.text()).as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        Some(other) => {
            return Err(bad(format!("its role is '{other}'"), "use 'user' or 'assistant'"));
        }
        None => {
            return Err(bad("it has no role".to_owned(), "set `role` to 'user' or 'assistant'"));
        }
    };
    let content = node
        .present(Key::Content)
        .ok_or_else(|| bad("its content is missing or None".to_owned(), "give a string or a list of content blocks"))?;
    let parts = match content.text() {
        Some(text) => vec![Part::Text(text)],
        None => read_list(&content, index, |block| match format {
            Format::Bedrock => bedrock::read_block(block, index),
            Format::Anthropic => anthropic::read_block(block, index),
        })?,
    };
    Ok(Message { role, parts, pin: read_pin(node) })
}

/// The pin of Strands: `metadata.custom.pinned` is true. Read in every format, so that a history keeps its pins when
/// its host changes.
fn read_pin<N: Node>(node: &N) -> Pin {
    let flag = node
        .present(Key::Metadata)
        .and_then(|metadata| metadata.present(Key::Custom))
        .and_then(|custom| custom.get(Key::Pinned));
    if flag.is_some_and(|flag| flag.is_true()) { Pin::Pinned } else { Pin::Free }
}

/// Reads each block of a list; says which one is no block.
fn read_list<N: Node, P>(content: &N, index: usize, mut read: impl FnMut(&N) -> Result<P>) -> Result<Vec<P>> {
    let bad = |problem: String| Error::Message {
        index,
        problem,
        remedy: "give a list of content blocks, each a dict".to_owned(),
    };
    let length = content.length().ok_or_else(|| bad(format!("its content is {}", content.kind().name())))?;
    let mut parts = Vec::with_capacity(length);
    for (position, block) in (0..length).filter_map(|position| content.at(position)).enumerate() {
        if block.kind() != Kind::Map {
            return Err(bad(format!("content block {position} is {}", block.kind().name())));
        }
        parts.push(read(&block)?);
    }
    Ok(parts)
}

/// An empty signature is none.
fn read_signature<N: Node>(block: &N) -> Signature {
    let signature = block.get(Key::Signature).and_then(|signature| signature.text());
    if signature.is_some_and(|text| !text.is_empty()) { Signature::Signed } else { Signature::Unsigned }
}

fn required_text<N: Node>(block: &N, key: Key, what: &str, index: usize) -> Result<N::Text> {
    block.get(key).and_then(|value| value.text()).ok_or_else(|| Error::Message {
        index,
        problem: format!("a {what} block has no `{}`", key.name()),
        remedy: format!("set `{}` to a string", key.name()),
    })
}

fn rendered_input<N: Node>(call: &N) -> Result<N::Text> {
    match call.get(Key::Input) {
        Some(input) => input.rendered(),
        None => Ok(String::new().into()),
    }
}

fn unknown_block<N: Node>(block: &N, format: Format, index: usize) -> Result<Part<N::Text>> {
    detect::refuse_mixed(block, format, index)?;
    Ok(Part::Opaque(block.rendered()?))
}

/// The error for a value nested deeper than [`MAX_DEPTH`].
pub fn too_deep() -> Error {
    Error::Conversation {
        problem: format!("a value is nested deeper than {MAX_DEPTH} levels"),
        remedy: "store it as text, or flatten it".to_owned(),
    }
}
