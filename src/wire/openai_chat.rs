//! OpenAI Chat Completions, and what litellm and Amplifier make of it.
//!
//! A message is `{role, content, ...}` with its calls beside the content, and every result is a message of its own
//! (<https://platform.openai.com/docs/api-reference/chat/create>). Of those who carry other models in this form, litellm
//! adds `reasoning_content` and `thinking_blocks`, and Amplifier puts blocks of Anthropic's form into the content.

use super::anthropic::{self, read_reasoning};
use super::content::{check_map, field, item_of, pin_of, read_items, required_content, required_text, role_of};
use super::dialect::{Entry, Joins};
use super::format::Format;
use super::json::compact;
use super::key::Key;
use super::node::{Build, Node};
use super::rewrite::{Composition, EntryEdit, Material, replaced, text_for};
use super::{media, unknown_block};
use crate::error::Result;
use crate::media::MediaKind;
use crate::message::{Item, Part, Role, Signature};

const ROLES: [(&str, Role); 6] = [
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("tool", Role::User),
    ("system", Role::System),
    ("developer", Role::System),
    ("function", Role::User),
];

/// Where a part of a message stands.
enum Spot<N> {
    /// A text field of the message, by its key.
    Field(Key, N),
    /// In a list that is a field of the message.
    Block(Key, N),
}

impl<N> Spot<N> {
    fn key(&self) -> Key {
        match self {
            Spot::Field(key, _) | Spot::Block(key, _) => *key,
        }
    }
}

/// The fields that hold parts, in their order.
const IN_ORDER: [Key; 7] = [
    Key::ReasoningContentSnake,
    Key::ThinkingBlocks,
    Key::Content,
    Key::Refusal,
    Key::Audio,
    Key::ToolCalls,
    Key::FunctionCallSnake,
];

/// The parts of a message in their order. Every reader and writer goes by this.
fn spots<N: Node>(message: &N) -> Vec<Spot<N>> {
    let mut spots = Vec::new();
    // litellm writes signed thinking twice: by itself, and as plain text.
    let twice =
        message.present(Key::ThinkingBlocks).and_then(|blocks| blocks.length()).is_some_and(|length| length > 0);
    for key in IN_ORDER {
        let Some(value) = message.present(key).filter(|_| key != Key::ReasoningContentSnake || !twice) else {
            continue;
        };
        match value.items() {
            Some(blocks) => spots.extend(blocks.into_iter().map(|block| Spot::Block(key, block))),
            None => spots.push(Spot::Field(key, value)),
        }
    }
    spots
}

pub(super) fn read<N: Node>(entry: &N, index: usize) -> Result<Entry<N::Text>> {
    check_map(entry, index)?;
    let role = role_of(entry, index, &ROLES)?;
    let pin = pin_of(entry);
    if is_result(entry) {
        let items = read_items(entry.present(Key::Content).as_ref(), index, read_item)?;
        let id = match field(entry, Key::ToolCallId) {
            None if field(entry, Key::Role).as_deref() == Some("function") => String::new().into(),
            _ => required_text(entry, Key::ToolCallId, "tool", index)?,
        };
        let parts = vec![Part::Result { id, tool: field(entry, Key::Name), items }];
        return Ok(Entry { role, parts, pin, joins: Joins::Results });
    }
    let spots = spots(entry);
    if spots.is_empty() {
        required_content(entry, index)?;
    }
    let parts = spots.iter().map(|spot| read_spot(spot, index)).collect::<Result<_>>()?;
    let joins = if role == Role::User { Joins::Words } else { Joins::Nothing };
    Ok(Entry { role, parts, pin, joins })
}

fn is_result<N: Node>(entry: &N) -> bool {
    field(entry, Key::Role).is_some_and(|role| matches!(&*role, "tool" | "function"))
}

fn read_spot<N: Node>(spot: &Spot<N>, index: usize) -> Result<Part<N::Text>> {
    match spot {
        Spot::Block(Key::ToolCalls, call) => read_call(call, index),
        Spot::Field(Key::FunctionCallSnake, call) => Ok(Part::Call {
            id: String::new().into(),
            name: required_text(call, Key::Name, "function_call", index)?,
            input: arguments(call.get(Key::Arguments))?,
        }),
        Spot::Block(_, block) => read_block(block, index),
        Spot::Field(Key::ReasoningContentSnake, text) => match text.text() {
            Some(text) => Ok(Part::Reasoning { text, signature: Signature::Unsigned }),
            None => Ok(Part::Opaque(text.rendered()?)),
        },
        Spot::Field(_, value) => match value.text() {
            Some(text) => Ok(Part::Text(text)),
            None => Ok(Part::Opaque(value.rendered()?)),
        },
    }
}

