//! OpenAI Chat Completions, and what litellm and Amplifier make of it.
//!
//! A message is `{role, content, ...}` with its calls beside the content, and every result is a message of its own
//! (<https://platform.openai.com/docs/api-reference/chat/create>). Of those who carry other models in this form, litellm
//! adds `reasoning_content` and `thinking_blocks`, and Amplifier puts blocks of Anthropic's form into the content.

use super::anthropic::{self, read_reasoning};
use super::content::{
    check_map, field, item_of, pin_of, read_content, read_items, required_content, required_text, role_of,
};
use super::dialect::{Entry, Joins};
use super::format::Format;
use super::json::compact;
use super::key::Key;
use super::node::{Build, Kind, Node};
use super::rewrite::{EntryEdit, replaced, text_for};
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

/// The parts of a message in their order. Every reader and writer goes by this.
fn spots<N: Node>(message: &N) -> Vec<Spot<N>> {
    const IN_ORDER: [Key; 7] = [
        Key::ReasoningContentSnake,
        Key::ThinkingBlocks,
        Key::Content,
        Key::Refusal,
        Key::Audio,
        Key::ToolCalls,
        Key::FunctionCallSnake,
    ];
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
    let parts = if role == Role::Assistant {
        let spots = spots(entry);
        spots.iter().map(|spot| read_spot(spot, index)).collect::<Result<_>>()?
    } else {
        read_content(&required_content(entry, index)?, index, |block| read_block(block, index))?
    };
    Ok(Entry { role, parts, pin, joins: Joins::Nothing })
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

/// The message with the changes of `edit`, nothing where all of it goes away. What is added is a message of its own where
/// the content is a string: not every model behind this form takes a list.
pub(super) fn edit<N: Build>(entry: &N, edit: &EntryEdit<'_>, out: &mut Vec<N::Out>) -> Result<()> {
    if is_result(entry) {
        if !edit.drop.contains(&0) {
            out.push(with_items(entry, &edit.of_part(0))?);
        }
        return edit.append.iter().try_for_each(|text| {
            out.push(message(entry, Role::User, text)?);
            Ok(())
        });
    }
    let spots = spots(entry);
    let listed = entry.present(Key::Content).is_some_and(|content| content.kind() == Kind::List);
    let (inside, behind) = if listed { (edit.append, &[][..]) } else { (&[][..], edit.append) };
    if edit.drop.len() < spots.len() || !inside.is_empty() {
        out.push(with_spots(entry, &spots, &edit.drop, inside)?);
    }
    for text in behind {
        out.push(entry.map(vec![
            (Key::Role, entry.get(Key::Role).map_or_else(|| entry.string("user"), |role| role.keep())),
            (Key::Content, entry.string(text)),
        ])?);
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
    for key in [Key::ThinkingBlocks, Key::Content, Key::ToolCalls] {
        let of_key = || spots.iter().enumerate().filter(|(_, spot)| matches!(spot, Spot::Block(of, _) if *of == key));
        let appended = if key == Key::Content { append } else { &[] };
        if of_key().all(|(part, _)| !drop.contains(&part)) && appended.is_empty() {
            continue;
        }
        let mut blocks: Vec<N::Out> = of_key()
            .filter(|(part, _)| !drop.contains(part))
            .map(|(_, spot)| match spot {
                Spot::Block(_, value) | Spot::Field(_, value) => value.keep(),
            })
            .collect();
        for text in appended {
            blocks.push(anthropic::text_block(entry, entry.string(text))?);
        }
        fields.push((key, if blocks.is_empty() { None } else { Some(entry.list(blocks)?) }));
    }
    fields.extend(spots.iter().enumerate().filter(|(part, _)| drop.contains(part)).filter_map(
        |(_, spot)| match spot {
            Spot::Field(key, _) => Some((*key, None)),
            Spot::Block(..) => None,
        },
    ));
    entry.with_all(fields)
}

pub(super) fn message<N: Build>(like: &N, role: Role, text: &str) -> Result<N::Out> {
    like.map(vec![(Key::Role, like.string(role.name())), (Key::Content, like.string(text))])
}

pub(super) fn item<N: Node>(entry: &N, item: usize) -> Option<N> {
    item_of(&entry.present(Key::Content)?, item)
}
