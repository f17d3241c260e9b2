//! Content addresses, and the marks in the text that carry them.
//!
//! A reference names its content: the tool it came from and a hash of the bytes, as in `read_file-3f9a0b12c4d5e6f7`.
//! The same output gets the same reference on every machine, so a dry run can name it before anything is stored.
//! Marks are recognised later, so that what carries a reference is never stored or cut a second time.

use std::fmt;

use super::Storing;
use crate::error::{Error, Result};
use crate::numbers::thousands;

/// Hexadecimal digits of the hash in a reference: 64 bits. A store compares the bytes when it already has the
/// reference, so a collision is an error and never a wrong answer.
const HASH_DIGITS: usize = 16;

/// Longest part of a tool's name that goes into a reference.
const LONGEST_TOOL: usize = 32;

/// What every line that ullage leaves in a conversation begins with.
const MARK: &str = "[ullage: ";
const STORED: &str = " is stored as ";
const REMOVED: &str = " earlier messages are stored as ";
const DROPPED: &str = " earlier messages were removed to fit the context window";
const RETRIEVED: &str = "[ullage: retrieved from ";
const SHORTENED: &str = " was shortened to fit the context window";

/// The name of stored content.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference(String);

impl Reference {
    /// The reference of `content` that came from `tool`. O(length).
    pub fn of(tool: &str, content: &[u8]) -> Reference {
        Reference::salted(tool, content, 0)
    }

    /// Another reference of the same content for each `salt`, for a store that holds other content under the first; a
    /// salt of 0 gives the reference of [`Reference::of`].
    pub fn salted(tool: &str, content: &[u8], salt: u64) -> Reference {
        let mut hasher = blake3::Hasher::new();
        hasher.update(content);
        if salt != 0 {
            hasher.update(&salt.to_le_bytes());
        }
        let hash = hasher.finalize().to_hex();
        Reference(format!("{}-{}", safe_name(tool), &hash[..HASH_DIGITS]))
    }

    /// Reads a reference back.
    ///
    /// # Errors
    /// `Store` if `text` is not of the form that [`Reference::of`] makes; so it can never name a path.
    pub fn parse(text: &str) -> Result<Reference> {
        let well_formed = text.rsplit_once('-').is_some_and(|(tool, hash)| {
            !tool.is_empty()
                && tool.len() <= LONGEST_TOOL
                && tool.bytes().all(is_safe)
                && hash.len() == HASH_DIGITS
                && hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        });
        if well_formed {
            return Ok(Reference(text.to_owned()));
        }
        let shown: String = text.chars().take(80).collect();
        Err(Error::Store {
            problem: format!("'{shown}' is not a reference"),
            remedy: "use a reference as it stands in the conversation, such as read_file-3f9a0b12c4d5e6f7".to_owned(),
        })
    }

    /// The reference as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_safe(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

/// The tool's name as it may stand in a file name: lower case, digits and underscores.
pub(super) fn safe_name(tool: &str) -> String {
    let name: String = tool
        .bytes()
        .map(|byte| byte.to_ascii_lowercase())
        .map(|byte| if is_safe(byte) { char::from(byte) } else { '_' })
        .take(LONGEST_TOOL)
        .collect();
    let name = name.trim_matches('_');
    if name.is_empty() { "output".to_owned() } else { name.to_owned() }
}

/// What becomes of content that leaves the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whereabouts<'a> {
    /// It is in the store.
    Stored(&'a Reference),
    /// There is no store: it is gone.
    Lost,
}

/// The line in front of what is left of a tool's output.
pub fn output_mark(tool: &str, characters: usize, whereabouts: &Whereabouts<'_>) -> String {
    let tool = safe_name(tool);
    let characters = thousands(characters);
    match whereabouts {
        Whereabouts::Stored(reference) => {
            format!("{MARK}{tool} output of {characters} characters{STORED}{reference}; retrieve it by that reference]")
        }
        Whereabouts::Lost => format!("{MARK}{tool} output of {characters} characters{SHORTENED}]"),
    }
}

/// The note in place of messages that were removed.
pub fn removal_note(messages: usize, whereabouts: &Whereabouts<'_>) -> String {
    let messages = thousands(messages);
    match whereabouts {
        Whereabouts::Stored(reference) => {
            format!("{MARK}{messages}{REMOVED}{reference}; retrieve them by that reference]")
        }
        Whereabouts::Lost => format!("{MARK}{messages}{DROPPED}]"),
    }
}

/// The answer to a note that must stand as a message of its own between two others.
pub const NOTE_ANSWER: &str = "[ullage: noted; the conversation goes on below]";

/// The line in front of what a retrieval returned.
pub fn retrieval_mark(reference: &Reference, what: &str) -> String {
    format!("{RETRIEVED}{reference}, {what}]")
}

/// The reference in the first line of a tool result, if ullage put one there: an output that is stored, or a piece of
/// one that was retrieved.
pub fn marked_reference(text: &str) -> Option<Reference> {
    let line = first_line(text)?;
    let rest = match line.strip_prefix(RETRIEVED) {
        Some(rest) => rest,
        None => line.strip_prefix(MARK)?.split_once(STORED)?.1,
    };
    let end = rest.find([',', ';', ']'])?;
    Reference::parse(&rest[..end]).ok()
}

/// A text that ullage has shortened or retrieved before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked<'a> {
    /// The line in front.
    pub mark: &'a str,
    /// What follows it.
    pub body: &'a str,
    /// Where the whole is; `None` where it was lost.
    pub reference: Option<Reference>,
}

/// What ullage has made of `text` before, if anything. With a store, a mark without a reference leads nowhere and is
/// text like any other; so is a mark whose reference is among `distrusted`.
pub fn marked<'a>(text: &'a str, storing: Storing, distrusted: &[Reference]) -> Option<Marked<'a>> {
    let mark = first_line(text)?;
    let reference = marked_reference(mark);
    let ours = match &reference {
        Some(reference) => !distrusted.contains(reference),
        None => storing == Storing::Off && mark.contains(SHORTENED),
    };
    ours.then(|| Marked { mark, body: text[mark.len()..].trim_start_matches('\n'), reference })
}

/// Whether `text` is a note about removed messages (or the answer to one), and how many messages it speaks of.
pub fn noted_removals(text: &str) -> Option<usize> {
    if text == NOTE_ANSWER {
        return Some(0);
    }
    // A note is one line: a person who quotes one and goes on writes no note.
    let line = first_line(text).filter(|line| line.len() == text.len())?.strip_prefix(MARK)?;
    let (count, _) = line.split_once(REMOVED).or_else(|| line.split_once(DROPPED))?;
    count.replace(',', "").parse().ok()
}

fn first_line(text: &str) -> Option<&str> {
    /// A mark is shorter than this; looking no further keeps the check O(1) on a text of one long line.
    const LONGEST_MARK: usize = 200;
    if !text.starts_with(MARK) {
        return None;
    }
    let head = &text.as_bytes()[..text.len().min(LONGEST_MARK)];
    let end = head.iter().position(|byte| *byte == b'\n').unwrap_or(head.len());
    let line = text.get(..end)?;
    line.ends_with(']').then_some(line)
}
