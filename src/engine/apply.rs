//! Carries out a plan: returns the content to store, and the remaining messages.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::ledger::fingerprint;
use crate::message::{Conversation, Part, Pin};
use crate::planner::{Plan, Source};
use crate::wire::{self, Build, Bytes, MAX_MESSAGE_DEPTH, Node, Rewritten};

/// Makes sure that `messages` are those that `plan` was made for, and gives them as they are read.
///
/// # Errors
/// `Changed` if they are not, or if one that the plan touches has been pinned since; `Conversation` if the plan was read from
/// data that no engine wrote, and is about places that they do not have.
pub fn check<N: Node>(plan: &Plan, messages: &N) -> Result<Conversation<N::Text>> {
    let now = wire::read(messages, plan.format)?;
    let same = now.spans() == plan.spans && fingerprint(&now) == plan.fingerprint;
    let may_touch = |message: usize| now.messages[message].pin == Pin::Free;
    if !same {
        return Err(Error::Changed);
    }
    plan.fits(&now)?;
    if plan.edits.iter().all(|edit| edit.touches().all(may_touch)) { Ok(now) } else { Err(Error::Changed) }
}

/// The content of an artifact of `plan`: an item's text byte for byte, or removed messages as the host has them, one to a
/// line as JSON. `conversation` is what [`check`] gave for `messages`.
///
/// # Errors
/// `Conversation` if a message is nested too deeply.
pub fn content<'a, N: Node>(
    plan: &Plan,
    conversation: &'a Conversation<N::Text>,
    source: &Source,
    messages: &N,
) -> Result<Cow<'a, [u8]>> {
    match source {
        Source::Item(place) => {
            let text = match &conversation.messages[place.message].parts[place.part] {
                Part::Result { items, .. } => items[place.item].text().map(|(text, _)| text),
                Part::Text(text) => Some(&**text),
                _ => None, // A plan only stores these.
            };
            let text = text.unwrap_or_default();
            // Only where something stands for what is no text may the string be more; finding it takes a walk through its
            // neighbours.
            if text.contains(char::REPLACEMENT_CHARACTER) {
                let (entry, part) = plan.spans.place(place.message, place.part);
                let item = messages.at(entry).and_then(|entry| wire::item_node(&entry, plan.format, part, place.item));
                if let Some(bytes) = item.and_then(|node| node.raw()) {
                    return Ok(Cow::Owned(bytes));
                }
            }
            Ok(Cow::Borrowed(text.as_bytes()))
        }
        Source::Part { message, part } => Ok(Cow::Borrowed(match &conversation.messages[*message].parts[*part] {
            Part::Reasoning { text, .. } | Part::Call { input: text, .. } => text.as_bytes(),
            _ => b"", // A plan only stores these.
        })),
        Source::Transcript { notes, messages: range } => {
            let mut out = notes.clone();
            for entry in plan.spans.entries(range.clone()).filter_map(|entry| messages.at(entry)) {
                entry.render(&mut out, Bytes::Stored, MAX_MESSAGE_DEPTH)?;
                out.push('\n');
            }
            Ok(Cow::Owned(out.into_bytes()))
        }
    }
}

/// The messages that `plan` leaves, as values of the host: untouched ones are the same objects.
///
/// # Errors
/// `Changed` if the messages are not those that the plan was made for.
pub fn apply<N: Build>(plan: &Plan, messages: &N) -> Result<Vec<N::Out>> {
    let conversation = check(plan, messages)?;
    Ok(rewritten(plan, messages, &conversation)?.into_iter().map(|entry| entry.value).collect())
}

/// The same, with what each was made of, where `conversation` is what was read from `messages` and the plan was made for it.
///
/// # Errors
/// Those of the host when a value cannot be built.
pub fn rewritten<N: Build>(
    plan: &Plan,
    messages: &N,
    conversation: &Conversation<N::Text>,
) -> Result<Vec<Rewritten<N::Out>>> {
    wire::rewrite(messages, conversation, plan.format, &plan.changes())
}