/// A call: `{id, function: {name, arguments}}`, `{id, custom: {name, input}}`, or as Amplifier has it
/// `{id, tool, arguments}`.
fn read_call<N: Node>(call: &N, index: usize) -> Result<Part<N::Text>> {
    let id = required_text(call, Key::Id, "tool call", index)?;
    let inner = call.present(Key::Function).or_else(|| call.present(Key::Custom)).unwrap_or_else(|| call.clone());
    let name = match field(&inner, Key::Tool) {
        Some(name) => name,
        None => required_text(&inner, Key::Name, "tool call", index)?,
    };
    let input = arguments(inner.get(Key::Arguments).or_else(|| inner.get(Key::Input)))?;
    Ok(Part::Call { id, name, input })
}

/// Arguments as compact JSON, whether they are a value or a text of JSON.
pub(super) fn arguments<N: Node>(arguments: Option<N>) -> Result<N::Text> {
    match arguments {
        None => Ok(String::new().into()),
        Some(value) => match value.text() {
            Some(text) => Ok(match compact(&text) {
                Some(shorter) => shorter.into(),
                None => text,
            }),
            None => value.rendered(),
        },
    }
}

fn read_block<N: Node>(block: &N, index: usize) -> Result<Part<N::Text>> {
    let name = field(block, Key::Type);
    let part = match name.as_deref() {
        Some("text") => field(block, Key::Text).map(Part::Text),
        Some("refusal") => field(block, Key::Refusal).map(Part::Text),
        Some("image_url") => Some(Part::Media(media::held(block.present(Key::ImageUrl), MediaKind::Image))),
        Some("video_url") => Some(Part::Media(media::held(block.present(Key::VideoUrl), MediaKind::Video))),
        Some("input_audio") => Some(Part::Media(media::held(block.present(Key::InputAudio), MediaKind::Audio))),
        Some("file") => block.present(Key::File).map(|file| Part::Document(media::file(&file))),
        Some(name @ ("thinking" | "redacted_thinking")) => read_reasoning(block, name),
        _ => None,
    };
    part.map_or_else(|| unknown_block(block, Format::OpenAi, index), Ok)
}

fn read_item<N: Node>(item: &N) -> Result<Item<N::Text>> {
    match field(item, Key::Type).as_deref() {
        Some("image_url") => Ok(Item::Media(media::held(item.present(Key::ImageUrl), MediaKind::Image))),
        _ => match field(item, Key::Text) {
            Some(text) => Ok(Item::Text(text)),
            None => Ok(Item::Opaque(item.rendered()?)),
        },
    }
}

/// The message with the changes of `edit`, nothing where all of it goes away. A result has no room for a text: a message of
/// the user comes behind it.
pub(super) fn edit<N: Build>(entry: &N, edit: &EntryEdit<'_>, out: &mut Vec<N::Out>) -> Result<()> {
    if is_result(entry) {
        if !edit.drop.contains(&0) {
            out.push(with_items(entry, &edit.of_part(0))?);
        }
        for text in edit.append {
            out.push(message(entry, Role::User, text)?);
        }
        return Ok(());
    }
    let spots = spots(entry);
    if edit.drop.len() < spots.len() || !edit.append.is_empty() {
        out.push(with_spots(entry, &spots, &edit.drop, edit.append)?);
    }
    Ok(())
}

fn with_items<N: Build>(entry: &N, changes: &[(usize, &str)]) -> Result<N::Out> {
    match entry.present(Key::Content).and_then(|content| content.items()) {
        Some(items) => entry.with(Key::Content, entry.list(replaced(&items, changes, anthropic::text_block)?)?),
        None => match text_for(changes, 0) {
            Some(text) => entry.with(Key::Content, entry.string(text)),
            None => Ok(entry.keep()),
        },
    }
}

