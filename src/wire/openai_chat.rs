//! OpenAI Chat Completions, with the additions of litellm and Amplifier.
//!
//! A message is `{role, content, ...}` with its calls beside the content, and every result is a message of its own
//! (<https://platform.openai.com/docs/api-reference/chat/create>). Gateways that carry other models in this format add
//! fields: litellm `reasoning_content` and `thinking_blocks`, `OpenRouter` and vLLM `reasoning` and `reasoning_details`
//! (<https://openrouter.ai/docs/use-cases/reasoning-tokens>), Cohere `tool_plan`. Amplifier puts blocks in Anthropic's
//! format into the content.

pub(super) mod write;

use super::anthropic::read_reasoning;
use super::content::{
    arguments, check_map, field, id_or_none, pin_of, read_items, required_content, required_text, role_of, signed_by,
};
use super::entry::{Entry, Joins};
use super::format::Format;
use super::joined::{speaker_of, texts_in};
use super::key::Key;
use super::node::Node;
use super::{media, unknown_block};
use crate::error::Result;
use crate::media::MediaKind;
use crate::message::{Item, Outcome, Part, Role, Signature};

const ROLES: [(&str, Role); 6] = [
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("tool", Role::User),
    ("system", Role::System),
    ("developer", Role::System),
    ("function", Role::User),
];

/// The place of a part in a message.
enum Spot<N: Node> {
    /// A text field of the message, by its key.
    Field(Key, N),
    /// One of several texts in the string content.
    Joined(N::Text),
    /// A block in a list that is a field of the message.
    Block(Key, N),
}

impl<N: Node> Spot<N> {
    fn key(&self) -> Key {
        match self {
            Spot::Field(key, _) | Spot::Block(key, _) => *key,
            Spot::Joined(..) => Key::Content,
        }
    }
}

/// The fields with parts, in order.
const IN_ORDER: [Key; 10] = [
    Key::ReasoningContentSnake,
    Key::Reasoning,
    Key::ThinkingBlocks,
    Key::ReasoningDetails,
    Key::Content,
    Key::Refusal,
    Key::Audio,
    Key::ToolPlan,
    Key::ToolCalls,
    Key::FunctionCallSnake,
];

/// Returns the parts of a message, in order. Every reader and writer uses this order.
fn spots<N: Node>(message: &N) -> Vec<Spot<N>> {
    let mut spots = Vec::new();
    for key in IN_ORDER {
        let Some(value) = message.present(key).filter(|value| !is_said_twice(message, key, value)) else {
            continue;
        };
        match value.items() {
            Some(blocks) => spots.extend(blocks.into_iter().map(|block| Spot::Block(key, block))),
            None => match joined(message, key, &value) {
                Some(texts) => spots.extend(texts.into_iter().map(Spot::Joined)),
                None => spots.push(Spot::Field(key, value)),
            },
        }
    }
    spots
}

/// Returns the texts in a field, if there are several.
fn joined<N: Node>(message: &N, key: Key, value: &N) -> Option<Vec<N::Text>> {
    let texts = (key == Key::Content).then(|| texts_in(value, speaker_of(message)))?;
    texts.filter(|texts| texts.len() > 1)
}

/// True if a field repeats reasoning that another field has. Writers of signed thinking blocks also write them as plain
/// text, and some write the plain text under both names, or the blocks twice.
fn is_said_twice<N: Node>(message: &N, key: Key, value: &N) -> bool {
    let same = |other| {
        let other = message.present(other).and_then(|other: N| other.text());
        other.is_some_and(|other| value.text().is_some_and(|text| *text == *other))
    };
    match key {
        Key::ReasoningContentSnake => has_blocks_of_text(message),
        Key::Reasoning => has_blocks_of_text(message) || same(Key::ReasoningContentSnake),
        Key::ReasoningDetails => message.present(Key::ThinkingBlocks).and_then(|blocks| blocks.length()) > Some(0),
        _ => false,
    }
}

/// True if a field holds reasoning.
fn is_reasoning(key: Key) -> bool {
    matches!(key, Key::ReasoningContentSnake | Key::Reasoning | Key::ThinkingBlocks | Key::ReasoningDetails)
}

/// Returns the fields that only repeat reasoning. They are kept and removed with the field that they repeat.
fn repeating<N: Node>(message: &N) -> impl Iterator<Item = Key> + '_ {
    IN_ORDER.into_iter().filter(|key| {
        is_reasoning(*key) && message.present(*key).is_some_and(|value| is_said_twice(message, *key, &value))
    })
}

