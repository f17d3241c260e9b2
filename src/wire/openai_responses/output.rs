//! Reads the items of a tool output of OpenAI Responses, and replaces some of them.

use crate::error::Result;
use crate::media::MediaKind;
use crate::message::Item;
use crate::wire::content::{field, json_item, read_list};
use crate::wire::key::Key;
use crate::wire::media;
use crate::wire::node::{Build, Kind, Node};
use crate::wire::texts::text_for;

/// Returns a text block of this type.
pub(super) fn text_block<N: Build>(like: &N, kind: &str, text: N::Out) -> Result<N::Out> {
    like.map(vec![(Key::Type, like.string(kind)), (Key::Text, text)])
}

/// Reads the items of an output. A string is one item, and so is any other value that a host gives instead.
pub(super) fn read<N: Node>(output: &N, index: usize) -> Result<Vec<Item<N::Text>>> {
    if let Some(text) = output.text() {
        return Ok(vec![Item::Text(text)]);
    }
    match output.kind() {
        Kind::Map if is_screenshot(output) => Ok(vec![read_item(output)?]),
        Kind::Map => Ok(vec![json_item(output)?]),
        _ => {
            let items = read_list(output, index, |block| {
                streams(block).iter().map(|(key, node)| read_stream(*key, node)).collect::<Result<Vec<_>>>()
            })?;
            Ok(items.into_iter().flatten().collect())
        }
    }
}

fn is_screenshot<N: Node>(item: &N) -> bool {
    field(item, Key::Type).is_some_and(|name| matches!(&*name, "computer_screenshot" | "input_image"))
}

/// Returns the items of an output's block, by field. `{stdout, stderr, outcome}` of a shell has up to three items. Any
/// other block is one item without a field.
fn streams<N: Node>(block: &N) -> Vec<(Option<Key>, N)> {
    let texts = [Key::Stdout, Key::Stderr].into_iter().filter_map(|key| {
        let text = block.present(key).filter(|text| text.kind() == Kind::Text)?;
        Some((Some(key), text))
    });
    let mut streams: Vec<_> = texts.collect();
    if streams.is_empty() {
        return vec![(None, block.clone())];
    }
    streams.extend(block.present(Key::Outcome).map(|outcome| (Some(Key::Outcome), outcome)));
    streams
}

fn read_stream<N: Node>(key: Option<Key>, node: &N) -> Result<Item<N::Text>> {
    match (key, node.text()) {
        (None, _) => read_item(node),
        (Some(Key::Stdout | Key::Stderr), Some(text)) => Ok(Item::Text(text)),
        _ => Ok(Item::Opaque(node.rendered()?)),
    }
}

fn read_item<N: Node>(item: &N) -> Result<Item<N::Text>> {
    match field(item, Key::Type).as_deref() {
        Some("input_image" | "computer_screenshot") => {
            Ok(Item::Media(media::media_of(item.present(Key::ImageUrl), MediaKind::Image)))
        }
        Some("input_file") => Ok(Item::Document(media::file(item))),
        _ => match field(item, Key::Text) {
            Some(text) => Ok(Item::Text(text)),
            None => Ok(Item::Opaque(item.rendered()?)),
        },
    }
}

/// Returns an output with some of its items replaced by texts.
pub(super) fn replace<N: Build>(entry: &N, changes: &[(usize, &str)]) -> Result<N::Out> {
    if changes.is_empty() {
        return Ok(entry.keep());
    }
    let Some(blocks) = entry.present(Key::Output).and_then(|output| output.items()) else {
        return match text_for(changes, 0) {
            Some(text) => entry.with(Key::Output, entry.string(text)),
            None => Ok(entry.keep()),
        };
    };
    let mut position = 0;
    let mut out = Vec::with_capacity(blocks.len());
    for block in &blocks {
        let mut fields = Vec::new();
        let mut whole = None;
        for (key, _) in streams(block) {
            match (text_for(changes, position), key) {
                (Some(text), Some(key)) => fields.push((key, Some(block.string(text)))),
                (Some(text), None) => whole = Some(text),
                (None, _) => {}
            }
            position += 1;
        }
        out.push(match whole {
            // The other fields of a text block (a cache mark) stay.
            Some(text) if field(block, Key::Text).is_some() => block.with(Key::Text, block.string(text))?,
            Some(text) => text_block(block, "input_text", block.string(text))?,
            None if fields.is_empty() => block.keep(),
            None => block.with_all(fields)?,
        });
    }
    entry.with(Key::Output, entry.list(out)?)
}

/// Returns the text of an output's item.
pub(in crate::wire) fn item<N: Node>(entry: &N, item: usize) -> Option<N> {
    match find(entry, item)? {
        (None, block) if entry.present(Key::Output)?.length().is_some() => block.get(Key::Text),
        (_, node) => Some(node),
    }
}

/// Returns an item of an output, whole.
pub(in crate::wire) fn whole_item<N: Node>(entry: &N, item: usize) -> Option<N> {
    find(entry, item).map(|(_, node)| node)
}

fn find<N: Node>(entry: &N, item: usize) -> Option<(Option<Key>, N)> {
    let output = entry.present(Key::Output)?;
    let Some(blocks) = output.items() else { return (item == 0).then_some((None, output)) };
    blocks.iter().flat_map(streams).nth(item)
}
