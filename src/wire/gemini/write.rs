//! Writes Gemini's contents: changed, recombined and new ones.

use super::{FUNCTION_CALL, FUNCTION_RESPONSE, INLINE_DATA, MIME_TYPE, find, find_map, is_response, only_text};
use crate::error::Result;
use crate::message::Role;
use crate::wire::change::{Arguments, EntryEdit};
use crate::wire::compose::{Composition, Material};
use crate::wire::content::write::{compose_blocks, edit_content, metadata, with_arguments};
use crate::wire::key::Key;
use crate::wire::node::{Build, Node};
use crate::wire::texts::text_for;

/// Appends the content with the changes of `edit`. Texts after results become another content, because Vertex AI
/// refuses results beside other parts, and every endpoint accepts consecutive contents of one role.
pub(in crate::wire) fn edit<N: Build>(entry: &N, edit: &EntryEdit<'_>, out: &mut Vec<N::Out>) -> Result<()> {
    let behind = if has_response(entry) { edit.append } else { &[] };
    if !behind.is_empty() {
        let inside = edit.appending(&[]);
        out.push(if inside.is_empty() { entry.keep() } else { with_parts(entry, &inside)? });
        out.push(new_content(entry, entry.string(Role::User.name()), behind)?);
    } else if entry.field_count().is_none() && first_part(entry).is_none() {
        // A copy of an object accepts any value, so parts get the class of the parts beside them. If there are none,
        // the object is created again, and converts maps to parts.
        let role = entry.present(Key::Role).map_or_else(|| entry.string(Role::User.name()), |role| role.keep());
        out.push(new_content(entry, role, edit.append)?);
    } else if !edit.append.is_empty() || !all_go(entry, edit) {
        out.push(with_parts(entry, edit)?);
    }
    Ok(())
}

fn all_go<N: Node>(content: &N, edit: &EntryEdit<'_>) -> bool {
    let parts = content.present(Key::Parts).and_then(|parts| parts.length()).unwrap_or_default();
    (0..parts).all(|part| edit.drops(part))
}

fn has_response<N: Node>(content: &N) -> bool {
    let parts = content.present(Key::Parts).and_then(|parts| parts.items()).unwrap_or_default();
    parts.iter().any(is_response)
}

fn with_parts<N: Build>(entry: &N, edit: &EntryEdit<'_>) -> Result<N::Out> {
    edit_content(entry, edit, Key::Parts, text_part, replace_response, replace_arguments)
}

fn new_content<N: Build>(like: &N, role: N::Out, texts: &[&str]) -> Result<N::Out> {
    let parts = texts.iter().map(|text| text_part(like, like.string(text))).collect::<Result<_>>()?;
    like.map_like(vec![(Key::Role, role), (Key::Parts, like.list(parts)?)])
}

fn first_part<N: Node>(content: &N) -> Option<N> {
    content.present(Key::Parts)?.at(0)
}

/// Returns a text part for `content`.
fn text_part<N: Build>(content: &N, text: N::Out) -> Result<N::Out> {
    let fields = vec![(Key::Text, text)];
    match first_part(content) {
        Some(part) => part.map_like(fields),
        None => content.map(fields),
    }
}

/// Returns the part with a text in place of its function's return value.
fn replace_response<N: Build>(part: &N, changes: &[(usize, &str)]) -> Result<N::Out> {
    let Some((key, response)) = find_map(part, FUNCTION_RESPONSE) else { return Ok(part.keep()) };
    let (Some(returned), Some(text)) = (response.present(Key::Response), text_for(changes, 0)) else {
        return Ok(part.keep());
    };
    let shorter = match only_text(&returned) {
        Some((wrapper, old)) => returned.with(wrapper, old.string(text))?,
        None => returned.map(vec![(Key::Result, returned.string(text))])?,
    };
    part.with(key, response.with(Key::Response, shorter)?)
}

/// Returns the part with other arguments of its call.
fn replace_arguments<N: Build>(part: &N, new: &Arguments) -> Result<N::Out> {
    match find_map(part, FUNCTION_CALL) {
        Some((key, call)) => part.with(key, with_arguments(&call, &[Key::Args], new)?),
        None => Ok(part.keep()),
    }
}

