//! OpenAI Chat Completions, and what litellm and Amplifier make of it.
//!
//! A message is `{role, content, ...}` with its calls beside the content, and every result is a message of its own
//! (<https://platform.openai.com/docs/api-reference/chat/create>). Of those who carry other models in this form, litellm
//! adds `reasoning_content` and `thinking_blocks`, and Amplifier puts blocks of Anthropic's form into the content.

pub(super) mod write;

use super::anthropic::read_reasoning;
use super::content::{check_map, field, pin_of, read_items, required_content, required_text, role_of};
use super::dialect::{Entry, Joins};
use super::format::Format;
use super::json::compact;
use super::key::Key;
use super::node::Node;
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
