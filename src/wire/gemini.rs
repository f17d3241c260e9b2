//! Gemini's contents, including those of Google ADK.
//!
//! A content is `{role, parts: [part]}`, and a part is a map with one field, its type
//! (<https://ai.google.dev/api/caching#Content>). The API writes names in camel case and its Python SDK in snake case.
//! Hosts have either, as dicts or as the SDK's objects. Calls and results need no id: position and tool show which
//! belong together.

pub(super) mod write;

use super::content::{
    bad, check_map, field, id_or_none, json_item, pin_of, read_list, required_text, role_of, signed_by,
};
use super::entry::{Entry, Joins};
use super::key::Key;
use super::media;
use super::node::{Kind, Node};
use crate::error::Result;
use crate::media::Media;
use crate::message::{Document, Item, Outcome, Part, Pin, Role};

/// The API has two roles. Older versions had one for results, and a host's list may have system messages.
const ROLES: [(&str, Role); 5] = [
    ("user", Role::User),
    ("model", Role::Assistant),
    ("function", Role::User),
    ("tool", Role::User),
    ("system", Role::System),
];

/// Both names of a field. The SDK's name is first: its objects always have it, perhaps as None, and looking up a
/// missing attribute of an object is slow.
type Spellings = [Key; 2];
const DISPLAY_NAME: Spellings = [Key::DisplayName, Key::DisplayNameCamel];
const FILE_DATA: Spellings = [Key::FileData, Key::FileDataCamel];
const FUNCTION_CALL: Spellings = [Key::FunctionCallSnake, Key::FunctionCall];
const FUNCTION_RESPONSE: Spellings = [Key::FunctionResponseSnake, Key::FunctionResponse];
const INLINE_DATA: Spellings = [Key::InlineDataSnake, Key::InlineData];
const MIME_TYPE: Spellings = [Key::MimeTypeSnake, Key::MimeType];
const THOUGHT_SIGNATURE: Spellings = [Key::ThoughtSignatureSnake, Key::ThoughtSignature];

/// Returns the field and its spelling, if it is not null.
fn find<N: Node>(node: &N, names: Spellings) -> Option<(Key, N)> {
    let found = names.into_iter().find_map(|key| node.get(key).map(|value| (key, value)));
    found.filter(|(_, value)| !value.is_null())
}

/// Returns the field and its spelling, if it is a map.
fn find_map<N: Node>(node: &N, names: Spellings) -> Option<(Key, N)> {
    find(node, names).filter(|(_, value)| value.kind() == Kind::Map)
}

fn find_text<N: Node>(node: &N, names: Spellings) -> Option<N::Text> {
    find(node, names).and_then(|(_, value)| value.text())
}

pub(super) fn read<N: Node>(entry: &N, index: usize) -> Result<Entry<N::Text>> {
    check_map(entry, index)?;
    let role = match entry.present(Key::Role) {
        None => Role::User,
        Some(_) => role_of(entry, index, &ROLES)?,
    };
    let parts = match entry.present(Key::Parts) {
        Some(parts) => read_list(&parts, index, |part| read_part(part, index))?,
        // The SDK's content of a model that answered nothing.
        None if entry.get(Key::Role).is_some() && entry.present(Key::Content).is_none() => Vec::new(),
        None => return Err(bad(index, "its `parts` are missing".to_owned(), "give a list of parts")),
    };
    // Hosts with one content for each event have a model's answer, and parallel results, in several consecutive
    // contents.
    let joins = Joins::of(role, &parts, Joins::Answer);
    // The SDK's objects cannot have a pin, and looking for one takes as long as reading the rest.
    let pin = if entry.field_count().is_some() { pin_of(entry) } else { Pin::Free };
    Ok(Entry { role, parts, pin, joins, ties: vec![] })
}

