//! Writes items of OpenAI Responses: changed, recombined and new ones.

use super::{ROLES, answered_by, is_message, output};
use crate::error::Result;
use crate::message::Role;
use crate::wire::change::EntryEdit;
use crate::wire::compose::{Composition, Material};
use crate::wire::content::field;
use crate::wire::content::write::{edit_content, metadata, with_arguments};
use crate::wire::joined::{content_of, parts_of, speaker_of, texts_in};
use crate::wire::key::Key;
use crate::wire::node::Build;

/// The fields with the arguments of call items.
const ARGUMENTS: [Key; 5] = [Key::Arguments, Key::Input, Key::Action, Key::Actions, Key::Operation];

/// Appends the item with the changes of `edit`, or nothing if all of it is removed. Only a message has room for a text.
/// After any other item a text is a message of its own.
pub(in crate::wire) fn edit<N: Build>(entry: &N, edit: &EntryEdit<'_>, out: &mut Vec<N::Out>) -> Result<()> {
    if is_message(entry) {
        if !edit.append.is_empty() || !(0..parts_of(entry)).all(|part| edit.drops(part)) {
            // OpenAI accepts from the model only blocks that the model writes.
            let own = field(entry, Key::Role).is_some_and(|role| &*role == "assistant");
            let kind = if own { "output_text" } else { "input_text" };
            let block = |like: &N, text| output::text_block(like, kind, text);
            let keep = |block: &N, _: &[(usize, &str)]| Ok(block.keep());
            out.push(edit_content(entry, edit, Key::Content, block, keep, |block, _| Ok(block.keep()))?);
        }
        return Ok(());
    }
    if !edit.drops(0) {
        out.push(match edit.arguments_of(0) {
            Some(new) => with_arguments(entry, &ARGUMENTS, new)?,
            None => output::replace(entry, &edit.of_part(0))?,
        });
    }
    edit.append.iter().try_for_each(|text| {
        out.push(message(entry, Role::User, text)?);
        Ok(())
    })
}

pub(in crate::wire) fn message<N: Build>(like: &N, role: Role, text: &str) -> Result<N::Out> {
    like.map(fields_of(like, role, like.string(text)))
}

fn fields_of<N: Build>(like: &N, role: Role, content: N::Out) -> Vec<(Key, N::Out)> {
    vec![(Key::Type, like.string("message")), (Key::Role, like.string(role.name())), (Key::Content, content)]
}

/// Returns a new message with the words of another item, and its metadata.
fn moved<'a, N: Build + 'a>(material: &'a Material<'a, N>, sample: &N, role: Role, content: N::Out) -> Result<N::Out> {
    let mut fields = fields_of(sample, role, content);
    fields.extend(metadata(None, &[], [material])?.map(|metadata| (Key::Metadata, metadata)));
    sample.map(fields)
}

/// Writes every part as an item of its own, except for the parts of one message, which stay together.
pub(in crate::wire) fn compose<N: Build>(composition: &Composition<'_, N>, out: &mut Vec<N::Out>) -> Result<()> {
    let Composition { sample, role, ref materials, .. } = *composition;
    let mut materials = materials.iter().peekable();
    while let Some(material) = materials.next() {
        out.push(match material {
            Material::Text { text, .. } => moved(material, sample, role, sample.string(text))?,
            Material::Picture { picture: None, .. } => continue,
            Material::Picture { picture: Some(picture), .. } => {
                moved(material, sample, role, picture.list(vec![input_image(picture)?])?)?
            }
            Material::Answer { call, id, text, .. } => answer(call, id, text)?,
            Material::Part { node, place, .. } if is_message(node) => {
                let mut parts = vec![place.part];
                while let Some(Material::Part { place: next, .. }) = materials
                    .next_if(|next| matches!(next, Material::Part { place: other, .. } if other.entry == place.entry))
                {
                    parts.push(next.part);
                }
                message_of(node, role, &parts)?
            }
            Material::Part { node, id: None, .. } => node.keep(),
            Material::Part { node, id: Some(id), .. } => {
                let name = field(node, Key::Type);
                let key = name.as_deref().and_then(|name| answered_by(name, node)).unwrap_or(Key::CallId);
                node.with(key, node.string(id))?
            }
        });
    }
    Ok(())
}

/// Returns a picture in a message's form. A screenshot has the same content in another form.
fn input_image<N: Build>(picture: &N) -> Result<N::Out> {
    picture.with(Key::Type, picture.string("input_image"))
}

/// Returns a message with some of its blocks, in this role.
fn message_of<N: Build>(entry: &N, role: Role, parts: &[usize]) -> Result<N::Out> {
    let same_role =
        field(entry, Key::Role).is_some_and(|name| ROLES.iter().any(|(known, of)| *known == &*name && *of == role));
    if same_role && parts_of(entry) == parts.len() {
        return Ok(entry.keep());
    }
    let content = match entry.present(Key::Content) {
        None => None,
        Some(content) => Some(match (content.items(), texts_in(&content, speaker_of(entry))) {
            (_, Some(texts)) => {
                let texts: Vec<&str> = parts.iter().filter_map(|part| texts.get(*part)).map(|text| &**text).collect();
                content_of(entry, &content, &texts, |like, text| output::text_block(like, "input_text", text))?
            }
            (blocks, None) => {
                let blocks = blocks.unwrap_or_default();
                entry.list(parts.iter().filter_map(|part| blocks.get(*part)).map(Build::keep).collect())?
            }
        }),
    };
    entry.with_all(vec![(Key::Role, Some(entry.string(role.name()))), (Key::Content, content)])
}

/// Returns the output for a call, of the type that answers it.
fn answer<N: Build>(call: &N, id: &str, text: &str) -> Result<N::Out> {
    let name = field(call, Key::Type);
    let kind = name.as_deref().unwrap_or("function_call");
    if kind == "mcp_approval_request" {
        return call.map(vec![
            (Key::Type, call.string("mcp_approval_response")),
            (Key::ApprovalRequestId, call.string(id)),
            (Key::Approve, call.truth(false)),
        ]);
    }
    call.map(vec![
        (Key::Type, call.string(&format!("{kind}_output"))),
        (Key::CallId, call.string(id)),
        (Key::Output, call.string(text)),
    ])
}
