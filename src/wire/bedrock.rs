//! Bedrock Converse, the shape that Strands uses.
//!
//! A message is `{role, content: [block]}` and a block is a map whose one key says what it is
//! (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html>).

use super::detect::Format;
use super::key::Key;
use super::node::{Build, Bytes, MAX_DEPTH, Node};
use super::rewrite::{replaced, text_for};
use super::{media, read_list, required_text, unknown_block};
use crate::error::Result;
use crate::media::{Media, MediaKind};
use crate::message::{Item, Part, Signature};

fn sized<N: Node>(block: &N) -> Option<Media> {
    const SIZED: [(Key, MediaKind); 3] =
        [(Key::Image, MediaKind::Image), (Key::Audio, MediaKind::Audio), (Key::Video, MediaKind::Video)];
    SIZED.into_iter().find_map(|(key, kind)| block.present(key).map(|inner| media::sized(&inner, kind)))
}

pub(super) fn read_block<N: Node>(block: &N, index: usize) -> Result<Part<N::Text>> {
    if let Some(text) = block.get(Key::Text).and_then(|text| text.text()) {
        return Ok(Part::Text(text));
    }
    if let Some(result) = block.present(Key::ToolResult) {
        let id = required_text(&result, Key::ToolUseIdCamel, "toolResult", index)?;
        let items = match result.present(Key::Content) {
            None => Vec::new(),
            Some(content) => match content.text() {
                Some(text) => vec![Item::Text(text)],
                None => read_list(&content, index, read_item)?,
            },
        };
        return Ok(Part::Result { id, items });
    }
    if let Some(call) = block.present(Key::ToolUse) {
        return Ok(Part::Call {
            id: required_text(&call, Key::ToolUseIdCamel, "toolUse", index)?,
            name: required_text(&call, Key::Name, "toolUse", index)?,
            input: super::rendered_input(&call)?,
        });
    }
    if let Some(reasoning) = block.present(Key::ReasoningContent) {
        return read_reasoning(&reasoning, block, index);
    }
    if block.present(Key::CachePoint).is_some() {
        return Ok(Part::CachePoint);
    }
    if let Some(document) = block.present(Key::Document) {
        return Ok(Part::Document(media::document(&document)));
    }
    match sized(block) {
        Some(media) => Ok(Part::Media(media)),
        None => unknown_block(block, Format::Bedrock, index),
    }
}

fn read_reasoning<N: Node>(reasoning: &N, block: &N, index: usize) -> Result<Part<N::Text>> {
    let Some(plain) = reasoning.present(Key::ReasoningText) else {
        // Redacted reasoning is encrypted: it can only travel whole, like a signed one.
        return Ok(Part::Reasoning { text: block.rendered()?, signature: Signature::Signed });
    };
    let signature = super::read_signature(&plain);
    match plain.get(Key::Text).and_then(|text| text.text()) {
        Some(text) => Ok(Part::Reasoning { text, signature }),
        None => unknown_block(block, Format::Bedrock, index),
    }
}

fn read_item<N: Node>(item: &N) -> Result<Item<N::Text>> {
    if let Some(text) = item.get(Key::Text).and_then(|text| text.text()) {
        return Ok(Item::Text(text));
    }
    if let Some(json) = item.present(Key::Json) {
        // Bytes whole: this text is what is stored when the item is shortened.
        let mut text = String::new();
        json.render(&mut text, Bytes::Whole, MAX_DEPTH)?;
        return Ok(Item::Json(text.into()));
    }
    if let Some(document) = item.present(Key::Document) {
        return Ok(Item::Document(media::document(&document)));
    }
    match sized(item) {
        Some(media) => Ok(Item::Media(media)),
        None => Ok(Item::Opaque(item.rendered()?)),
    }
}

pub(super) fn text_block<N: Build>(like: &N, text: N::Out) -> Result<N::Out> {
    like.map(vec![(Key::Text, text)])
}

/// The block with some items of its tool result replaced by texts.
pub(super) fn replace_items<N: Build>(block: &N, changes: &[(usize, &str)]) -> Result<N::Out> {
    let Some(result) = block.present(Key::ToolResult) else {
        return Ok(block.keep());
    };
    let items = match result.present(Key::Content).and_then(|content| content.items()) {
        Some(items) => replaced(&items, changes, text_block)?,
        // A plain string, which reads as one item.
        None => {
            text_for(changes, 0).map(|text| text_block(block, block.string(text))).transpose()?.into_iter().collect()
        }
    };
    block.with(Key::ToolResult, result.with(Key::Content, block.list(items)?)?)
}
