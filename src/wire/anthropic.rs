//! Anthropic Messages.
//!
//! A message is `{role, content}`, its content a string or a list of blocks with a `type`
//! (<https://docs.anthropic.com/en/api/messages>). Blocks may be dicts or the objects of the Anthropic SDK.

use super::detect::Format;
use super::key::Key;
use super::node::{Build, Node};
use super::rewrite::{replaced, text_for};
use super::{media, read_list, required_text, unknown_block};
use crate::error::Result;
use crate::media::MediaKind;
use crate::message::{Item, Part, Signature};

fn type_of<N: Node>(block: &N) -> Option<N::Text> {
    block.get(Key::Type).and_then(|name| name.text())
}

pub(super) fn read_block<N: Node>(block: &N, index: usize) -> Result<Part<N::Text>> {
    let Some(name) = type_of(block) else {
        return unknown_block(block, Format::Anthropic, index);
    };
    let field = |key| block.get(key).and_then(|value: N| value.text());
    match &*name {
        "text" => match field(Key::Text) {
            Some(text) => Ok(Part::Text(text)),
            None => unknown_block(block, Format::Anthropic, index),
        },
        "tool_use" => Ok(Part::Call {
            id: required_text(block, Key::Id, "tool_use", index)?,
            name: required_text(block, Key::Name, "tool_use", index)?,
            input: super::rendered_input(block)?,
        }),
        "tool_result" => {
            let id = required_text(block, Key::ToolUseId, "tool_result", index)?;
            let items = match block.present(Key::Content) {
                None => Vec::new(),
                Some(content) => match content.text() {
                    Some(text) => vec![Item::Text(text)],
                    None => read_list(&content, index, read_item)?,
                },
            };
            Ok(Part::Result { id, items })
        }
        "thinking" => match field(Key::Thinking) {
            Some(text) => Ok(Part::Reasoning { text, signature: super::read_signature(block) }),
            None => unknown_block(block, Format::Anthropic, index),
        },
        "redacted_thinking" => match field(Key::Data) {
            Some(text) => Ok(Part::Reasoning { text, signature: Signature::Signed }),
            None => unknown_block(block, Format::Anthropic, index),
        },
        "image" => Ok(Part::Media(media::sized(block, MediaKind::Image))),
        "document" => Ok(Part::Document(media::document(block))),
        _ => unknown_block(block, Format::Anthropic, index),
    }
}

fn read_item<N: Node>(item: &N) -> Result<Item<N::Text>> {
    let name = type_of(item);
    match name.as_deref() {
        Some("text") => match item.get(Key::Text).and_then(|text| text.text()) {
            Some(text) => Ok(Item::Text(text)),
            None => Ok(Item::Opaque(item.rendered()?)),
        },
        Some("image") => Ok(Item::Media(media::sized(item, MediaKind::Image))),
        Some("document") => Ok(Item::Document(media::document(item))),
        _ => Ok(Item::Opaque(item.rendered()?)),
    }
}

pub(super) fn text_block<N: Build>(like: &N, text: N::Out) -> Result<N::Out> {
    like.map(vec![(Key::Type, like.string("text")), (Key::Text, text)])
}

/// The block with some items of its tool result replaced by texts.
pub(super) fn replace_items<N: Build>(block: &N, changes: &[(usize, &str)]) -> Result<N::Out> {
    match block.present(Key::Content).and_then(|content| content.items()) {
        Some(items) => block.with(Key::Content, block.list(replaced(&items, changes, text_block)?)?),
        // A plain string, which reads as one item and stays one.
        None => match text_for(changes, 0) {
            Some(text) => block.with(Key::Content, block.string(text)),
            None => Ok(block.keep()),
        },
    }
}
