//! The words that ullage leaves in a conversation, and how they are recognised later, so that what carries a reference is
//! never stored or cut a second time.

use super::reference::safe_name;
use super::style::{Framed, framed};
use super::superseded::{self, GONE, behind_reason, tells_of_retrieval};
use super::{Reference, Storing};
use crate::numbers::thousands;

/// The beginning of every line that ullage leaves in a conversation.
pub const MARK: &str = "[ullage: ";
pub(super) const STORED: &str = " is stored as ";
const REMOVED: &str = " earlier messages are stored as ";
const DROPPED: &str = " earlier messages were removed to fit the context window";
pub(super) const RETRIEVED: &str = "[ullage: retrieved from ";
const SHORTENED: &str = " was shortened to fit the context window";

/// The end of a mark, after the number of characters that follow it. A text that has grown since, or that only quotes a
/// mark, has a different number of characters, so it is stored like any other.
const FOLLOW: &str = " characters follow]";

/// The place of content that was removed from the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whereabouts<'a> {
    /// It is in the store.
    Stored(&'a Reference),
    /// There is no store: it is gone.
    Lost,
}

/// `body`, which is left of a tool's output of so many characters, behind the line that says so. O(length).
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

/// `body`, which is left of a text of so many characters that somebody wrote, behind the line that says so. O(length).
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

/// `body` behind a line that ends in how much follows.
pub(super) fn behind(said: &str, body: &str) -> String {
    format!("{said}; {}{FOLLOW}\n{body}", thousands(length(body)))
}

/// Characters of a body. Hosts may take away the space around a text.
fn length(body: &str) -> usize {
    body.trim().chars().count()
}

/// The note in place of messages that were removed, with `body`, which stands for what was in them, behind it; one line
/// where the body is blank. O(length).
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

/// The answer to a note that must stand as a message of its own between two others.
pub const NOTE_ANSWER: &str = "[ullage: noted; the conversation goes on below]";

/// `body`, which a retrieval returned, behind the line that says so. O(length).
pub fn retrieval_marked(reference: &Reference, what: &str, body: &str) -> String {
    behind(&format!("{RETRIEVED}{reference}, {what}"), body)
}

/// The reference in front of a tool result, if ullage put one there: an output that is stored, or a piece of one that was
/// retrieved.
pub fn marked_reference(text: &str) -> Option<Reference> {
    if let Some((_, reference)) = framed(text) {
        return Some(reference);
    }
    let line = first_line(text)?;
    let rest = match line.strip_prefix(RETRIEVED) {
        Some(rest) => rest,
        None => match behind_reason(line.strip_prefix(MARK)?) {
            rest if tells_of_retrieval(rest) => &rest[RETRIEVED.len() - MARK.len()..],
            rest => rest.split_once(STORED)?.1,
        },
    };
    let end = rest.find([',', ';', ']'])?;
    Reference::parse(&rest[..end]).ok()
}

/// True if a text is a piece of a stored output that a retrieval returned. O(1).
pub fn is_retrieved(text: &str) -> bool {
    text.starts_with(RETRIEVED) && marked_reference(text).is_some()
}

/// A text that ullage has shortened or retrieved before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked<'a> {
    /// The text around the body.
    frame: Frame<'a>,
    /// The kept part of the output.
    pub body: &'a str,
    /// The reference of the whole; `None` if it was lost.
    pub reference: Option<Reference>,
}

/// The text around the kept part of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Frame<'a> {
    /// A line of ours in front, without how much follows.
    Line(&'a str),
    /// A line of ours that stands for something superseded, without its bracket.
    Superseded(&'a str),
    /// The words of another system.
    Words(Framed<'a>),
}

impl Marked<'_> {
    /// The same around another body.
    pub fn around(&self, body: &str) -> String {
        match &self.frame {
            Frame::Line(said) => behind(said, body),
            Frame::Superseded(said) => superseded::with_body(said, body),
            Frame::Words(words) => words.around(body),
        }
    }

    /// Our line around it, without its bracket; `None` for the words of another system.
    pub(super) fn line(&self) -> Option<&str> {
        match &self.frame {
            Frame::Line(said) | Frame::Superseded(said) => Some(said),
            Frame::Words(_) => None,
        }
    }
}

/// Recognizes a text that ullage has shortened: a mark with as many characters after it as the mark says. With a store,
/// a mark without a reference, or with one in `distrusted`, is text like any other.
pub fn marked<'a>(text: &'a str, storing: Storing, distrusted: &[Reference]) -> Option<Marked<'a>> {
    if let Some((words, reference)) = framed(text) {
        let body = words.body;
        return (!distrusted.contains(&reference)).then_some(Marked {
            frame: Frame::Words(words),
            body,
            reference: Some(reference),
        });
    }
    let mark = first_line(text)?;
    let body = text[mark.len()..].trim_start_matches('\n');
    let frame = match superseded::said(mark) {
        Some(said) if body.trim().is_empty() => Frame::Superseded(said),
        _ => {
            let (said, follow) = mark.strip_suffix(FOLLOW)?.rsplit_once("; ")?;
            if follow != thousands(length(body)) {
                return None;
            }
            Frame::Line(said)
        }
    };
    let reference = marked_reference(mark);
    let ours = match &reference {
        Some(reference) => !distrusted.contains(reference),
        None => storing == Storing::Off && (mark.contains(SHORTENED) || mark.contains(GONE)),
    };
    ours.then_some(Marked { frame, body, reference })
}

/// A note about removed messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted<'a> {
    /// The number of removed messages.
    pub messages: usize,
    /// Their reference; `None` if they were lost.
    pub reference: Option<Reference>,
    /// The text in their place; may be empty.
    pub body: &'a str,
}

/// Reads `text` as a note about removed messages, or as the answer to one, which names none. It is a note only if as
/// many characters follow its line as the line says, so a person who quotes one writes no note. O(length).
pub fn noted_removals(text: &str) -> Option<Noted<'_>> {
    if text == NOTE_ANSWER {
        return Some(Noted { messages: 0, reference: None, body: "" });
    }
    let line = first_line(text)?;
    let body = text[line.len()..].trim_start_matches('\n');
    let said = match line.strip_suffix(FOLLOW) {
        Some(said) => said.rsplit_once("; ").filter(|(_, follow)| *follow == thousands(length(body)))?.0,
        None => line.strip_suffix(']').filter(|_| line.len() == text.len())?,
    };
    let said = said.strip_prefix(MARK)?;
    let (count, reference) = match said.split_once(REMOVED) {
        Some((count, rest)) => (count, rest.split(';').next().and_then(|reference| Reference::parse(reference).ok())),
        None => (said.strip_suffix(DROPPED)?, None),
    };
    Some(Noted { messages: count.replace(',', "").parse().ok()?, reference, body })
}

fn first_line(text: &str) -> Option<&str> {
    /// A mark is shorter than this; looking no further keeps the check O(1) on a text of one long line.
    const LONGEST_MARK: usize = 600;
    if !text.starts_with(MARK) {
        return None;
    }
    let head = &text.as_bytes()[..text.len().min(LONGEST_MARK)];
    let end = head.iter().position(|byte| *byte == b'\n').unwrap_or(head.len());
    let line = text.get(..end)?;
    line.ends_with(']').then_some(line)
}
