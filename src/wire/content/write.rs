//! Writes messages of a role and a content: changed, recombined and new ones.

use crate::error::Result;
use crate::message::{Pin, Role};
use crate::wire::change::{Arguments, EntryEdit};
use crate::wire::compose::{Composition, Material};
use crate::wire::content::pin_of;
use crate::wire::joined::{content_of, speaker_of, text_at, texts_in};
use crate::wire::key::Key;
use crate::wire::node::{Build, Kind, Node};
use crate::wire::texts::{replaced, rewritten, text_for};

/// Returns a message whose content is a list of blocks or a string, with the changes of `edit`.
pub(in crate::wire) fn edit_content<N: Build>(
    entry: &N,
    edit: &EntryEdit<'_>,
    key: Key,
    text_block: impl Fn(&N, N::Out) -> Result<N::Out>,
    replace_items: impl Fn(&N, &[(usize, &str)]) -> Result<N::Out>,
    replace_arguments: impl Fn(&N, &Arguments) -> Result<N::Out>,
) -> Result<N::Out> {
    let content = entry.present(key);
    if let Some(content) = &content
        && let Some(texts) = texts_in(content, speaker_of(entry))
    {
        return entry.with(key, edit_texts(entry, content, &texts, 0, edit, text_block)?);
    }
    let mut blocks = Vec::new();
    for (position, block) in content.as_ref().and_then(Node::items).unwrap_or_default().iter().enumerate() {
        if edit.drops(position) {
            continue;
        }
        let changes = edit.of_part(position);
        blocks.push(match edit.arguments_of(position) {
            Some(arguments) => replace_arguments(block, arguments)?,
            None if changes.is_empty() => block.keep(),
            None if text_key(block).is_some() => replace_text(block, &changes)?,
            None => replace_items(block, &changes)?,
        });
    }
    for text in edit.append {
        blocks.push(text_block(entry, entry.string(text))?);
    }
    entry.with(key, entry.list(blocks)?)
}

/// Returns a content of these texts with the changes of `edit`. The first text is the part `first` of `entry`. The
/// content stays a string if possible.
pub(in crate::wire) fn edit_texts<N: Build>(
    entry: &N,
    content: &N,
    texts: &[N::Text],
    first: usize,
    edit: &EntryEdit<'_>,
    text_block: impl Fn(&N, N::Out) -> Result<N::Out>,
) -> Result<N::Out> {
    let kept = texts.iter().zip(first..).filter(|(_, part)| !edit.drops(*part));
    let kept = kept.map(|(text, part)| edit.text_of(part).unwrap_or(text));
    let texts: Vec<&str> = kept.chain(edit.append.iter().copied()).collect();
    content_of(entry, content, &texts, text_block)
}

/// Types of text blocks. Gemini and Bedrock name no type.
const TEXTS: [&str; 4] = ["text", "input_text", "output_text", "refusal"];

/// Returns the field with the text of a block, if it is a text block.
fn text_key<N: Node>(block: &N) -> Option<Key> {
    if block.present(Key::Type).and_then(|kind| kind.text()).is_some_and(|kind| !TEXTS.contains(&&*kind)) {
        return None;
    }
    [Key::Text, Key::Refusal].into_iter().find(|key| block.present(*key).is_some_and(|text| text.kind() == Kind::Text))
}

/// Returns a text block with another text.
pub(in crate::wire) fn replace_text<N: Build>(block: &N, changes: &[(usize, &str)]) -> Result<N::Out> {
    match (text_key(block), text_for(changes, 0)) {
        (Some(key), Some(text)) => block.with(key, block.string(text)),
        _ => Ok(block.keep()),
    }
}

/// Returns a message or block whose content is a result, with some items replaced by texts. A string is one item and
/// stays a string.
pub(in crate::wire) fn with_items<N: Build>(
    holder: &N,
    changes: &[(usize, &str)],
    text_block: impl Fn(&N, N::Out) -> Result<N::Out>,
) -> Result<N::Out> {
    if changes.is_empty() {
        return Ok(holder.keep());
    }
    match holder.present(Key::Content).and_then(|content| content.items()) {
        Some(items) => holder.with(Key::Content, holder.list(replaced(&items, changes, text_block)?)?),
        None => match text_for(changes, 0) {
            Some(text) => holder.with(Key::Content, holder.string(text)),
            None => Ok(holder.keep()),
        },
    }
}

