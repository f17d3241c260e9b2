//! Writes Chat's messages: changed, recombined and new ones.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{IN_ORDER, Spot, is_reasoning, is_result, repeating, spots};
use crate::error::Result;
use crate::message::Role;
use crate::wire::anthropic;
use crate::wire::change::{Arguments, EntryEdit};
use crate::wire::compose::{Composition, EntryPart, Material};
use crate::wire::content::item_of;
use crate::wire::content::write::{compose_message, edit_texts, new_message, replace_text, with_arguments, with_items};
use crate::wire::joined::{speaker_of, texts_in};
use crate::wire::key::Key;
use crate::wire::node::{Build, Node};

/// Appends the message with the changes of `edit`, or nothing if all of it is removed. A result has no room for a text,
/// so a message of the user follows it.
pub(in crate::wire) fn edit<N: Build>(entry: &N, edit: &EntryEdit<'_>, out: &mut Vec<N::Out>) -> Result<()> {
    if is_result(entry) {
        if !edit.drops(0) {
            out.push(with_items(entry, &edit.of_part(0), anthropic::text_block)?);
        }
        if !edit.append.is_empty() {
            out.push(message_of(entry, Role::User, edit.append)?);
        }
        return Ok(());
    }
    let spots = spots(entry);
    if edit.drop.len() < spots.len() || !edit.append.is_empty() {
        out.push(with_spots(entry, &spots, edit)?);
    }
    Ok(())
}

/// Returns the message without some of its parts, and with texts after its content, which then is a list.
fn with_spots<N: Build>(entry: &N, spots: &[Spot<N>], edit: &EntryEdit<'_>) -> Result<N::Out> {
    let mut fields: Vec<(Key, Option<N::Out>)> = Vec::new();
    if edit.drop.iter().any(|part| spots.get(*part).is_some_and(|spot| is_reasoning(spot.key()))) {
        fields.extend(repeating(entry).map(|key| (key, None)));
    }
    for key in IN_ORDER {
        let appended = if key == Key::Content { edit.append } else { &[] };
        let of_key = || spots.iter().enumerate().filter(|(_, spot)| spot.key() == key);
        let same = |part: usize| !edit.drops(part) && edit.arguments_of(part).is_none() && edit.text_of(part).is_none();
        if of_key().all(|(part, _)| same(part)) && appended.is_empty() {
            continue;
        }
        let function = of_key().find_map(|(part, spot)| match spot {
            Spot::Field(Key::FunctionCallSnake, call) => Some((call, edit.arguments_of(part)?)),
            _ => None,
        });
        if let Some((call, new)) = function {
            fields.push((key, Some(replace_arguments(call, new)?)));
            continue;
        }
        let text = of_key().find_map(|(part, spot)| match spot {
            Spot::Field(..) => edit.text_of(part),
            Spot::Block(..) | Spot::Joined(_) => None,
        });
        if let Some(text) = text.filter(|_| appended.is_empty()) {
            fields.push((key, Some(entry.string(text))));
            continue;
        }
        let content = entry.present(key);
        if let Some(content) = content.as_ref().filter(|_| key == Key::Content)
            && let Some(texts) = texts_in(content, speaker_of(entry))
            && let Some((first, _)) = of_key().next()
        {
            let whole = !appended.is_empty() || (first..first + texts.len()).any(|part| !edit.drops(part));
            let texts = whole.then(|| edit_texts(entry, content, &texts, first, edit, anthropic::text_block));
            fields.push((key, texts.transpose()?));
            continue;
        }
        let mut blocks = Vec::new();
        for (part, spot) in of_key().filter(|(part, _)| !edit.drops(*part)) {
            blocks.push(match (spot, edit.arguments_of(part), edit.text_of(part)) {
                (Spot::Block(_, call), Some(new), _) => replace_arguments(call, new)?,
                (Spot::Block(_, block), None, Some(_)) => replace_text(block, &edit.of_part(part))?,
                (Spot::Block(_, block), None, None) => block.keep(),
                (Spot::Field(..), _, Some(text)) => anthropic::text_block(entry, entry.string(text))?,
                (Spot::Field(_, text), _, None) => anthropic::text_block(entry, text.keep())?,
                (Spot::Joined(text), ..) => anthropic::text_block(entry, entry.string(text))?,
            });
        }

        for text in appended {
            blocks.push(anthropic::text_block(entry, entry.string(text))?);
        }
        fields.push((key, if blocks.is_empty() { None } else { Some(entry.list(blocks)?) }));
    }
    entry.with_all(fields)
}

/// Replaces the arguments of a call, in the field that they are in.
fn replace_arguments<N: Build>(call: &N, new: &Arguments) -> Result<N::Out> {
    const ARGUMENTS: [Key; 3] = [Key::Arguments, Key::Input, Key::Args];
    match [Key::Function, Key::Custom].into_iter().find_map(|key| Some((key, call.present(key)?))) {
        Some((key, inner)) => call.with(key, with_arguments(&inner, &ARGUMENTS, new)?),
        None => with_arguments(call, &ARGUMENTS, new),
    }
}

pub(in crate::wire) fn message<N: Build>(like: &N, role: Role, text: &str) -> Result<N::Out> {
    new_message(like, role, like.string(text))
}

/// Returns one message with several texts, because separate messages would be read as several.
pub(in crate::wire) fn message_of<N: Build>(like: &N, role: Role, texts: &[&str]) -> Result<N::Out> {
    if let [text] = texts {
        return message(like, role, text);
    }
    let blocks = texts.iter().map(|text| anthropic::text_block(like, like.string(text)));
    new_message(like, role, like.list(blocks.collect::<Result<_>>()?)?)
}

