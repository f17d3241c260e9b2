//! Messages of a role and a content, and content that is a string or a list of blocks: what four formats share.

use super::compose::{Composition, Material};
use super::format::Format;
use super::key::Key;
use super::node::{Build, Kind, Node};
use super::rewrite::EntryEdit;
use crate::error::{Error, Result};
use crate::message::{Item, Part, Pin, Role, Signature};

/// Refuses what is no message.
pub(super) fn check_map<N: Node>(entry: &N, index: usize) -> Result<()> {
    if entry.kind() == Kind::Map {
        return Ok(());
    }
    let problem = format!("it is {}, not a message", entry.kind().name());
    Err(bad(index, problem, "give a dict with `role` and `content`"))
}

/// Refuses a message with calls beside its content, where calls are blocks: they would be neither counted nor kept
/// with their results. An object is not asked: it takes long to say that it has no such field.
pub(super) fn refuse_calls_beside<N: Node>(entry: &N, index: usize, format: Format) -> Result<()> {
    let beside = entry.field_count().and_then(|_| entry.present(Key::ToolCalls));
    match beside.and_then(|calls| calls.length()) {
        None | Some(0) => Ok(()),
        Some(_) => Err(bad(
            index,
            format!("it has `tool_calls`, as in openai form, in a conversation of {} form", format.name()),
            "give all messages in one format",
        )),
    }
}

pub(super) fn bad(index: usize, problem: String, remedy: &str) -> Error {
    Error::Message { index, problem, remedy: remedy.to_owned() }
}

/// The role of a message, by the names that its format has for it.
pub(super) fn role_of<N: Node>(entry: &N, index: usize, names: &[(&str, Role)]) -> Result<Role> {
    role_named(field(entry, Key::Role).as_deref(), index, names)
}

/// The same for a format that has read the name already.
pub(super) fn role_named(role: Option<&str>, index: usize, names: &[(&str, Role)]) -> Result<Role> {
    let known = || names.iter().map(|(name, _)| format!("'{name}'")).collect::<Vec<_>>().join(" or ");
    let Some(role) = role else {
        return Err(bad(index, "it has no role".to_owned(), &format!("set `role` to {}", known())));
    };
    let found = names.iter().find(|(name, _)| *name == role).map(|(_, role)| *role);
    found.ok_or_else(|| bad(index, format!("its role is '{role}'"), &format!("use {}", known())))
}

/// The pin of Strands: `metadata.custom.pinned` is true. Read in every format, so that a history keeps its pins when
/// its host changes.
pub(super) fn pin_of<N: Node>(entry: &N) -> Pin {
    let flag = entry
        .present(Key::Metadata)
        .and_then(|metadata| metadata.present(Key::Custom))
        .and_then(|custom| custom.get(Key::Pinned));
    if flag.is_some_and(|flag| flag.is_true()) { Pin::Pinned } else { Pin::Free }
}

/// The parts of a content: of a string one, of a list what `read` makes of each block.
pub(super) fn read_content<N: Node>(
    content: &N,
    index: usize,
    read: impl FnMut(&N) -> Result<Part<N::Text>>,
) -> Result<Vec<Part<N::Text>>> {
    match content.text() {
        Some(text) => Ok(vec![Part::Text(text)]),
        None => read_list(content, index, read),
    }
}

/// The content of a message that must have one.
pub(super) fn required_content<N: Node>(entry: &N, index: usize) -> Result<N> {
    entry.present(Key::Content).ok_or_else(|| {
        bad(index, "its content is missing or None".to_owned(), "give a string or a list of content blocks")
    })
}

/// The items of a result whose content is a string, a list of blocks, or nothing.
pub(super) fn read_items<N: Node>(
    content: Option<&N>,
    index: usize,
    read: impl FnMut(&N) -> Result<Item<N::Text>>,
) -> Result<Vec<Item<N::Text>>> {
    let Some(content) = content else { return Ok(Vec::new()) };
    match content.text() {
        Some(text) => Ok(vec![Item::Text(text)]),
        None => read_list(content, index, read),
    }
}

