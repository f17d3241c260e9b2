//! Reads the items of a tool result of the AI SDK, and replaces some of them.

use super::{is_a, media_kind, read_file};
use crate::error::Result;
use crate::media::MediaKind;
use crate::message::{Item, Outcome};
use crate::wire::anthropic::text_block;
use crate::wire::content::{declared, field, json_item, read_items};
use crate::wire::key::Key;
use crate::wire::media;
use crate::wire::node::{Build, Kind, Node};
use crate::wire::texts::replaced;

/// The place of a result's items.
enum ItemsPlace<N> {
    /// `output: {type: "content", value: [...]}`.
    List(N),
    /// A single value: text if it is a string, otherwise JSON.
    Value(N),
    /// Content that is kept whole.
    Opaque(N),
}

/// Returns the places of a result's items, in order. Version 4 may have them twice, because different providers send
/// different ones.
fn places<N: Node>(part: &N) -> impl Iterator<Item = ItemsPlace<N>> {
    let Some(output) = part.present(Key::Output) else {
        let content = part.present(Key::ExperimentalContent).map(|content| match content.kind() {
            Kind::List => ItemsPlace::List(content),
            _ => ItemsPlace::Opaque(content),
        });
        return [content, part.present(Key::Result).map(ItemsPlace::Value)].into_iter().flatten();
    };
    let value = output.present(Key::Value);
    let name = field(&output, Key::Type);
    let place = match (name.as_deref(), value) {
        (Some("text" | "error-text" | "json" | "error-json"), Some(value)) => ItemsPlace::Value(value),
        (Some("content"), Some(value)) if value.kind() == Kind::List => ItemsPlace::List(value),
        _ if output.kind() == Kind::Text => ItemsPlace::Value(output),
        _ => ItemsPlace::Opaque(output),
    };
    [Some(place), None].into_iter().flatten()
}

/// Reads the outcome of a call: from a flag, or from the type of its output.
pub(super) fn outcome<N: Node>(part: &N) -> Outcome {
    let output = part.present(Key::Output);
    let name = output.as_ref().and_then(|output| field(output, Key::Type));
    match name.as_deref() {
        Some("error-text" | "error-json" | "execution-denied") => Outcome::Failed,
        _ => declared(part, Key::IsErrorCamel),
    }
}

pub(super) fn read<N: Node>(part: &N, index: usize) -> Result<Vec<Item<N::Text>>> {
    let mut items = Vec::new();
    for place in places(part) {
        match place {
            ItemsPlace::List(list) => items.extend(read_items(Some(&list), index, read_item)?),
            ItemsPlace::Opaque(value) => items.push(Item::Opaque(value.rendered()?)),
            ItemsPlace::Value(value) => items.push(read_value(&value)?),
        }
    }
    Ok(items)
}

fn read_value<N: Node>(value: &N) -> Result<Item<N::Text>> {
    match value.text() {
        Some(text) => Ok(Item::Text(text)),
        None => json_item(value),
    }
}

pub(super) fn read_item<N: Node>(item: &N) -> Result<Item<N::Text>> {
    let name = field(item, Key::Type);
    let data = || item.present(Key::Data).or_else(|| item.present(Key::Url));
    let known = match name.as_deref() {
        Some("text") => field(item, Key::Text).map(Item::Text),
        Some("image" | "image-data" | "image-url" | "image-file-id" | "image-file-reference") => {
            Some(Item::Media(media::media_of(data(), MediaKind::Image)))
        }
        Some("media" | "file" | "file-data" | "file-url" | "file-id" | "file-reference") => {
            Some(match media_kind(item) {
                Some(kind) => Item::Media(media::media_of(data(), kind)),
                None => Item::Document(read_file(item, data())),
            })
        }
        _ => None,
    };
    known.map_or_else(|| Ok(Item::Opaque(item.rendered()?)), Ok)
}