/// Writes results as entries of their own, and everything else after them in one entry.
pub(in crate::wire) fn compose<N: Build>(composition: &Composition<'_, N>, out: &mut Vec<N::Out>) -> Result<()> {
    let sample = composition.sample;
    let mut fields: Vec<(Key, Vec<N::Out>)> = Vec::new();
    let mut values: Vec<(Key, N::Out)> = Vec::new();
    let mut add = |key: Key, block: N::Out| match fields.iter_mut().find(|(of, _)| *of == key) {
        Some((_, blocks)) => blocks.push(block),
        None => fields.push((key, vec![block])),
    };
    let spots = Spots::of(composition);
    // A string stays a string as long as nothing joins it.
    let texts = composition.materials.iter().filter(|material| spots.is_content(material)).count();
    for material in &composition.materials {
        match material {
            Material::Text { text, .. } => add(Key::Content, anthropic::text_block(sample, sample.string(text))?),
            Material::Picture { picture, .. } => {
                if let Some(picture) = picture {
                    add(Key::Content, picture.keep());
                }
            }
            Material::Answer { call, id, tool, text } => out.push(answer(sample, call, [id, tool, text])?),
            Material::Part { node, id, .. } if is_result(node) => out.push(match id {
                Some(id) => node.with(Key::ToolCallId, node.string(id))?,
                None => node.keep(),
            }),
            Material::Part { node, place, id, .. } => match (spots.at(*place), id) {
                (Some(Spot::Block(key, call)), Some(id)) => add(*key, call.with(Key::Id, call.string(id))?),
                (Some(Spot::Block(key, block)), None) => add(*key, block.keep()),
                (Some(Spot::Field(Key::Content, text)), _) if texts > 1 => {
                    add(Key::Content, anthropic::text_block(node, text.keep())?);
                }
                (Some(Spot::Field(key, value)), _) => values.push((*key, value.keep())),
                (Some(Spot::Joined(text)), _) if texts > 1 => {
                    add(Key::Content, anthropic::text_block(node, node.string(text))?);
                }
                (Some(Spot::Joined(text)), _) => values.push((Key::Content, node.string(text))),
                (None, _) => {}
            },
        }
    }
    if fields.is_empty() && values.is_empty() {
        return Ok(());
    }
    let mut all: Vec<(Key, Option<N::Out>)> = vec![(Key::Role, Some(sample.string(composition.role.name())))];
    let like = composition.like.filter(|like| !is_result(*like));
    let repeated: Vec<Key> =
        like.filter(|like| spots.keep_reasoning(*like, composition)).into_iter().flat_map(repeating).collect();
    let old = IN_ORDER.into_iter().filter(|key| like.is_some_and(|like| like.present(*key).is_some()));
    all.extend(old.filter(|key| !repeated.contains(key)).map(|key| (key, None)));
    for (key, blocks) in fields {
        all.push((key, Some(sample.list(blocks)?)));
    }
    all.extend(values.into_iter().map(|(key, value)| (key, Some(value))));
    // A result is a message of its own, with its own metadata.
    let is_here = |material: &&Material<'_, N>| !matches!(material, Material::Part { node, .. } if is_result(node));
    // No two entries share a message.
    out.push(compose_message(sample, like, &[], all, composition.materials.iter().filter(is_here))?);
    Ok(())
}

/// Returns the answer to a call: a function message for an old call without an id, otherwise a tool message.
fn answer<N: Build>(sample: &N, call: &N, [id, tool, text]: [&str; 3]) -> Result<N::Out> {
    let of_function = id.is_empty() && call.present(Key::FunctionCallSnake).is_some();
    let mut fields = vec![(Key::Role, sample.string(if of_function { "function" } else { "tool" }))];
    fields.push(if id.is_empty() { (Key::Name, sample.string(tool)) } else { (Key::ToolCallId, sample.string(id)) });
    fields.push((Key::Content, sample.string(text)));
    sample.map(fields)
}

/// The parts of the entries of which a message is composed. Each entry is parsed once, even if many pieces belong to
/// it.
struct Spots<N: Node>(HashMap<usize, Vec<Spot<N>>, RandomState>);

impl<N: Node> Spots<N> {
    fn of(composition: &Composition<'_, N>) -> Spots<N> {
        let mut of_entry: HashMap<usize, Vec<Spot<N>>, RandomState> = HashMap::default();
        for material in &composition.materials {
            if let Material::Part { node, place, .. } = material
                && !is_result(node)
            {
                of_entry.entry(place.entry).or_insert_with(|| spots(node));
            }
        }
        Spots(of_entry)
    }

    /// Returns the part at a place; `None` for a result.
    fn at(&self, place: EntryPart) -> Option<&Spot<N>> {
        self.0.get(&place.entry)?.get(place.part)
    }

    /// True if a composed message has all reasoning of an entry.
    fn keep_reasoning(&self, like: &N, composition: &Composition<'_, N>) -> bool {
        let kept = composition.materials.iter().filter(|material| match material {
            Material::Part { place, .. } => self.at(*place).is_some_and(|spot| is_reasoning(spot.key())),
            Material::Text { .. } | Material::Picture { .. } | Material::Answer { .. } => false,
        });
        kept.count() == spots(like).iter().filter(|spot| is_reasoning(spot.key())).count()
    }

    fn is_content(&self, material: &Material<'_, N>) -> bool {
        match material {
            Material::Text { .. } | Material::Picture { .. } => true,
            Material::Answer { .. } => false,
            Material::Part { place, .. } => self.at(*place).is_some_and(|spot| spot.key() == Key::Content),
        }
    }
}

pub(in crate::wire) fn item<N: Node>(entry: &N, item: usize) -> Option<N> {
    item_of(&entry.present(Key::Content)?, item)
}