/// Writes responses as a content of their own, and everything else after it in another content.
pub(in crate::wire) fn compose<N: Build>(composition: &Composition<'_, N>, out: &mut Vec<N::Out>) -> Result<()> {
    // A new entry has the class of the one that it is made for. A content without parts does not show the class.
    let made_for = composition.materials.iter().filter_map(|material| match material {
        Material::Answer { call: node, .. } | Material::Part { node, .. } => Some(node),
        Material::Text { .. } | Material::Picture { .. } => None,
    });
    let sample =
        made_for.chain(composition.like).find(|node| first_part(*node).is_some()).unwrap_or(composition.sample);
    let answers = |material: &Material<'_, N>| match material {
        Material::Answer { .. } => true,
        Material::Text { .. } | Material::Picture { .. } => false,
        Material::Part { node, place, .. } => {
            node.present(Key::Parts).and_then(|parts| parts.at(place.part)).is_some_and(|part| is_response(&part))
        }
    };
    for of_answers in [true, false] {
        let materials: Vec<_> = composition.materials.iter().filter(|of| answers(of) == of_answers).cloned().collect();
        if materials.is_empty() {
            continue;
        }
        let like = composition.like.filter(|like| has_response(*like) == of_answers);
        let others = composition.others.iter().filter(|other| has_response(*other) == of_answers).cloned().collect();
        let these = Composition { sample, like, others, role: composition.role, materials };
        let parts = sample.list(compose_blocks(&these, Key::Parts, text_part, renamed, answer, |picture| {
            picture_part(sample, picture)
        })?)?;
        let role = sample.string(role_name(composition.role));
        let mut fields = vec![(Key::Role, role), (Key::Parts, parts)];
        // The SDK's objects cannot have any.
        if like.unwrap_or(sample).field_count().is_some() {
            let metadata = metadata(like, &these.others, &these.materials)?;
            fields.extend(metadata.map(|metadata| (Key::Metadata, metadata)));
        }
        out.push(match like {
            Some(like) => {
                like.united(fields.into_iter().map(|(key, value)| (key, Some(value))).collect(), &these.others)?
            }
            None => sample.map_like(fields)?,
        });
    }
    Ok(())
}

fn renamed<N: Build>(part: &N, id: Option<&str>, tool: Option<&str>) -> Result<N::Out> {
    match find_map(part, FUNCTION_CALL).or_else(|| find_map(part, FUNCTION_RESPONSE)) {
        Some((key, inner)) => {
            let fields = [(Key::Id, id), (Key::Name, tool)].into_iter();
            let fields = fields.filter_map(|(key, value)| Some((key, Some(part.string(value?))))).collect();
            part.with(key, inner.with_all(fields)?)
        }
        None => Ok(part.keep()),
    }
}

/// Returns a response to a call for `content`. An object of the SDK converts the maps inside.
fn answer<N: Build>(content: &N, [id, tool, text]: [&str; 3]) -> Result<N::Out> {
    let returned = content.map(vec![(Key::Error, content.string(text))])?;
    let mut fields = vec![(Key::Name, content.string(tool)), (Key::Response, returned)];
    if !id.is_empty() {
        fields.push((Key::Id, content.string(id)));
    }
    let response = content.map(fields)?;
    match first_part(content) {
        Some(part) if part.field_count().is_none() => part.map_like(vec![(Key::FunctionResponseSnake, response)]),
        _ => content.map(vec![(Key::FunctionResponse, response)]),
    }
}

/// Returns a picture beside a function's return value as a part of `content`. The SDK has a different class for each.
fn picture_part<N: Build>(content: &N, picture: &N) -> Result<Option<N::Out>> {
    if picture.field_count().is_some() {
        return Ok(Some(picture.keep()));
    }
    let (Some((_, blob)), Some(part)) = (find_map(picture, INLINE_DATA), first_part(content)) else { return Ok(None) };
    let fields =
        [(Key::MimeTypeSnake, find(&blob, MIME_TYPE).map(|(_, mime)| mime)), (Key::Data, blob.present(Key::Data))];
    let blob = part.map(fields.into_iter().filter_map(|(key, value)| Some((key, value?.keep()))).collect())?;
    part.map_like(vec![(Key::InlineDataSnake, blob)]).map(Some)
}

/// Returns a part beside a function's return value.
pub(in crate::wire) fn whole_item<N: Node>(entry: &N, part: usize, item: usize) -> Option<N> {
    let (_, response) = find_map(&entry.present(Key::Parts)?.at(part)?, FUNCTION_RESPONSE)?;
    let returned = usize::from(response.present(Key::Response).is_some());
    response.present(Key::Parts)?.at(item.checked_sub(returned)?)
}

fn role_name(role: Role) -> &'static str {
    if role == Role::Assistant { "model" } else { role.name() }
}

pub(in crate::wire) fn message<N: Build>(like: &N, role: Role, text: &str) -> Result<N::Out> {
    new_content(like, like.string(role_name(role)), &[text])
}

pub(in crate::wire) fn item<N: Node>(entry: &N, part: usize) -> Option<N> {
    let part = entry.present(Key::Parts)?.at(part)?;
    let (_, response) = find_map(&part, FUNCTION_RESPONSE)?;
    only_text(&response.present(Key::Response)?).map(|(_, text)| text)
}
