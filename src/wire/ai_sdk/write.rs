//! Writes the AI SDK's messages: changed, recombined and new ones.

use super::{TOOL, is_plain_result, is_tool, result};
use crate::error::Result;
use crate::message::Role;
use crate::wire::anthropic::text_block;
use crate::wire::change::{Arguments, EntryEdit};
use crate::wire::compose::{Composition, Material};
use crate::wire::content::write::{compose_message, edit_content, new_message, with_arguments, with_items};
use crate::wire::content::{field, item_of};
use crate::wire::joined::{parts_of, text_at};
use crate::wire::key::Key;
use crate::wire::node::{Build, Kind, Node};
use crate::wire::openai_chat::write::message_of;

/// Appends the message with the changes of `edit`, or nothing if all of it is removed. The SDK accepts a list of texts
/// from the user and the model. After a message of another role, a text becomes a message of the user.
pub(in crate::wire) fn edit<N: Build>(entry: &N, edit: &EntryEdit<'_>, out: &mut Vec<N::Out>) -> Result<()> {
    let content = entry.present(Key::Content);
    let plain = is_plain_result(entry);
    let parts = if plain { 1 } else { parts_of(entry) };
    let listed = content.is_some_and(|content| content.kind() == Kind::List);
    let open = !is_tool(entry) && (listed || field(entry, Key::Role).is_some_and(|role| &*role != "system"));
    let (inside, behind) = if open { (edit.append, &[][..]) } else { (&[][..], edit.append) };
    let gone = inside.is_empty() && (0..parts).all(|part| edit.drops(part));
    if !gone {
        out.push(if plain {
            with_items(entry, &edit.of_part(0), text_block)?
        } else {
            let edit = edit.appending(inside);
            let arguments = |call: &N, new: &Arguments| with_arguments(call, &[Key::Input, Key::Args], new);
            if edit.is_empty() {
                entry.keep()
            } else {
                edit_content(entry, &edit, Key::Content, text_block, result::replace, arguments)?
            }
        });
    }
    if !behind.is_empty() {
        out.push(message_of(entry, Role::User, behind)?);
    }
    Ok(())
}

pub(in crate::wire) fn message<N: Build>(like: &N, role: Role, text: &str) -> Result<N::Out> {
    new_message(like, role, like.string(text))
}

/// Writes results as a message with the role `tool`, and everything else after it in another message.
pub(in crate::wire) fn compose<N: Build>(composition: &Composition<'_, N>, out: &mut Vec<N::Out>) -> Result<()> {
    let sample = composition.sample;
    let (mut results, mut others) = (Vec::new(), Vec::new());
    for material in &composition.materials {
        match material {
            Material::Text { text, .. } => others.push((text_block(sample, sample.string(text))?, material)),
            Material::Picture { picture, .. } => {
                let picture = picture.as_ref().map_or(Ok(None), result::picture)?;
                others.extend(picture.map(|picture| (picture, material)));
            }
            Material::Answer { id, tool, text, .. } => results.push((answer(sample, [id, tool, text])?, material)),
            Material::Part { node, id, .. } if is_plain_result(node) => out.push(match id {
                Some(id) => node.with(Key::ToolCallIdCamel, node.string(id))?,
                None => node.keep(),
            }),
            Material::Part { node, place, id, .. } => {
                let Some(content) = node.present(Key::Content) else { continue };
                match content.at(place.part) {
                    None => others.push((text_block(node, text_at(node, &content, place.part))?, material)),
                    Some(part) => {
                        // Calls and reasoning among results are moved to the model's words.
                        let is_models = composition.role == Role::Assistant;
                        let to = if is_tool(node) && !is_models { &mut results } else { &mut others };
                        let part = match id {
                            Some(id) => part.with(Key::ToolCallIdCamel, part.string(id))?,
                            None => part.keep(),
                        };
                        to.push((part, material));
                    }
                }
            }
        }
    }
    for (role, tools, parts) in [(TOOL, true, results), (composition.role.name(), false, others)] {
        if parts.is_empty() {
            continue;
        }
        let (parts, materials): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let fields = vec![(Key::Role, Some(sample.string(role))), (Key::Content, Some(sample.list(parts)?))];
        // Any message with the fields of a plain result would become one.
        let is_such = |other: &&N| is_tool(*other) == tools && !is_plain_result(*other);
        let like = composition.like.filter(is_such);
        let others: Vec<N> = composition.others.iter().filter(is_such).cloned().collect();
        out.push(compose_message(sample, like, &others, fields, materials)?);
    }
    Ok(())
}

fn answer<N: Build>(like: &N, [id, tool, text]: [&str; 3]) -> Result<N::Out> {
    let output = like.map(vec![(Key::Type, like.string("error-text")), (Key::Value, like.string(text))])?;
    like.map(vec![
        (Key::Type, like.string("tool-result")),
        (Key::ToolCallIdCamel, like.string(id)),
        (Key::ToolName, like.string(tool)),
        (Key::Output, output),
    ])
}

pub(in crate::wire) fn whole_item<N: Node>(entry: &N, part: usize, item: usize) -> Option<N> {
    let content = entry.present(Key::Content)?;
    if is_plain_result(entry) {
        return content.at(item);
    }
    result::whole_item(&content.at(part)?, item)
}

pub(in crate::wire) fn item<N: Node>(entry: &N, part: usize, item: usize) -> Option<N> {
    let content = entry.present(Key::Content)?;
    if is_plain_result(entry) {
        return item_of(&content, item);
    }
    result::item(&content.at(part)?, item)
}