fn read_part<N: Node>(part: &N, index: usize) -> Result<Part<N::Text>> {
    let text = field(part, Key::Text);
    // Some hosts put an empty text beside a call.
    let text = match text {
        Some(text) if !text.is_empty() => return Ok(read_words(part, text)),
        text => text,
    };
    if let Some((_, call)) = find_map(part, FUNCTION_CALL) {
        return Ok(Part::Call {
            id: id_or_none(&call, Key::Id, "function_call", index)?,
            name: required_text(&call, Key::Name, "function_call", index)?,
            input: match call.present(Key::Args) {
                Some(args) => args.rendered()?,
                None => String::new().into(),
            },
        });
    }
    if let Some((_, response)) = find_map(part, FUNCTION_RESPONSE) {
        return read_response(&response, index);
    }
    if let Some(part) = read_attached(part, Part::Media, Part::Document) {
        return Ok(part);
    }
    match text {
        Some(text) => Ok(read_words(part, text)),
        None => Ok(Part::Opaque(part.rendered()?)),
    }
}

/// True if a part is read as a response to a call.
fn is_response<N: Node>(part: &N) -> bool {
    let says = field(part, Key::Text).is_some_and(|text| !text.is_empty());
    !says && find_map(part, FUNCTION_CALL).is_none() && find_map(part, FUNCTION_RESPONSE).is_some()
}

fn read_words<N: Node>(part: &N, text: N::Text) -> Part<N::Text> {
    if !part.get(Key::Thought).is_some_and(|thought| thought.is_true()) {
        return Part::Text(text);
    }
    Part::Reasoning { text, signature: signed_by(find(part, THOUGHT_SIGNATURE).map(|(_, signature)| signature)) }
}

/// Reads a result: first the function's return value, if there is one, then the media beside it.
fn read_response<N: Node>(response: &N, index: usize) -> Result<Part<N::Text>> {
    let mut items = Vec::new();
    let mut outcome = Outcome::Unknown;
    if let Some(returned) = response.present(Key::Response) {
        if matches!(only_text(&returned), Some((Key::Error, _))) {
            outcome = Outcome::Failed;
        }
        items.push(read_returned(&returned)?);
    }
    if let Some(parts) = response.present(Key::Parts) {
        items.extend(read_list(&parts, index, |part| match read_attached(part, Item::Media, Item::Document) {
            Some(item) => Ok(item),
            None => Ok(Item::Opaque(part.rendered()?)),
        })?);
    }
    Ok(Part::Result {
        id: id_or_none(response, Key::Id, "function_response", index)?,
        tool: field(response, Key::Name),
        outcome,
        items,
    })
}

fn read_returned<N: Node>(returned: &N) -> Result<Item<N::Text>> {
    if let Some(text) = only_text(returned).and_then(|(_, text)| text.text()) {
        return Ok(Item::Text(text));
    }
    json_item(returned)
}

/// Returns the string of a tool result that is only a string. Gemini's API requires a map, so hosts and its SDK wrap a
/// plain result in one of these fields.
pub fn only_text<N: Node>(result: &N) -> Option<(Key, N)> {
    const WRAPPERS: [Key; 3] = [Key::Result, Key::Output, Key::Error];
    if result.field_count() != Some(1) {
        return None;
    }
    let text = |key| result.get(key).filter(|value| value.kind() == Kind::Text).map(|value| (key, value));
    WRAPPERS.into_iter().find_map(text)
}

/// Reads `inline_data` or `file_data` by its MIME type.
fn read_attached<N: Node, R>(
    part: &N,
    of_media: impl Fn(Media) -> R,
    of_document: impl Fn(Document<N::Text>) -> R,
) -> Option<R> {
    let inline = find_map(part, INLINE_DATA);
    // Data stored elsewhere cannot be read.
    let (_, blob) = inline.or_else(|| find_map(part, FILE_DATA))?;
    let data = blob.present(Key::Data);
    Some(match find_text(&blob, MIME_TYPE).and_then(|mime| media::kind_of(&mime)) {
        Some(kind) => of_media(media::media_of(data, kind)),
        None => of_document(media::file_of(find_text(&blob, DISPLAY_NAME), data)),
    })
}