/// Reads each block of a list; says which one is no block.
pub(super) fn read_list<N: Node, P>(
    content: &N,
    index: usize,
    mut read: impl FnMut(&N) -> Result<P>,
) -> Result<Vec<P>> {
    let bad = |problem: String| bad(index, problem, "give a list of content blocks, each a dict");
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
pub(super) fn signature_of<N: Node>(block: &N, key: Key) -> Signature {
    let signed = match block.present(key) {
        None => false,
        Some(signature) => signature.text().is_none_or(|text| !text.is_empty()),
    };
    if signed { Signature::Signed } else { Signature::Unsigned }
}

/// The text of a field.
pub(super) fn field<N: Node>(block: &N, key: Key) -> Option<N::Text> {
    block.get(key).and_then(|value| value.text())
}

pub(super) fn required_text<N: Node>(block: &N, key: Key, what: &str, index: usize) -> Result<N::Text> {
    field(block, key).ok_or_else(|| {
        bad(index, format!("a {what} block has no `{}`", key.name()), &format!("set `{}` to a string", key.name()))
    })
}

/// The arguments of a call as compact JSON; empty where there are none.
pub(super) fn rendered<N: Node>(call: &N, key: Key) -> Result<N::Text> {
    match call.get(key) {
        Some(input) => input.rendered(),
        None => Ok(String::new().into()),
    }
}

/// A message whose content is a list of blocks, or a string that becomes one, with the changes of `edit`.
pub(super) fn edit_content<N: Build>(
    entry: &N,
    edit: &EntryEdit<'_>,
    key: Key,
    text_block: impl Fn(&N, N::Out) -> Result<N::Out>,
    replace_items: impl Fn(&N, &[(usize, &str)]) -> Result<N::Out>,
) -> Result<N::Out> {
    let content = entry.present(key);
    let mut blocks = Vec::new();
    if let Some(text) = content.as_ref().filter(|text| text.kind() == Kind::Text && !edit.drops(0)) {
        blocks.push(text_block(entry, text.keep())?);
    }
    for (position, block) in content.as_ref().and_then(Node::items).unwrap_or_default().iter().enumerate() {
        if edit.drops(position) {
            continue;
        }
        let changes = edit.of_part(position);
        blocks.push(if changes.is_empty() { block.keep() } else { replace_items(block, &changes)? });
    }
    for text in edit.append {
        blocks.push(text_block(entry, entry.string(text))?);
    }
    entry.with(key, entry.list(blocks)?)
}

/// The value that is an item of a result with this content: a string is one item.
pub(super) fn item_of<N: Node>(content: &N, item: usize) -> Option<N> {
    match content.at(item) {
        Some(item) => item.get(Key::Text),
        None => Some(content.clone()),
    }
}

/// The blocks of a message that is put together. `renamed` gives a call or a result another id, and a result another tool, `answer` makes a result
/// from an id, a tool and a text, `picture` a block from an item of a result.
pub(super) fn compose_blocks<N: Build>(
    composition: &Composition<'_, N>,
    key: Key,
    text_block: impl Fn(&N, N::Out) -> Result<N::Out>,
    renamed: impl Fn(&N, Option<&str>, Option<&str>) -> Result<N::Out>,
    answer: impl Fn(&N, [&str; 3]) -> Result<N::Out>,
    picture: impl Fn(&N) -> Result<Option<N::Out>>,
) -> Result<Vec<N::Out>> {
    let sample = composition.sample;
    let blocks = composition.materials.iter().map(|material| match material {
        Material::Text(text) => text_block(sample, sample.string(text)).map(Some),
        Material::Answer { id, tool, text, .. } => answer(sample, [id, tool, text]).map(Some),
        Material::Picture(item) => item.as_ref().map_or(Ok(None), &picture),
        Material::Part { node, place, id, tool } => {
            let Some(content) = node.present(key) else { return Ok(None) };
            match content.at(place.part) {
                None => text_block(node, content.keep()).map(Some),
                Some(block) if id.is_none() && tool.is_none() => Ok(Some(block.keep())),
                Some(block) => renamed(&block, *id, *tool).map(Some),
            }
        }
    });
    blocks.filter_map(Result::transpose).collect()
}

/// A message of a role and a list of blocks, with the other fields of the message that it was.
pub(super) fn compose_message<N: Build>(
    composition: &Composition<'_, N>,
    role: &str,
    key: Key,
    content: N::Out,
) -> Result<N::Out> {
    let sample = composition.sample;
    match composition.like {
        Some(like) => like.with_all(vec![(Key::Role, Some(sample.string(role))), (key, Some(content))]),
        None => sample.map(vec![(Key::Role, sample.string(role)), (key, content)]),
    }
}

/// The string of a tool result that is nothing but one: Gemini's API asks for a map, so hosts and its SDK wrap a plain
/// result in one of these fields.
pub fn only_text<N: Node>(result: &N) -> Option<(Key, N)> {
    const WRAPPERS: [Key; 3] = [Key::Result, Key::Output, Key::Error];
    if result.field_count() != Some(1) {
        return None;
    }
    let text = |key| result.get(key).filter(|value| value.kind() == Kind::Text).map(|value| (key, value));
    WRAPPERS.into_iter().find_map(text)
}
