//! The lines in place of superseded content: the reason and the reference. None of the content is kept.

use super::line::{GONE, MARK, PART, STORED, SUPERSEDED, Whereabouts};
use super::reference::safe_name;
use super::style::framed;
use super::{MarkStyle, Marked, Places};
use crate::numbers::thousands;

/// Characters of a path in a mark. The end of a path distinguishes files.
const LONGEST_PATH: usize = 60;

/// Returns the line in place of an output of `tool` with this many characters, which `by` supersedes, in the style of
/// the policy's marks. O(1).
pub fn superseded_marked(
    tool: &str,
    characters: usize,
    whereabouts: &Whereabouts<'_>,
    by: &str,
    (style, places): (MarkStyle, Option<&dyn Places>),
) -> String {
    let output = format!("{} output of {} characters", safe_name(tool), thousands(characters));
    match whereabouts {
        Whereabouts::Lost => format!("{MARK}{SUPERSEDED}{by}{PART}{output}{GONE}]"),
        Whereabouts::Stored(reference) if style == MarkStyle::Ullage => {
            format!("{MARK}{SUPERSEDED}{by}{PART}{output}{STORED}{reference}; retrieve it by that reference]")
        }
        Whereabouts::Stored(_) => style.frame(tool, characters, &format!("{SUPERSEDED}{by}"), whereabouts, places),
    }
}

impl Marked<'_> {
    /// Returns the line in place of text that ullage has shortened or retrieved before, with its reference.
    pub fn superseded(&self, by: &str) -> String {
        match self.line() {
            Some(said) => {
                let said = said.strip_prefix(MARK).unwrap_or(said);
                format!("{MARK}{SUPERSEDED}{by}{PART}{said}]")
            }
            None => self.around(&format!("{SUPERSEDED}{by}")),
        }
    }
}

/// True if `text` replaces superseded content. O(1), except in the words of another system, which are searched for.
pub fn is_superseded(text: &str) -> bool {
    match text.strip_prefix(MARK) {
        Some(said) => said.starts_with(SUPERSEDED),
        None => framed(text).is_some_and(|(words, _)| words.body.starts_with(SUPERSEDED)),
    }
}

/// The action of a call on a text in its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Went {
    /// Wrote it into the file.
    Into,
    /// Removed it from the file.
    OutOf,
    /// Passed it under a name. No file is known.
    As,
}

/// Returns the line in place of a text with this many characters in the arguments of a call. O(1).
pub fn argument_marked(characters: usize, went: Went, path: &str, whereabouts: &Whereabouts<'_>) -> String {
    let characters = thousands(characters);
    let path = shown(path);
    let gone = if went == Went::As { "that were removed" } else { "read the file to see it as it is" };
    let went = match went {
        Went::Into => "written to",
        Went::OutOf => "replaced in",
        Went::As => "given as",
    };
    match whereabouts {
        Whereabouts::Stored(reference) => format!(
            "{MARK}{characters} characters {went} {path}; the arguments of this call are stored as {reference}; retrieve them by \
             that reference]"
        ),
        Whereabouts::Lost => format!("{MARK}{characters} characters {went} {path}; {gone}]"),
    }
}

/// True if a text begins like a line of ullage. O(1).
pub fn is_ours(text: &str) -> bool {
    text.starts_with(MARK)
}

/// Returns a path for use in a mark: on one line, without characters that end a mark, and only its end if it is long.
pub fn shown(path: &str) -> String {
    let length = path.chars().count();
    let tail = path.chars().skip(length.saturating_sub(LONGEST_PATH));
    let shown: String = tail.map(|c| if c.is_control() || matches!(c, ';' | '[' | ']') { '?' } else { c }).collect();
    if length > LONGEST_PATH { format!("...{shown}") } else { shown }
}
