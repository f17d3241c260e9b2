//! Writing a plan's outcome back in the host's own shape.
//!
//! A message that does not change is given back as the very same object; one that does is a shallow copy that shares
//! everything but the changed path.

use super::compose::{Composition, Material, Place, runs};
use super::dialect;
use super::format::Format;
use super::key::Key;
use super::message_list;
use super::node::{Build, Kind, Node};
use crate::error::Result;
use crate::message::{Conversation, Role};

/// One step of rewriting a conversation; indices are those of its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<'a> {
    /// Give the message back as it is.
    Keep {
        /// Index of the message.
        message: usize,
    },
    /// Give the message back with some of its content changed.
    Edit {
        /// Index of the message.
        message: usize,
        /// New texts for items of tool results: part, item, text.
        items: Vec<(usize, usize, &'a str)>,
        /// Parts that go away.
        drop: Vec<usize>,
        /// Texts to add at the end.
        append: Vec<&'a str>,
    },
    /// A message put together anew.
    Compose {
        /// The message whose other fields it takes; a new one has none.
        like: Option<usize>,
        /// Who it is from.
        role: Role,
        /// What it says.
        pieces: Vec<Piece>,
    },
    /// A message that was not there before.
    Insert {
        /// Who it is from.
        role: Role,
        /// Its one text.
        text: &'a str,
    },
}

/// What a message is put together from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A part of the conversation.
    Part {
        /// Its message.
        message: usize,
        /// Its place there.
        part: usize,
        /// Its new id, for a call or a result that gets one.
        id: Option<String>,
        /// The tool that a result names from now on, where it named another one.
        tool: Option<String>,
    },
    /// A text.
    Text(String),
    /// A picture that is an item of a result, as a part of its own.
    Picture {
        /// The message of the result.
        message: usize,
        /// Its place there.
        part: usize,
        /// The item.
        item: usize,
    },
    /// A result that says that there is none.
    Answer {
        /// The message of the call.
        message: usize,
        /// Its place there.
        part: usize,
        /// Its identifier.
        id: String,
        /// Name of its tool.
        tool: String,
        /// What it says.
        text: String,
    },
}

/// What changes in one entry of the list. Parts are counted from the first one in the entry.
#[derive(Debug, Default)]
pub(super) struct EntryEdit<'a> {
    /// In the order of their places.
    pub(super) items: Vec<(usize, usize, &'a str)>,
    /// In order.
    pub(super) drop: Vec<usize>,
    pub(super) append: &'a [&'a str],
}

impl<'a> EntryEdit<'a> {
    fn is_empty(&self) -> bool {
        self.items.is_empty() && self.drop.is_empty() && self.append.is_empty()
    }

    /// The new texts for the items of a part, in their order.
    pub(super) fn of_part(&self, part: usize) -> Vec<(usize, &'a str)> {
        let first = self.items.partition_point(|(at, ..)| *at < part);
        let here = self.items[first..].iter().take_while(|(at, ..)| *at == part);
        here.map(|(_, item, text)| (*item, *text)).collect()
    }

    /// Whether a part goes away.
    pub(super) fn drops(&self, part: usize) -> bool {
        self.drop.binary_search(&part).is_ok()
    }
}

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
    let mut out = Vec::with_capacity(entries.len());
    for change in changes {
        match change {
            Change::Keep { message } => {
                out.extend(entries[conversation.messages[*message].span.entries()].iter().map(Build::keep));
            }
            Change::Edit { message, items, drop, append } => {
                let span = &conversation.messages[*message].span;
                let last = span.entries().end - 1;
                let (mut items, mut drop) = (items.clone(), drop.clone());
                items.sort_by_key(|(part, item, _)| (*part, *item));
                drop.sort_unstable();
                let (mut items, mut drop) = (items.into_iter().peekable(), drop.into_iter().peekable());
                for entry in span.entries() {
                    let local = |part: usize| {
                        let (at, first) = span.entry_of(part);
                        (at == entry).then(|| part - first)
                    };
                    let mut edit =
                        EntryEdit { append: if entry == last { append } else { &[] }, ..EntryEdit::default() };
                    while let Some((part, item, text)) = items.next_if(|(part, ..)| local(*part).is_some()) {
                        edit.items.extend(local(part).map(|part| (part, item, text)));
                    }
                    while let Some(part) = drop.next_if(|part| local(*part).is_some()) {
                        edit.drop.extend(local(part));
                    }
                    if edit.is_empty() {
                        out.push(entries[entry].keep());
                    } else {
                        dialect::edit(&entries[entry], format, &edit, &mut out)?;
                    }
                }
            }
            Change::Compose { like, role, pieces } => {
                let place = |message: usize, part: usize| {
                    let (entry, first) = conversation.messages[message].span.entry_of(part);
                    Place { entry, part: part - first }
                };
                let materials = pieces.iter().map(|piece| match piece {
                    Piece::Part { message, part, id, tool } => {
                        let place = place(*message, *part);
                        let (id, tool) = (id.as_deref(), tool.as_deref());
                        Material::Part { node: entries[place.entry].clone(), place, id, tool }
                    }
                    Piece::Text(text) => Material::Text(text),
                    Piece::Picture { message, part, item } => {
                        let place = place(*message, *part);
                        Material::Picture(dialect::whole_item(&entries[place.entry], format, place.part, *item))
                    }
                    Piece::Answer { message, part, id, tool, text } => {
                        let call = entries[place(*message, *part).entry].clone();
                        Material::Answer { call, id, tool, text }
                    }
                });
                let materials: Vec<_> = materials.collect();
                for run in runs(conversation, format, *like, *role, pieces) {
                    if let Some(entry) = run.stays {
                        out.push(entries[entry].keep());
                        continue;
                    }
                    let composition = Composition {
                        sample: entries.first().unwrap_or(messages),
                        like: run.like.map(|entry| &entries[entry]),
                        role: *role,
                        materials: materials[run.pieces].to_vec(),
                    };
                    dialect::compose(format, &composition, &mut out)?;
                }
            }
            Change::Insert { role, text } => {
                let like = entries.first().unwrap_or(messages);
                out.push(dialect::message(like, format, *role, text)?);
            }
        }
    }
    Ok(out)
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