/// Returns a call with other arguments, in the first of these fields that it has.
pub(in crate::wire) fn with_arguments<N: Build>(call: &N, keys: &[Key], arguments: &Arguments) -> Result<N::Out> {
    match keys.iter().find_map(|key| Some((*key, call.present(*key)?))) {
        Some((key, old)) => call.with(key, rewritten(&old, arguments)?),
        None => Ok(call.keep()),
    }
}

/// Returns a new message with a role and a content.
pub(in crate::wire) fn new_message<N: Build>(like: &N, role: Role, content: N::Out) -> Result<N::Out> {
    like.map(vec![(Key::Role, like.string(role.name())), (Key::Content, content)])
}

/// Returns the blocks of a composed message. `renamed` gives a call or a result another id, and a result another tool.
/// `answer` makes a result from an id, a tool and a text. `picture` makes a block from an item of a result.
pub(in crate::wire) fn compose_blocks<N: Build>(
    composition: &Composition<'_, N>,
    key: Key,
    text_block: impl Fn(&N, N::Out) -> Result<N::Out>,
    renamed: impl Fn(&N, Option<&str>, Option<&str>) -> Result<N::Out>,
    answer: impl Fn(&N, [&str; 3]) -> Result<N::Out>,
    picture: impl Fn(&N) -> Result<Option<N::Out>>,
) -> Result<Vec<N::Out>> {
    let sample = composition.sample;
    let blocks = composition.materials.iter().map(|material| match material {
        Material::Text { text, .. } => text_block(sample, sample.string(text)).map(Some),
        Material::Answer { id, tool, text, .. } => answer(sample, [id, tool, text]).map(Some),
        Material::Picture { picture: item, .. } => item.as_ref().map_or(Ok(None), &picture),
        Material::Part { node, place, id, tool } => {
            let Some(content) = node.present(key) else { return Ok(None) };
            match content.at(place.part) {
                None => text_block(node, text_at(node, &content, place.part)).map(Some),
                Some(block) if id.is_none() && tool.is_none() => Ok(Some(block.keep())),
                Some(block) => renamed(&block, *id, *tool).map(Some),
            }
        }
    });
    blocks.filter_map(Result::transpose).collect()
}

/// Returns a message with these fields, the other fields of `like`, and the fields of `others` that it lacks.
pub(in crate::wire) fn compose_message<'a, N: Build + 'a>(
    sample: &N,
    like: Option<&N>,
    others: &[N],
    mut fields: Vec<(Key, Option<N::Out>)>,
    materials: impl IntoIterator<Item = &'a Material<'a, N>>,
) -> Result<N::Out> {
    fields.extend(metadata(like, others, materials)?.map(|metadata| (Key::Metadata, Some(metadata))));
    match like {
        Some(like) => like.united(fields, others),
        None => sample.map(fields.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()),
    }
}

/// Returns the metadata of a composed message, if they differ from those of `like` and `others`. It is pinned if one of
/// its parts was. Without `like` it has the metadata of the first entry that has some.
pub(in crate::wire) fn metadata<'a, N: Build + 'a>(
    like: Option<&N>,
    others: &[N],
    materials: impl IntoIterator<Item = &'a Material<'a, N>>,
) -> Result<Option<N::Out>> {
    let is_pinned = |node: &N| pin_of(node) == Pin::Pinned;
    let of = |node: &N| node.present(Key::Metadata);
    if like.is_some_and(is_pinned) {
        return Ok(None);
    }
    let sources: Vec<&N> = materials.into_iter().filter_map(Material::source).collect();
    match (sources.iter().find(|node| is_pinned(node)), like) {
        (Some(pinned), _) => {
            let own = like.and_then(of).filter(|own| own.kind() == Kind::Map);
            // A message with another value in place of the pin comes later.
            let is_taken = |custom: &N| custom.kind() != Kind::Map || custom.present(Key::Pinned).is_some();
            let says_not = |own: &N| own.present(Key::Custom).as_ref().is_some_and(is_taken);
            let (first, last) = if own.as_ref().is_some_and(says_not) { (None, own) } else { (own, None) };
            let rest = others.iter().filter_map(of).chain(last);
            let all: Vec<N> = first.into_iter().chain(of(pinned)).chain(rest).collect();
            all.first().map(|metadata| metadata.united(vec![], &all[1..])).transpose()
        }
        (None, Some(_)) => Ok(None),
        (None, None) => Ok(sources.into_iter().find_map(of).map(|metadata| metadata.keep())),
    }
}
