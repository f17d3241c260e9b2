//! Writing a plan's outcome back in the host's own shape.
//!
//! A message that does not change is given back as the very same object; one that does is a shallow copy that shares
//! everything but the changed path.

use super::detect::Format;
use super::key::Key;
use super::node::{Build, Kind, Node};
use super::{anthropic, bedrock, message_list};
use crate::error::Result;
use crate::message::Role;

/// One step of rewriting a list; indices are those of the original list.
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
        /// New texts for items of tool results: block, item, text.
        items: Vec<(usize, usize, &'a str)>,
        /// Blocks that go away.
        drop: Vec<usize>,
        /// Text blocks to add at the end.
        append: Vec<&'a str>,
    },
    /// A message that was not there before.
    Insert {
        /// Who it is from.
        role: Role,
        /// Its one text.
        text: &'a str,
    },
}

/// The list that `changes` describes, as values of the host. O(changes + blocks of changed messages times the items changed in them).
///
/// # Errors
/// Those of the host when a value cannot be built.
pub fn rewrite<N: Build>(messages: &N, format: Format, changes: &[Change<'_>]) -> Result<Vec<N::Out>> {
    let nodes = message_list(messages)?;
    changes
        .iter()
        .map(|change| match change {
            Change::Keep { message } => Ok(nodes[*message].keep()),
            Change::Edit { message, items, drop, append } => edit(&nodes[*message], format, items, drop, append),
            Change::Insert { role, text } => {
                let content = messages.list(vec![text_block(messages, format, messages.string(text))?])?;
                messages.map(vec![(Key::Role, messages.string(role.name())), (Key::Content, content)])
            }
        })
        .collect()
}

fn edit<N: Build>(
    message: &N,
    format: Format,
    items: &[(usize, usize, &str)],
    drop: &[usize],
    append: &[&str],
) -> Result<N::Out> {
    let content = message.present(Key::Content);
    let mut blocks = Vec::new();
    if let Some(text) = content.as_ref().filter(|text| text.kind() == Kind::Text && !drop.contains(&0)) {
        blocks.push(text_block(message, format, text.keep())?);
    }
    for (position, block) in content.as_ref().and_then(Node::items).unwrap_or_default().iter().enumerate() {
        if drop.contains(&position) {
            continue;
        }
        let changes: Vec<(usize, &str)> =
            items.iter().filter(|(block, ..)| *block == position).map(|(_, item, text)| (*item, *text)).collect();
        blocks.push(match format {
            _ if changes.is_empty() => block.keep(),
            Format::Bedrock => bedrock::replace_items(block, &changes)?,
            Format::Anthropic => anthropic::replace_items(block, &changes)?,
        });
    }
    for text in append {
        blocks.push(text_block(message, format, message.string(text))?);
    }
    message.with(Key::Content, message.list(blocks)?)
}

fn text_block<N: Build>(like: &N, format: Format, text: N::Out) -> Result<N::Out> {
    match format {
        Format::Bedrock => bedrock::text_block(like, text),
        Format::Anthropic => anthropic::text_block(like, text),
    }
}

/// The string of an item of a tool result; `None` for an item that is not one string.
///
/// `Place` is of a higher floor, so the place comes as its three numbers.
pub fn item_node<N: Node>(messages: &N, format: Format, [message, part, item]: [usize; 3]) -> Option<N> {
    let block = messages.at(message)?.present(Key::Content)?.at(part)?;
    let result = match format {
        Format::Bedrock => block.present(Key::ToolResult)?,
        Format::Anthropic => block,
    };
    let content = result.present(Key::Content)?;
    let node = match content.at(item) {
        Some(item) => item.get(Key::Text)?,
        None => content,
    };
    (node.kind() == Kind::Text).then_some(node)
}

/// The new text for the item at `position`, if there is one.
pub(super) fn text_for<'a>(changes: &[(usize, &'a str)], position: usize) -> Option<&'a str> {
    changes.iter().find(|(item, _)| *item == position).map(|(_, text)| *text)
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
