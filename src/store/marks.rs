//! Recognizes the lines of [`line`](super::line), so that content with a reference is never stored or cut again.

use super::line::{
    DROPPED, FOLLOW, GONE, MARK, NOTE_ANSWER, REMOVED, RETRIEVED, SHORTENED, STORED, behind, behind_reason, length,
    superseded_line, tells_of_retrieval, with_body,
};
use super::style::{StyledMark, framed};
use super::{Reference, Storing};
use crate::numbers::thousands;

/// Returns the reference that ullage put before a tool result: of a stored output, or of the output that a piece was
/// retrieved from.
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
    /// A line of ullage before the body, without the body's length.
    Line(&'a str),
    /// A line of ullage in place of superseded content, without its bracket.
    Superseded(&'a str),
    /// The words of another system.
    Words(StyledMark<'a>),
}

impl Marked<'_> {
    /// Returns the same frame around another body.
    pub fn around(&self, body: &str) -> String {
        match &self.frame {
            Frame::Line(said) => behind(said, body),
            Frame::Superseded(said) => with_body(said, body),
            Frame::Words(words) => words.around(body),
        }
    }

    /// Returns the line of ullage around it, without its bracket; `None` for the words of another system.
    pub(super) fn line(&self) -> Option<&str> {
        match &self.frame {
            Frame::Line(said) | Frame::Superseded(said) => Some(said),
            Frame::Words(_) => None,
        }
    }
}

/// Recognizes a text that ullage has shortened: a mark, and the number of characters after it that the mark states.
/// With a store, a mark without a reference, or with one in `distrusted`, is ordinary text.
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
    let frame = match superseded_line(mark) {
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
pub struct RemovalNote<'a> {
    /// The number of removed messages.
    pub messages: usize,
    /// Their reference; `None` if they were lost.
    pub reference: Option<Reference>,
    /// The text in place of the messages; may be empty.
    pub body: &'a str,
}

/// Reads `text` as a note about removed messages, or as the answer to a note, which names no messages. It is a note
/// only if its line states the number of characters after it, so a person who quotes a note does not write one.
/// O(length).
pub fn noted_removals(text: &str) -> Option<RemovalNote<'_>> {
    if text == NOTE_ANSWER {
        return Some(RemovalNote { messages: 0, reference: None, body: "" });
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
    Some(RemovalNote { messages: count.replace(',', "").parse().ok()?, reference, body })
}

fn first_line(text: &str) -> Option<&str> {
    /// Maximum length of a mark. The limit keeps the check O(1) on a text of one long line.
    const LONGEST_MARK: usize = 600;
    if !text.starts_with(MARK) {
        return None;
    }
    let head = &text.as_bytes()[..text.len().min(LONGEST_MARK)];
    let end = head.iter().position(|byte| *byte == b'\n').unwrap_or(head.len());
    let line = text.get(..end)?;
    line.ends_with(']').then_some(line)
}
