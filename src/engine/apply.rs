//! Applies a plan: returns the content to store, and the remaining messages.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::ledger::fingerprint;
use crate::message::{Conversation, Part, Pin};
use crate::planner::{Plan, Source};
use crate::wire::{self, Build, Bytes, MAX_MESSAGE_DEPTH, Node, Rewritten};

/// Checks that `plan` was made for `messages`, and returns them as a conversation.
///
/// # Errors
/// `Changed` if the messages are others, or if a message that the plan changes has been pinned since. `Conversation` if
/// the plan was read from data that no engine wrote, and its places are not in the messages.
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

/// Returns the content of an artifact of `plan`: an item's text byte for byte, or the host's removed messages as JSON,
/// one on each line. `conversation` is the value that [`check`] returned for `messages`.
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
            // Only a text with a replacement character can differ from the host's string. Finding the string takes a
            // walk through the message.
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

/// Returns the messages that `plan` leaves, as values of the host. Unchanged messages are the same objects.
///
/// # Errors
/// `Changed` if the messages are not those that the plan was made for.
pub fn apply<N: Build>(plan: &Plan, messages: &N) -> Result<Vec<N::Out>> {
    let conversation = check(plan, messages)?;
    Ok(rewritten(plan, messages, &conversation)?.into_iter().map(|entry| entry.value).collect())
}

/// Returns the same with the origin of each message. `conversation` was read from `messages`, and the plan was made for
/// it.
///
/// # Errors
/// The host's errors, if a value cannot be built.
pub fn rewritten<N: Build>(
    plan: &Plan,
    messages: &N,
    conversation: &Conversation<N::Text>,
) -> Result<Vec<Rewritten<N::Out>>> {
    wire::rewrite(messages, conversation, plan.format, &plan.changes())
}