/// The message without some of its parts, and with texts behind its content, which is a list if there are any.
fn with_spots<N: Build>(entry: &N, spots: &[Spot<N>], drop: &[usize], append: &[&str]) -> Result<N::Out> {
    let mut fields: Vec<(Key, Option<N::Out>)> = Vec::new();
    for key in IN_ORDER {
        let appended = if key == Key::Content { append } else { &[] };
        let of_key = || spots.iter().enumerate().filter(|(_, spot)| spot.key() == key);
        if of_key().all(|(part, _)| !drop.contains(&part)) && appended.is_empty() {
            continue;
        }
        let mut blocks = Vec::new();
        for (_, spot) in of_key().filter(|(part, _)| !drop.contains(part)) {
            blocks.push(match spot {
                Spot::Block(_, block) => block.keep(),
                Spot::Field(_, text) => anthropic::text_block(entry, text.keep())?,
            });
        }
        for text in appended {
            blocks.push(anthropic::text_block(entry, entry.string(text))?);
        }
        fields.push((key, if blocks.is_empty() { None } else { Some(entry.list(blocks)?) }));
    }
    entry.with_all(fields)
}

pub(super) fn message<N: Build>(like: &N, role: Role, text: &str) -> Result<N::Out> {
    like.map(vec![(Key::Role, like.string(role.name())), (Key::Content, like.string(text))])
}

/// Results are entries of their own, and what else there is comes behind them in one.
pub(super) fn compose<N: Build>(composition: &Composition<'_, N>, out: &mut Vec<N::Out>) -> Result<()> {
    let sample = composition.sample;
    let mut fields: Vec<(Key, Vec<N::Out>)> = Vec::new();
    let mut strings: Vec<(Key, N::Out)> = Vec::new();
    let mut add = |key: Key, block: N::Out| match fields.iter_mut().find(|(of, _)| *of == key) {
        Some((_, blocks)) => blocks.push(block),
        None => fields.push((key, vec![block])),
    };
    // A string stays one while nothing joins it.
    let texts = composition.materials.iter().filter(|material| is_content(material)).count();
    for material in &composition.materials {
        match material {
            Material::Text(text) => add(Key::Content, anthropic::text_block(sample, sample.string(text))?),
            Material::Answer { id, text, .. } => out.push(sample.map(vec![
                (Key::Role, sample.string("tool")),
                (Key::ToolCallId, sample.string(id)),
                (Key::Content, sample.string(text)),
            ])?),
            Material::Part { node, id, .. } if is_result(node) => out.push(match id {
                Some(id) => node.with(Key::ToolCallId, node.string(id))?,
                None => node.keep(),
            }),
            Material::Part { node, place, id } => match (spots(node).get(place.part), id) {
                (Some(Spot::Block(key, call)), Some(id)) => add(*key, call.with(Key::Id, call.string(id))?),
                (Some(Spot::Block(key, block)), None) => add(*key, block.keep()),
                (Some(Spot::Field(Key::Content, text)), _) if texts > 1 => {
                    add(Key::Content, anthropic::text_block(node, text.keep())?)
                }
                (Some(Spot::Field(key, value)), _) => strings.push((*key, value.keep())),
                (None, _) => {}
            },
        }
    }
    if fields.is_empty() && strings.is_empty() {
        return Ok(());
    }
    let mut all: Vec<(Key, Option<N::Out>)> = vec![(Key::Role, Some(sample.string(composition.role.name())))];
    let like = composition.like.filter(|like| !is_result(*like));
    all.extend(
        IN_ORDER.into_iter().filter(|key| like.is_some_and(|like| like.present(*key).is_some())).map(|key| (key, None)),
    );
    for (key, blocks) in fields {
        all.push((key, Some(sample.list(blocks)?)));
    }
    all.extend(strings.into_iter().map(|(key, value)| (key, Some(value))));
    out.push(match like {
        Some(like) => like.with_all(all)?,
        None => sample.map(all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect())?,
    });
    Ok(())
}

fn is_content<N: Node>(material: &Material<'_, N>) -> bool {
    match material {
        Material::Text(_) => true,
        Material::Answer { .. } => false,
        Material::Part { node, place, .. } => {
            !is_result(node) && spots(node).get(place.part).is_some_and(|spot| spot.key() == Key::Content)
        }
    }
}

pub(super) fn item<N: Node>(entry: &N, item: usize) -> Option<N> {
    item_of(&entry.present(Key::Content)?, item)
}
