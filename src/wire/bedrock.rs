//! Bedrock Converse, the format that Strands uses.
//!
//! A message is `{role, content: [block]}`, and a block is a map with one key, its type
//! (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html>).

use super::change::{Arguments, EntryEdit};
use super::compose::Composition;
use super::content::write::{compose_blocks, compose_message, edit_content, new_message, with_arguments};
use super::content::{
    check_map, field, item_of, json_item, pin_of, read_content, read_items, refuse_calls_beside, rendered,
    required_content, required_text, role_of, signed_by,
};
use super::entry::{Entry, Joins};
use super::format::Format;
use super::key::Key;
use super::node::{Build, Node};
use super::texts::{replaced, text_for};
use super::{media, unknown_block};
use crate::error::Result;
use crate::media::{Media, MediaKind};
use crate::message::{Item, Outcome, Part, Role, Signature};

/// The API has two roles. Strands' lists may also have system messages.
const ROLES: [(&str, Role); 3] = [("user", Role::User), ("assistant", Role::Assistant), ("system", Role::System)];

pub(super) fn read<N: Node>(entry: &N, index: usize) -> Result<Entry<N::Text>> {
    check_map(entry, index)?;
    refuse_calls_beside(entry, index, Format::Bedrock)?;
    let role = role_of(entry, index, &ROLES)?;
    let content = required_content(entry, index)?;
    let parts = read_content(&content, role, index, |block| read_block(block, index))?;
    // Bedrock refuses consecutive messages of one role. They are read as they must be sent, and `validate` reports
    // them.
    let joins = Joins::of(role, &parts, Joins::Answer);
    Ok(Entry { role, parts, pin: pin_of(entry), joins, ties: vec![] })
}

fn sized<N: Node>(block: &N) -> Option<Media> {
    const SIZED: [(Key, MediaKind); 3] =
        [(Key::Image, MediaKind::Image), (Key::Audio, MediaKind::Audio), (Key::Video, MediaKind::Video)];
    SIZED.into_iter().find_map(|(key, kind)| block.present(key).map(|inner| media::sized(&inner, kind)))
}

fn read_block<N: Node>(block: &N, index: usize) -> Result<Part<N::Text>> {
    if let Some(text) = field(block, Key::Text) {
        return Ok(Part::Text(text));
    }
    if let Some(result) = block.present(Key::ToolResult) {
        let id = required_text(&result, Key::ToolUseIdCamel, "toolResult", index)?;
        let items = read_items(result.present(Key::Content).as_ref(), index, read_item)?;
        let outcome = match field(&result, Key::Status).as_deref() {
            Some("error") => Outcome::Failed,
            Some("success") => Outcome::Succeeded,
            _ => Outcome::Unknown,
        };
        return Ok(Part::Result { id, tool: None, outcome, items });
    }
    if let Some(call) = block.present(Key::ToolUse) {
        return Ok(Part::Call {
            id: required_text(&call, Key::ToolUseIdCamel, "toolUse", index)?,
            name: required_text(&call, Key::Name, "toolUse", index)?,
            input: rendered(&call, Key::Input)?,
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
        // Redacted reasoning is encrypted, so it can only be sent whole, like signed reasoning.
        return Ok(Part::Reasoning { text: block.rendered()?, signature: Signature::Signed });
    };
    let signature = signed_by(plain.present(Key::Signature));
    match field(&plain, Key::Text) {
        Some(text) => Ok(Part::Reasoning { text, signature }),
        None => unknown_block(block, Format::Bedrock, index),
    }
}

fn read_item<N: Node>(item: &N) -> Result<Item<N::Text>> {
    if let Some(text) = field(item, Key::Text) {
        return Ok(Item::Text(text));
    }
    if let Some(json) = item.present(Key::Json) {
        return json_item(&json);
    }
    if let Some(document) = item.present(Key::Document) {
        return Ok(Item::Document(media::document(&document)));
    }
    match sized(item) {
        Some(media) => Ok(Item::Media(media)),
        None => Ok(Item::Opaque(item.rendered()?)),
    }
}

pub(super) fn edit<N: Build>(entry: &N, edit: &EntryEdit<'_>) -> Result<N::Out> {
    edit_content(entry, edit, Key::Content, text_block, replace_items, replace_arguments)
}

pub(super) fn message<N: Build>(like: &N, role: Role, text: &str) -> Result<N::Out> {
    let content = like.list(vec![text_block(like, like.string(text))?])?;
    new_message(like, role, content)
}

pub(super) fn compose<N: Build>(composition: &Composition<'_, N>) -> Result<N::Out> {
    let blocks = compose_blocks(
        composition,
        Key::Content,
        text_block,
        |block, id, _| renamed(block, id.unwrap_or_default()),
        answer,
        // A block of Bedrock has one field. A block with more would be read as another type.
        |picture| Ok((picture.field_count() == Some(1)).then(|| picture.keep())),
    )?;
    let Composition { sample, like, ref others, role, ref materials } = *composition;
    let fields = vec![(Key::Role, Some(sample.string(role.name()))), (Key::Content, Some(sample.list(blocks)?))];
    compose_message(sample, like, others, fields, materials)
}

fn renamed<N: Build>(block: &N, id: &str) -> Result<N::Out> {
    for key in [Key::ToolUse, Key::ToolResult] {
        if let Some(inner) = block.present(key) {
            return block.with(key, inner.with(Key::ToolUseIdCamel, block.string(id))?);
        }
    }
    Ok(block.keep())
}

fn answer<N: Build>(like: &N, [id, _, text]: [&str; 3]) -> Result<N::Out> {
    let content = like.list(vec![text_block(like, like.string(text))?])?;
    let result = like.map(vec![
        (Key::ToolUseIdCamel, like.string(id)),
        (Key::Status, like.string("error")),
        (Key::Content, content),
    ])?;
    like.map(vec![(Key::ToolResult, result)])
}

pub(super) fn item<N: Node>(entry: &N, part: usize, item: usize) -> Option<N> {
    item_of(&items_of(entry, part)?, item)
}

pub(super) fn whole_item<N: Node>(entry: &N, part: usize, item: usize) -> Option<N> {
    items_of(entry, part)?.at(item)
}

fn items_of<N: Node>(entry: &N, part: usize) -> Option<N> {
    entry.present(Key::Content)?.at(part)?.present(Key::ToolResult)?.present(Key::Content)
}

fn text_block<N: Build>(like: &N, text: N::Out) -> Result<N::Out> {
    like.map(vec![(Key::Text, text)])
}

/// Returns the block with some items of its tool result replaced by texts.
fn replace_items<N: Build>(block: &N, changes: &[(usize, &str)]) -> Result<N::Out> {
    let Some(result) = block.present(Key::ToolResult) else {
        return Ok(block.keep());
    };
    let items = match result.present(Key::Content).and_then(|content| content.items()) {
        Some(items) => replaced(&items, changes, text_block)?,
        // A plain string is one item.
        None => {
            text_for(changes, 0).map(|text| text_block(block, block.string(text))).transpose()?.into_iter().collect()
        }
    };
    block.with(Key::ToolResult, result.with(Key::Content, block.list(items)?)?)
}

/// Returns the block with other arguments of its call.
fn replace_arguments<N: Build>(block: &N, new: &Arguments) -> Result<N::Out> {
    match block.present(Key::ToolUse) {
        Some(call) => block.with(Key::ToolUse, with_arguments(&call, &[Key::Input], new)?),
        None => Ok(block.keep()),
    }
}
