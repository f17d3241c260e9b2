//! Writing a plan's outcome back in the host's own shape.
//!
//! A message that does not change is given back as the very same object; one that does is a shallow copy that shares
//! everything but the changed path.

use super::change::{Change, EntryEdit, Piece};
use super::compose::{Composition, Material, Place, runs};
use super::dialect;
use super::format::Format;
use super::key::Key;
use super::message_list;
use super::node::{Build, Kind, Node};
use crate::error::Result;
use crate::message::{Conversation, Span};

/// The list that `changes` describes, as values of the host; `conversation` is what was read from `messages`. O(changes +
/// blocks of changed messages), but for the logarithm of what changes in a message.
///
/// # Errors
/// Those of the host when a value cannot be built.
pub fn rewrite<N: Build, T>(
    messages: &N,
    conversation: &Conversation<T>,
    format: Format,
    changes: &[Change<'_>],
) -> Result<Vec<N::Out>> {
    let entries = message_list(messages)?;
    let sample = entries.first().unwrap_or(messages);
    let mut out = Vec::with_capacity(entries.len());
    for change in changes {
        match change {
            Change::Keep { message } => {
                out.extend(entries[conversation.messages[*message].span.entries()].iter().map(Build::keep));
            }
            Change::Edit { message, items, drop, append } => {
                let span = &conversation.messages[*message].span;
                for (entry, edit) in edits_of_entries(span, items, drop, append) {
                    if edit.is_empty() {
                        out.push(entries[entry].keep());
                    } else {
                        dialect::edit(&entries[entry], format, &edit, &mut out)?;
                    }
                }
            }
            Change::Compose { like, role, pieces } => {
                let materials: Vec<_> =
                    pieces.iter().map(|piece| material(piece, &entries, conversation, format)).collect();
                for run in runs(conversation, format, *like, *role, pieces) {
                    if let Some(entry) = run.stays {
                        out.push(entries[entry].keep());
                        continue;
                    }
                    let like = run.like.map(|entry| &entries[entry]);
                    let materials = materials[run.pieces].to_vec();
                    dialect::compose(format, &Composition { sample, like, role: *role, materials }, &mut out)?;
                }
            }
            Change::Insert { role, text } => out.push(dialect::message(sample, format, *role, text)?),
        }
    }
    Ok(out)
}

/// What changes in each entry of a message, in order.
fn edits_of_entries<'a>(
    span: &Span,
    items: &[(usize, usize, &'a str)],
    drop: &[usize],
    append: &'a [&'a str],
) -> Vec<(usize, EntryEdit<'a>)> {
    let (mut items, mut drop) = (items.to_vec(), drop.to_vec());
    items.sort_by_key(|(part, item, _)| (*part, *item));
    drop.sort_unstable();
    let (mut items, mut drop) = (items.into_iter().peekable(), drop.into_iter().peekable());
    let last = span.entries().end - 1;
    let edits = span.entries().map(|entry| {
        let local = |part: usize| {
            let (at, first) = span.entry_of(part);
            (at == entry).then(|| part - first)
        };
        let mut edit = EntryEdit { append: if entry == last { append } else { &[] }, ..EntryEdit::default() };
        while let Some((part, item, text)) = items.next_if(|(part, ..)| local(*part).is_some()) {
            edit.items.extend(local(part).map(|part| (part, item, text)));
        }
        while let Some(part) = drop.next_if(|part| local(*part).is_some()) {
            edit.drop.extend(local(part));
        }
        (entry, edit)
    });
    edits.collect()
}

/// A piece as values of the host.
fn material<'a, N: Build, T>(
    piece: &'a Piece,
    entries: &[N],
    conversation: &Conversation<T>,
    format: Format,
) -> Material<'a, N> {
    let place = |message: &usize, part: &usize| {
        let (entry, first) = conversation.messages[*message].span.entry_of(*part);
        Place { entry, part: *part - first }
    };
    match piece {
        Piece::Part { message, part, id, tool } => {
            let place = place(message, part);
            Material::Part { node: entries[place.entry].clone(), place, id: id.as_deref(), tool: tool.as_deref() }
        }
        Piece::Text(text) => Material::Text(text),
        Piece::Picture { message, part, item } => {
            let place = place(message, part);
            Material::Picture(dialect::whole_item(&entries[place.entry], format, place.part, *item))
        }
        Piece::Answer { message, part, id, tool, text } => {
            Material::Answer { call: entries[place(message, part).entry].clone(), id, tool, text }
        }
    }
}

/// The string of an item of a tool result, whose part is the `part`th of its entry; `None` for an item that is not one
/// string.
pub fn item_node<N: Node>(entry: &N, format: Format, part: usize, item: usize) -> Option<N> {
    dialect::item(entry, format, part, item).filter(|node| node.kind() == Kind::Text)
}

/// The new text for the item at `position`, if there is one; `changes` are in the order of the items.
pub(super) fn text_for<'a>(changes: &[(usize, &'a str)], position: usize) -> Option<&'a str> {
    let first = changes.partition_point(|(item, _)| *item < position);
    changes.get(first).filter(|(item, _)| *item == position).map(|(_, text)| *text)
}

/// The items of a tool result, some of them replaced by texts.
pub(super) fn replaced<N: Build>(
    items: &[N],
    changes: &[(usize, &str)],
    text_block: impl Fn(&N, N::Out) -> Result<N::Out>,
) -> Result<Vec<N::Out>> {
    items
        .iter()
        .enumerate()
        .map(|(position, old)| match text_for(changes, position) {
            None => Ok(old.keep()),
            // The other fields of a text item (a cache mark, a citation) stay.
            Some(text) if old.get(Key::Text).is_some_and(|text| text.kind() == Kind::Text) => {
                old.with(Key::Text, old.string(text))
            }
            Some(text) => text_block(old, old.string(text)),
        })
        .collect()
}
