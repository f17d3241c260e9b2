//! What takes the most room, in one sentence for people.

use crate::compress::pasted;
use crate::draft::Draft;
use crate::message::{Part, Pin, Role, Text};
use crate::numbers::thousands;

/// What a draft leaves that takes the most room, and what would help; `None` for a draft that leaves nothing.
pub(super) fn occupant<T: Text>(draft: &Draft<'_, T>) -> Option<String> {
    let messages = &draft.conversation.messages;
    let staying = (0..messages.len()).filter(|message| !draft.is_removed(*message));
    let message = staying.max_by_key(|message| (draft.message_tokens(*message), std::cmp::Reverse(*message)))?;
    let (content, tokens) = (&messages[message], draft.tokens);
    let part = (0..content.parts.len()).max_by_key(|part| tokens.part(message, *part))?;
    let waits =
        draft.pairs.calls().iter().any(|call| (call.message, call.part) == (message, part) && call.result.is_none());
    let entry = draft.conversation.entry(message);
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
        Role::System => "the system prompt".to_owned(),
        Role::User if (0..messages.len()).find(asks) == Some(message) => "the first request".to_owned(),
        Role::User if (0..messages.len()).rfind(asks) == Some(message) => "the last request".to_owned(),
        Role::User | Role::Assistant => format!("message {entry}"),
    };
    let pinned = if content.pin == Pin::Pinned { " is pinned and" } else { "" };
    Some(format!("{name}{pinned} {what} ({} tokens): {help}", thousands(tokens.message(message))))
}
