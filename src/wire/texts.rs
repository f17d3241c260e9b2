//! Puts new texts into the value of a call or a result.

use super::change::{Arguments, Step};
use super::key::Key;
use super::node::{Build, Kind};
use crate::error::Result;

/// Returns the new text for the item at `position`, if there is one; `changes` are in the order of the items.
pub(super) fn text_for<'a>(changes: &[(usize, &'a str)], position: usize) -> Option<&'a str> {
    let first = changes.partition_point(|(item, _)| *item < position);
    changes.get(first).filter(|(item, _)| *item == position).map(|(_, text)| *text)
}

/// Returns the arguments of a call with new texts. They stay text if the host keeps them as text.
pub(super) fn rewritten<N: Build>(arguments: &N, new: &Arguments) -> Result<N::Out> {
    if arguments.kind() == Kind::Text {
        return Ok(arguments.string(&new.input));
    }
    let texts: Vec<(&[Step], &str)> = new.texts.iter().map(|(steps, text)| (&steps[..], &**text)).collect();
    with_texts(arguments, &texts)
}

/// Returns a value with new texts in some places, given in order. Values that are not on the path to one are shared.
fn with_texts<N: Build>(value: &N, texts: &[(&[Step], &str)]) -> Result<N::Out> {
    if let [([], text)] = texts {
        return Ok(value.string(text));
    }
    let mut fields: Vec<(&str, N::Out)> = Vec::new();
    let mut elements: Vec<(usize, N::Out)> = Vec::new();
    for inside in texts.chunk_by(|(one, _), (other, _)| one.first() == other.first()) {
        let rest: Vec<(&[Step], &str)> =
            inside.iter().map(|(steps, text)| (steps.get(1..).unwrap_or_default(), *text)).collect();
        match inside[0].0.first() {
            Some(Step::Field(name)) => {
                if let Some(field) = value.field(name) {
                    fields.push((name, with_texts(&field, &rest)?));
                }
            }
            Some(Step::Element(index)) => {
                if let Some(element) = value.at(*index) {
                    elements.push((*index, with_texts(&element, &rest)?));
                }
            }
            None => {}
        }
    }
    match value.items() {
        Some(items) => {
            let mut elements = elements.into_iter().peekable();
            let rebuilt = items.iter().enumerate().map(|(index, item)| {
                elements.next_if(|(at, _)| *at == index).map_or_else(|| item.keep(), |(_, element)| element)
            });
            value.list(rebuilt.collect())
        }
        None => value.with_fields(fields),
    }
}

/// Returns the items of a tool result, some of them replaced by texts.
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
