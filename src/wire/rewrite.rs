//! Writes the outcome of a plan in the host's own shape.
//!
//! An unchanged message is returned as the same object. A changed message is a shallow copy that shares everything but
//! the changed path.

use std::collections::HashSet;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::change::{Arguments, Change, EntryEdit, Piece};
use super::compose::{Composition, EntryPart, Material, Run, runs};
use super::content::pin_of;
use super::dialect;
use super::format::Format;
use super::message_list;
use super::node::{Build, Kind, Node};
use crate::error::Result;
use crate::message::{Conversation, Pin, Span};

/// An entry of the rewritten list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten<O> {
    /// The host's value.
    pub value: O,
    /// The entries from which it was made; empty for an inserted entry.
    pub of: Range<usize>,
    /// True if it is the single entry of `of`, unchanged.
    pub is_same: bool,
}

/// Returns the list that `changes` describes, as values of the host. `conversation` was read from `messages`. O(changes
/// + blocks of changed messages), times the logarithm of the changes in a message.
///
/// # Errors
/// The host's errors, if a value cannot be built.
pub fn rewrite<N: Build, T>(
    messages: &N,
    conversation: &Conversation<T>,
    format: Format,
    changes: &[Change<'_>],
) -> Result<Vec<Rewritten<N::Out>>> {
    let entries = message_list(messages)?;
    let sample = entries.first().unwrap_or(messages);
    let mut out = Vec::with_capacity(entries.len());
    let same = |entry: usize| Rewritten { value: entries[entry].keep(), of: entry..entry + 1, is_same: true };
    // A changed entry may become several, or none.
    let mut made: Vec<N::Out> = Vec::new();
    let is_pinned = |entry: usize| pin_of(&entries[entry]) == Pin::Pinned;
    let composed: Vec<Vec<Run>> = changes
        .iter()
        .map(|change| match change {
            Change::Compose { like, role, pieces } => runs(conversation, format, *like, *role, pieces, is_pinned),
            _ => Vec::new(),
        })
        .collect();
    let homes = homes(conversation, changes, &composed);
    for (change, runs) in changes.iter().zip(composed) {
        match change {
            Change::Keep { message } => {
                out.extend(conversation.messages[*message].span.entries().map(same));
            }
            Change::Edit { message, items, drop, append, calls } => {
                let span = &conversation.messages[*message].span;
                for (entry, edit) in edits_of_entries(span, items, drop, append, calls) {
                    if edit.is_empty() {
                        out.push(same(entry));
                    } else {
                        dialect::edit(&entries[entry], format, &edit, &mut made)?;
                        changed(&mut out, &mut made, &(entry..entry + 1));
                    }
                }
            }
            Change::Compose { role, pieces, .. } => {
                let materials: Vec<_> =
                    pieces.iter().map(|piece| material(piece, &entries, conversation, format)).collect();
                for run in runs {
                    if let Some(entry) = run.stays {
                        out.push(same(entry));
                        continue;
                    }
                    let like = run.like.map(|entry| &entries[entry]);
                    let mut others: Vec<usize> = run.sources(conversation, pieces).collect();
                    others.dedup();
                    let of = hull(others.iter().copied().chain(run.like));
                    others.retain(|entry| !homes.contains(entry));
                    let others = others.into_iter().map(|entry| entries[entry].clone()).collect();
                    let materials = materials[run.pieces].to_vec();
                    let composition = Composition { sample, like, others, role: *role, materials };
                    dialect::compose(format, &composition, &mut made)?;
                    changed(&mut out, &mut made, &of);
                }
            }
            Change::Insert { role, text } => {
                made.push(dialect::message(sample, format, *role, text)?);
                changed(&mut out, &mut made, &(0..0));
            }
        }
    }
    Ok(out)
}

/// Appends values that were made from these entries, and empties `made`.
fn changed<O>(out: &mut Vec<Rewritten<O>>, made: &mut Vec<O>, of: &Range<usize>) {
    out.extend(made.drain(..).map(|value| Rewritten { value, of: of.clone(), is_same: false }));
}

/// Returns the smallest range with all of these entries.
fn hull(entries: impl Iterator<Item = usize>) -> Range<usize> {
    entries
        .map(|entry| entry..entry + 1)
        .reduce(|hull, entry| hull.start.min(entry.start)..hull.end.max(entry.end))
        .unwrap_or(0..0)
}

/// Returns the entries that still have a message of their own, which has their other fields.
fn homes<T>(
    conversation: &Conversation<T>,
    changes: &[Change<'_>],
    composed: &[Vec<Run>],
) -> HashSet<usize, RandomState> {
    let mut homes = HashSet::default();
    for (change, runs) in changes.iter().zip(composed) {
        match change {
            Change::Compose { .. } => homes.extend(runs.iter().filter_map(|run| run.stays.or(run.like))),
            Change::Keep { message } | Change::Edit { message, .. } => {
                homes.extend(conversation.messages[*message].span.entries());
            }
            Change::Insert { .. } => {}
        }
    }
    homes
}

/// Returns the edits of each entry of a message, in order.
fn edits_of_entries<'a>(
    span: &Span,
    items: &[(usize, usize, &'a str)],
    drop: &[usize],
    append: &'a [&'a str],
    calls: &[(usize, &'a Arguments)],
) -> Vec<(usize, EntryEdit<'a>)> {
    let (mut items, mut drop, mut calls) = (items.to_vec(), drop.to_vec(), calls.to_vec());
    items.sort_by_key(|(part, item, _)| (*part, *item));
    drop.sort_unstable();
    calls.sort_by_key(|(part, _)| *part);
    let (mut items, mut drop) = (items.into_iter().peekable(), drop.into_iter().peekable());
    let mut calls = calls.into_iter().peekable();
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
        while let Some((part, arguments)) = calls.next_if(|(part, _)| local(*part).is_some()) {
            edit.calls.extend(local(part).map(|part| (part, arguments)));
        }
        (entry, edit)
    });
    edits.collect()
}

/// Returns a piece as values of the host.
fn material<'a, N: Build, T>(
    piece: &'a Piece,
    entries: &[N],
    conversation: &Conversation<T>,
    format: Format,
) -> Material<'a, N> {
    let place = |message: &usize, part: &usize| {
        let (entry, first) = conversation.messages[*message].span.entry_of(*part);
        EntryPart { entry, part: *part - first }
    };
    match piece {
        Piece::Part { message, part, id, tool } => {
            let place = place(message, part);
            Material::Part { node: entries[place.entry].clone(), place, id: id.as_deref(), tool: tool.as_deref() }
        }
        Piece::Text { text, of } => {
            let of = of.as_ref().map(|(message, part)| entries[place(message, part).entry].clone());
            Material::Text { text, of }
        }
        Piece::Picture { message, part, item } => {
            let place = place(message, part);
            let of = entries[place.entry].clone();
            Material::Picture { picture: dialect::whole_item(&of, format, place.part, *item), of }
        }
        Piece::Answer { message, part, id, tool, text } => {
            Material::Answer { call: entries[place(message, part).entry].clone(), id, tool, text }
        }
    }
}

/// Returns the string of a tool result's item, whose part has the index `part` in its entry; `None` if the item is not
/// one string.
pub fn item_node<N: Node>(entry: &N, format: Format, part: usize, item: usize) -> Option<N> {
    dialect::item(entry, format, part, item).filter(|node| node.kind() == Kind::Text)
}