/// Returns a result with some items replaced by texts. Each stays in its place, and JSON gets the type of text.
pub(super) fn replace<N: Build>(part: &N, changes: &[(usize, &str)]) -> Result<N::Out> {
    let output = part.present(Key::Output);
    let mut fields = Vec::new();
    let mut first = 0;
    for place in places(part) {
        let length = match &place {
            ItemsPlace::List(list) => list.length().unwrap_or_default(),
            ItemsPlace::Value(_) | ItemsPlace::Opaque(_) => 1,
        };
        let here: Vec<(usize, &str)> = changes
            .iter()
            .filter_map(|(item, text)| Some((item.checked_sub(first).filter(|item| *item < length)?, *text)))
            .collect();
        first += length;
        let replacement = match &place {
            ItemsPlace::List(list) if !here.is_empty() => {
                part.list(replaced(&list.items().unwrap_or_default(), &here, text_block)?)?
            }
            ItemsPlace::Value(_) if !here.is_empty() => part.string(here[0].1),
            _ => continue,
        };
        fields.push(match (&output, &place) {
            (Some(output), _) if output.kind() != Kind::Map => (Key::Output, Some(replacement)),
            (Some(output), ItemsPlace::List(_)) => (Key::Output, Some(output.with(Key::Value, replacement)?)),
            (Some(output), _) => (Key::Output, Some(with_text(output, replacement)?)),
            (None, ItemsPlace::List(_)) => (Key::ExperimentalContent, Some(replacement)),
            (None, _) => (Key::Result, Some(replacement)),
        });
    }
    part.with_all(fields)
}

/// Returns an output whose value is now a text.
fn with_text<N: Build>(output: &N, text: N::Out) -> Result<N::Out> {
    let failed = is_a(output, "error-text") || is_a(output, "error-json");
    let name = if failed { "error-text" } else { "text" };
    output.with_all(vec![(Key::Type, Some(output.string(name))), (Key::Value, Some(text))])
}

/// Returns the text of a result's item.
pub(super) fn item<N: Node>(part: &N, item: usize) -> Option<N> {
    match find(part, item)? {
        ItemsPlace::List(block) => block.get(Key::Text),
        ItemsPlace::Value(value) | ItemsPlace::Opaque(value) => Some(value),
    }
}

/// Returns an item of a result, whole.
pub(super) fn whole_item<N: Node>(part: &N, item: usize) -> Option<N> {
    match find(part, item)? {
        ItemsPlace::List(item) | ItemsPlace::Value(item) | ItemsPlace::Opaque(item) => Some(item),
    }
}

/// Returns an item and the kind of its place.
fn find<N: Node>(part: &N, item: usize) -> Option<ItemsPlace<N>> {
    let mut first = 0;
    for place in places(part) {
        match &place {
            ItemsPlace::List(list) => match list.at(item - first) {
                Some(found) => return Some(ItemsPlace::List(found)),
                None => first += list.length()?,
            },
            ItemsPlace::Value(_) | ItemsPlace::Opaque(_) if item == first => return Some(place),
            ItemsPlace::Value(_) | ItemsPlace::Opaque(_) => first += 1,
        }
    }
    None
}

/// Returns a picture in the form of a user's message, which every version of the SDK accepts; `None` for a picture that
/// the provider stores.
pub(super) fn picture<N: Build>(item: &N) -> Result<Option<N::Out>> {
    let data = match item.present(Key::Data) {
        // In version 7 a map says where the content is.
        Some(data) if data.kind() == Kind::Map => return item.with(Key::Type, item.string("file")).map(Some),
        data => data.or_else(|| item.present(Key::Url)),
    };
    let Some(data) = data else { return Ok(None) };
    let mime = [Key::MediaType, Key::MimeType].into_iter().filter_map(|key| Some((key, item.present(key)?.keep())));
    let fields = [(Key::Type, item.string("image")), (Key::Image, data.keep())];
    item.map(fields.into_iter().chain(mime).collect()).map(Some)
}