/// True if reasoning is in blocks that have text, and not only encrypted data.
fn has_blocks_of_text<N: Node>(message: &N) -> bool {
    let blocks = [Key::ThinkingBlocks, Key::ReasoningDetails].into_iter().filter_map(|key| message.present(key));
    blocks.filter_map(|blocks| blocks.items()).flatten().any(|block| {
        let texts = [Key::Thinking, Key::Text, Key::Summary].into_iter();
        texts.filter_map(|key| field(&block, key)).any(|text| !text.is_empty())
    })
}

pub(super) fn read<N: Node>(entry: &N, index: usize) -> Result<Entry<N::Text>> {
    check_map(entry, index)?;
    let role = role_of(entry, index, &ROLES)?;
    let pin = pin_of(entry);
    if is_result(entry) {
        let items = read_items(entry.present(Key::Content).as_ref(), index, read_item)?;
        let id = id_or_none(entry, Key::ToolCallId, "tool", index)?;
        let parts = vec![Part::Result { id, tool: field(entry, Key::Name), outcome: Outcome::Unknown, items }];
        return Ok(Entry { role, parts, pin, joins: Joins::Results, ties: vec![] });
    }
    let spots = spots(entry);
    // An answer without text has no content and no calls.
    if spots.is_empty() && role != Role::Assistant {
        required_content(entry, index)?;
    }
    let parts = spots.iter().map(|spot| read_spot(spot, index)).collect::<Result<Vec<_>>>()?;
    let joins = Joins::of(role, &parts, Joins::Asks);
    Ok(Entry { role, parts, pin, joins, ties: vec![] })
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
        Spot::Joined(text) => Ok(Part::Text(text.to_string().into())),
        Spot::Field(Key::ReasoningContentSnake | Key::Reasoning, text) => match text.text() {
            Some(text) => Ok(Part::Reasoning { text, signature: Signature::Unsigned }),
            None => Ok(Part::Opaque(text.rendered()?)),
        },
        Spot::Field(_, value) => match value.text() {
            Some(text) => Ok(Part::Text(text)),
            None => Ok(Part::Opaque(value.rendered()?)),
        },
    }
}

/// Reads a call: `{id, function: {name, arguments}}`, `{id, custom: {name, input}}`, Amplifier's `{id, tool,
/// arguments}`, or `LangChain`'s `{id, name, args}`.
fn read_call<N: Node>(call: &N, index: usize) -> Result<Part<N::Text>> {
    let id = id_or_none(call, Key::Id, "tool call", index)?;
    let inner = call.present(Key::Function).or_else(|| call.present(Key::Custom)).unwrap_or_else(|| call.clone());
    let name = match field(&inner, Key::Tool) {
        Some(name) => name,
        None => required_text(&inner, Key::Name, "tool call", index)?,
    };
    let input = [Key::Arguments, Key::Input, Key::Args].into_iter().find_map(|key| inner.present(key));
    let input = arguments(input)?;
    Ok(Part::Call { id, name, input })
}

fn read_block<N: Node>(block: &N, index: usize) -> Result<Part<N::Text>> {
    let name = field(block, Key::Type);
    let part = match name.as_deref() {
        Some("text") => field(block, Key::Text).map(Part::Text),
        Some("refusal") => field(block, Key::Refusal).map(Part::Text),
        Some("image_url") => Some(Part::Media(media::media_of(block.present(Key::ImageUrl), MediaKind::Image))),
        Some("video_url") => Some(Part::Media(media::media_of(block.present(Key::VideoUrl), MediaKind::Video))),
        Some("input_audio") => Some(Part::Media(media::media_of(block.present(Key::InputAudio), MediaKind::Audio))),
        Some("file") => block.present(Key::File).map(|file| Part::Document(media::file(&file))),
        Some(name @ ("thinking" | "redacted_thinking")) => read_reasoning(block, name),
        Some("reasoning.text") => field(block, Key::Text)
            .map(|text| Part::Reasoning { text, signature: signed_by(block.present(Key::Signature)) }),
        Some("reasoning.summary") => {
            field(block, Key::Summary).map(|text| Part::Reasoning { text, signature: Signature::Unsigned })
        }
        Some("reasoning.encrypted") => {
            field(block, Key::Data).map(|text| Part::Reasoning { text, signature: Signature::Signed })
        }
        _ => None,
    };
    part.map_or_else(|| unknown_block(block, Format::OpenAi, index), Ok)
}

fn read_item<N: Node>(item: &N) -> Result<Item<N::Text>> {
    match field(item, Key::Type).as_deref() {
        Some("image_url") => Ok(Item::Media(media::media_of(item.present(Key::ImageUrl), MediaKind::Image))),
        _ => match field(item, Key::Text) {
            Some(text) => Ok(Item::Text(text)),
            None => Ok(Item::Opaque(item.rendered()?)),
        },
    }
}
