//! Anthropic Messages.
//!
//! A message is `{role, content}`. Its content is a string or a list of blocks with a `type`
//! (<https://docs.anthropic.com/en/api/messages>). Blocks may be dicts or objects of the Anthropic SDK.

use super::change::EntryEdit;
use super::compose::Composition;
use super::content::write::{compose_blocks, compose_message, edit_content, new_message, with_arguments, with_items};
use super::content::{
    check_map, declared, field, item_of, pin_of, read_content, read_items, refuse_calls_beside, rendered,
    required_content, required_text, role_of, signed_by,
};
use super::entry::{Entry, Joins};
use super::format::Format;
use super::key::Key;
use super::node::{Build, Node};
use super::{media, unknown_block};
use crate::error::Result;
use crate::media::MediaKind;
use crate::message::{Item, Part, Role, Signature, Tie};

/// The API has two roles. A host's list may also have system messages.
const ROLES: [(&str, Role); 3] = [("user", Role::User), ("assistant", Role::Assistant), ("system", Role::System)];

pub(super) fn read<N: Node>(entry: &N, index: usize) -> Result<Entry<N::Text>> {
    check_map(entry, index)?;
    refuse_calls_beside(entry, index, Format::Anthropic)?;
    let role = role_of(entry, index, &ROLES)?;
    let content = required_content(entry, index)?;
    let mut ties = Vec::new();
    let mut places = 0..;
    let parts = read_content(&content, role, index, |block| {
        let part = read_block(block, index)?;
        let place = places.next().unwrap_or_default();
        if let Part::Opaque(_) = part {
            ties.extend(tie_of(block).map(|tie| (place, tie)));
        }
        Ok(part)
    })?;
    // The API joins consecutive messages of one role to one turn (<https://docs.anthropic.com/en/api/messages>).
    let joins = match role {
        Role::Assistant => Joins::Answer,
        _ => Joins::of(role, &parts, Joins::Answer),
    };
    Ok(Entry { role, parts, pin: pin_of(entry), joins, ties })
}

/// Returns the tie of a block. A step that Anthropic runs is tied to its outcome, which comes turns later if the step
/// itself calls a tool of the host
/// (<https://platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling>). The result of a
/// compaction replaces everything before it (<https://platform.claude.com/docs/en/build-with-claude/compaction>).
fn tie_of<N: Node>(block: &N) -> Option<Tie<N::Text>> {
    match &*field(block, Key::Type)? {
        "server_tool_use" | "mcp_tool_use" => field(block, Key::Id).map(Tie::Begins),
        "compaction" => Some(Tie::Replaces),
        name if name.ends_with("_tool_result") => field(block, Key::ToolUseId).map(Tie::Ends),
        _ => None,
    }
}

/// Reads a block in Anthropic's format, also inside other formats' messages.
pub(super) fn read_block<N: Node>(block: &N, index: usize) -> Result<Part<N::Text>> {
    let Some(name) = field(block, Key::Type) else {
        return unknown_block(block, Format::Anthropic, index);
    };
    let part = match &*name {
        "text" => field(block, Key::Text).map(Part::Text),
        "tool_use" => Some(Part::Call {
            id: required_text(block, Key::Id, "tool_use", index)?,
            name: required_text(block, Key::Name, "tool_use", index)?,
            input: rendered(block, Key::Input)?,
        }),
        "tool_result" => {
            let id = required_text(block, Key::ToolUseId, "tool_result", index)?;
            let items = read_items(block.present(Key::Content).as_ref(), index, read_item)?;
            Some(Part::Result { id, tool: None, outcome: declared(block, Key::IsError), items })
        }
        "thinking" | "redacted_thinking" => read_reasoning(block, &name),
        "image" => Some(Part::Media(media::sized(block, MediaKind::Image))),
        "document" => Some(Part::Document(media::document(block))),
        _ => None,
    };
    part.map_or_else(|| unknown_block(block, Format::Anthropic, index), Ok)
}

/// Reads thinking or redacted thinking; `None` if its text is missing.
pub(super) fn read_reasoning<N: Node>(block: &N, name: &str) -> Option<Part<N::Text>> {
    match name {
        "thinking" => field(block, Key::Thinking)
            .map(|text| Part::Reasoning { text, signature: signed_by(block.present(Key::Signature)) }),
        _ => field(block, Key::Data).map(|text| Part::Reasoning { text, signature: Signature::Signed }),
    }
}

fn read_item<N: Node>(item: &N) -> Result<Item<N::Text>> {
    let name = field(item, Key::Type);
    match name.as_deref() {
        Some("text") => match field(item, Key::Text) {
            Some(text) => Ok(Item::Text(text)),
            None => Ok(Item::Opaque(item.rendered()?)),
        },
        Some("image") => Ok(Item::Media(media::sized(item, MediaKind::Image))),
        Some("document") => Ok(Item::Document(media::document(item))),
        _ => Ok(Item::Opaque(item.rendered()?)),
    }
}

pub(super) fn edit<N: Build>(entry: &N, edit: &EntryEdit<'_>) -> Result<N::Out> {
    let items = |block: &N, changes: &[(usize, &str)]| with_items(block, changes, text_block);
    edit_content(entry, edit, Key::Content, text_block, items, |call, new| with_arguments(call, &[Key::Input], new))
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
        |picture| Ok(Some(picture.keep())),
    )?;
    let Composition { sample, like, ref others, role, ref materials } = *composition;
    let fields = vec![(Key::Role, Some(sample.string(role.name()))), (Key::Content, Some(sample.list(blocks)?))];
    compose_message(sample, like, others, fields, materials)
}

fn renamed<N: Build>(block: &N, id: &str) -> Result<N::Out> {
    let key = if block.present(Key::ToolUseId).is_some() { Key::ToolUseId } else { Key::Id };
    block.with(key, block.string(id))
}

fn answer<N: Build>(like: &N, [id, _, text]: [&str; 3]) -> Result<N::Out> {
    like.map(vec![
        (Key::Type, like.string("tool_result")),
        (Key::ToolUseId, like.string(id)),
        (Key::IsError, like.truth(true)),
        (Key::Content, like.string(text)),
    ])
}

pub(super) fn item<N: Node>(entry: &N, part: usize, item: usize) -> Option<N> {
    item_of(&entry.present(Key::Content)?.at(part)?.present(Key::Content)?, item)
}

pub(super) fn whole_item<N: Node>(entry: &N, part: usize, item: usize) -> Option<N> {
    entry.present(Key::Content)?.at(part)?.present(Key::Content)?.at(item)
}

/// Returns a text block.
pub(super) fn text_block<N: Build>(like: &N, text: N::Out) -> Result<N::Out> {
    like.map(vec![(Key::Type, like.string("text")), (Key::Text, text)])
}
