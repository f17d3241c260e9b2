//! Describes in one sentence, for people, the message that takes the most room.

use crate::compress::pasted;
use crate::error::Occupant;
use crate::invariants::Pairs;
use crate::ledger::Measured;
use crate::message::{Conversation, Part, Pin, Role, Text};
use crate::numbers::thousands;
use crate::working_copy::WorkingCopy;

/// Names the item that takes up the most room, and a remedy. `size` returns the tokens of a message, or `None` if it is
/// removed. Returns `None` if no message takes any. O(messages + calls).
pub fn occupant<T: Text>(
    conversation: &Conversation<T>,
    tokens: &Measured,
    pairs: &Pairs,
    size: impl Fn(usize) -> Option<usize>,
) -> Option<Occupant> {
    let messages = &conversation.messages;
    let sizes = (0..messages.len()).filter_map(|message| Some((size(message)?, message)));
    let (_, message) = sizes.max_by_key(|(tokens, message)| (*tokens, std::cmp::Reverse(*message)))?;
    let content = &messages[message];
    let part = (0..content.parts.len()).max_by_key(|part| tokens.part(message, *part))?;
    let waits = pairs.calls().iter().any(|call| (call.message, call.part) == (message, part) && call.result.is_none());
    let characters = |text: &str| thousands(text.chars().count());
    let (what, help) = match &content.parts[part] {
        Part::Text(text) => match pasted(text).max_by_key(ExactSizeIterator::len) {
            Some(paste) if 2 * paste.len() > text.len() => {
                (format!("contains a {}-character paste", characters(&text[paste])), "put it into a file for the agent")
            }
            _ => (format!("has {} characters of text", characters(text)), "shorten it"),
        },
        Part::Reasoning { text, .. } => {
            (format!("has {} characters of reasoning", characters(text)), "go on once the turn is over")
        }
        Part::Call { name, input, .. } if waits => {
            let said = format!("calls {} with {} characters, and waits for the result", &**name, characters(input));
            (said, "add the result")
        }
        Part::Call { name, input, .. } => {
            (format!("calls {} with {} characters", &**name, characters(input)), "raise the budget")
        }
        Part::Result { .. } => ("holds a result".to_owned(), "let the tool return less"),
        Part::Media(_) | Part::Document(_) => ("has a picture or a file".to_owned(), "send a smaller one"),
        Part::CachePoint | Part::Opaque(_) => ("has a block that ullage does not know".to_owned(), "raise the budget"),
    };
    let help = if content.pin == Pin::Pinned { "unpin it" } else { help };
    let asks = |index: &usize| messages[*index].role == Role::User && !messages[*index].has_result();
    let name = match content.role {
        Role::System => Some("the system prompt"),
        Role::User if (0..messages.len()).find(asks) == Some(message) => Some("the first request"),
        Role::User if (0..messages.len()).rfind(asks) == Some(message) => Some("the last request"),
        Role::User | Role::Assistant => None,
    };
    let pinned = if content.pin == Pin::Pinned { "is pinned and " } else { "" };
    let content = format!("{pinned}{what} ({} tokens): {help}", thousands(tokens.message(message)));
    Some(Occupant { index: conversation.entry(message), name, content })
}

/// Returns the same for the content that a working copy keeps.
pub(super) fn occupant_of<T: Text>(working_copy: &WorkingCopy<'_, T>) -> Option<Occupant> {
    let size = |message: usize| (!working_copy.is_removed(message)).then(|| working_copy.message_tokens(message));
    occupant(working_copy.conversation, working_copy.tokens, &working_copy.pairs, size)
}
