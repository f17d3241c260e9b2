//! The lines that ullage writes before content or in its place: their words, and the parts of a line.

use super::Reference;
use super::reference::safe_name;
use crate::numbers::thousands;

/// The beginning of every line that ullage leaves in a conversation.
pub const MARK: &str = "[ullage: ";
pub(super) const STORED: &str = " is stored as ";
pub(super) const REMOVED: &str = " earlier messages are stored as ";
pub(super) const DROPPED: &str = " earlier messages were removed to fit the context window";
pub(super) const RETRIEVED: &str = "[ullage: retrieved from ";
pub(super) const SHORTENED: &str = " was shortened to fit the context window";

/// The beginning of a line in place of superseded content.
pub(super) const SUPERSEDED: &str = "superseded by ";

/// The separator between the reason and the rest of the line.
pub(super) const PART: &str = "; ";

/// The words for an output that is not stored.
pub(super) const GONE: &str = " was removed to fit the context window";

/// The end of a mark, after the number of characters that follow it. A text that has grown since, or that only quotes a
/// mark, has a different number of characters, so it is stored like any other text.
pub(super) const FOLLOW: &str = " characters follow]";

/// The place of content that was removed from the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whereabouts<'a> {
    /// It is in the store.
    Stored(&'a Reference),
    /// It is lost, because there is no store.
    Lost,
}

/// Puts the mark before `body`, the kept part of a tool's output. O(length).
pub fn output_marked(tool: &str, characters: usize, whereabouts: &Whereabouts<'_>, body: &str) -> String {
    let tool = safe_name(tool);
    let characters = thousands(characters);
    let said = match whereabouts {
        Whereabouts::Stored(reference) => {
            format!("{MARK}{tool} output of {characters} characters{STORED}{reference}; retrieve it by that reference")
        }
        Whereabouts::Lost => format!("{MARK}{tool} output of {characters} characters{SHORTENED}"),
    };
    behind(&said, body)
}

/// Puts the mark before `body`, the kept part of a text that a person or a model wrote. O(length).
pub fn text_marked(characters: usize, whereabouts: &Whereabouts<'_>, body: &str) -> String {
    let characters = thousands(characters);
    let said = match whereabouts {
        Whereabouts::Stored(reference) => {
            format!("{MARK}text of {characters} characters{STORED}{reference}; retrieve it by that reference")
        }
        Whereabouts::Lost => format!("{MARK}text of {characters} characters{SHORTENED}"),
    };
    behind(&said, body)
}

/// Returns the note in place of removed messages, followed by `body`, which describes them. It is a single line if the
/// body is blank. O(length).
pub fn removal_note(messages: usize, whereabouts: &Whereabouts<'_>, body: &str) -> String {
    let messages = thousands(messages);
    let said = match whereabouts {
        Whereabouts::Stored(reference) => {
            format!("{MARK}{messages}{REMOVED}{reference}; retrieve them by that reference")
        }
        Whereabouts::Lost => format!("{MARK}{messages}{DROPPED}"),
    };
    if length(body) == 0 { format!("{said}]") } else { behind(&said, body) }
}

/// The answer to a note that must be a message of its own between two others.
pub const NOTE_ANSWER: &str = "[ullage: noted; the conversation continues below]";

/// Puts the line about a retrieval before `body`, the retrieved text. O(length).
pub fn retrieval_marked(reference: &Reference, what: &str, body: &str) -> String {
    behind(&format!("{RETRIEVED}{reference}, {what}"), body)
}

/// Returns `body` after a line that ends with the length of the body.
pub(super) fn behind(said: &str, body: &str) -> String {
    format!("{said}; {}{FOLLOW}\n{body}", thousands(length(body)))
}

/// Counts the characters of a body without surrounding space, because hosts may strip it.
pub(super) fn length(body: &str) -> usize {
    body.trim().chars().count()
}

/// Returns the text after the reason in a line of ours, if it has a reason. A reason has no semicolon.
pub(super) fn behind_reason(said: &str) -> &str {
    let reason = said.strip_prefix(SUPERSEDED).and_then(|said| said.split_once(PART));
    reason.map_or(said, |(_, rest)| rest)
}

/// Returns the text of a line about superseded content, without its bracket.
pub(super) fn superseded_line(line: &str) -> Option<&str> {
    let inside = line.strip_prefix(MARK)?.strip_suffix(']')?;
    let rest = behind_reason(inside);
    let tells = rest.len() < inside.len() && (rest.contains(STORED) || rest.contains(GONE) || tells_of_retrieval(rest));
    tells.then(|| &line[..line.len() - 1])
}

/// True if a line says, after its reason, that something was retrieved.
pub(super) fn tells_of_retrieval(rest: &str) -> bool {
    RETRIEVED.strip_prefix(MARK).is_some_and(|retrieved| rest.starts_with(retrieved))
}

/// Returns the line of a superseded text with a body, which a stage unaware of such lines may have added.
pub(super) fn with_body(said: &str, body: &str) -> String {
    if body.trim().is_empty() { format!("{said}]") } else { behind(said, body) }
}
