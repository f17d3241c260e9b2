//! The frame around the kept part of an output: ullage's line before it, or the words of two other systems, for models
//! and prompts that expect them.

use serde::{Deserialize, Serialize};

use super::line::{Whereabouts, output_marked};
use super::{Reference, reference_of_file};
use crate::numbers::thousands;

/// The words around the kept part of a stored output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkStyle {
    /// One line before it, with the reference.
    #[default]
    Ullage,
    /// `[Tool output: ... | Full: artifacts/x.log]` before it and the file after it, as in Cyber-AutoAgent.
    CyberAutoagent,
    /// `[Large output saved to x]` before it and how to read the file after it, as in Valis.
    Valis,
}

/// Gives the places of stored content, for models that read it by other means than a retrieval.
pub trait Places: std::fmt::Debug + Send + Sync {
    /// Returns the path of `reference`, even before it is stored.
    fn place(&self, reference: &Reference) -> Option<String>;
}

const TOTAL: &str = "[Tool output: ";
const TOTAL_END: &str = " chars total | Preview: ";
const PREVIEW_END: &str = " chars below | Full: ";
const COMPLETE: &str = "\n\n[Complete output saved to: ";
const SAVED: &str = "[Large output saved to ";
const PREVIEW: &str = "]\n\nPreview:\n";
const READ: &str = "\n\nUse read_file(\"";
const READ_END: &str = "\") to view full content.";

impl MarkStyle {
    /// Puts `short`, the kept part of an output of `tool` with this many characters, in its frame. Lost content has no
    /// place, and so gets ullage's line.
    pub fn frame(
        self,
        tool: &str,
        characters: usize,
        short: &str,
        whereabouts: &Whereabouts<'_>,
        places: Option<&dyn Places>,
    ) -> String {
        let Whereabouts::Stored(reference) = whereabouts else {
            return output_marked(tool, characters, whereabouts, short);
        };
        let place = || places.and_then(|places| places.place(reference)).unwrap_or_else(|| reference.to_string());
        match self {
            MarkStyle::Ullage => output_marked(tool, characters, whereabouts, short),
            MarkStyle::CyberAutoagent => artifact(&thousands(characters), &place(), short),
            MarkStyle::Valis => saved(&place(), short),
        }
    }
}

fn artifact(total: &str, place: &str, short: &str) -> String {
    let preview = thousands(short.chars().count());
    format!("{TOTAL}{total}{TOTAL_END}{preview}{PREVIEW_END}{place}]\n\n{short}{COMPLETE}{place}]")
}

fn saved(place: &str, short: &str) -> String {
    format!("{SAVED}{place}{PREVIEW}{short}{READ}{place}{READ_END}")
}

/// A text in the frame of another system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StyledMark<'a> {
    words: Words<'a>,
    /// The kept text.
    pub body: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Words<'a> {
    Artifact { total: &'a str, place: &'a str },
    Saved { place: &'a str },
}

impl StyledMark<'_> {
    /// Returns the same frame around another body.
    pub(super) fn around(&self, body: &str) -> String {
        match self.words {
            Words::Artifact { total, place } => artifact(total, place, body),
            Words::Saved { place } => saved(place, body),
        }
    }
}

/// Recognizes such a text, and returns the reference of its place. O(1) if it does not begin like one.
pub(super) fn framed(text: &str) -> Option<(StyledMark<'_>, Reference)> {
    let (words, place, body) = if let Some(rest) = text.strip_prefix(TOTAL) {
        let (total, rest) = rest.split_once(TOTAL_END)?;
        let (preview, rest) = rest.split_once(PREVIEW_END)?;
        let (place, rest) = rest.split_once("]\n\n")?;
        let body = rest.strip_suffix(']')?.strip_suffix(place)?.strip_suffix(COMPLETE)?;
        // The preview must have the stated length, so a text that only begins and ends like one is not recognized.
        if preview != thousands(body.chars().count()) {
            return None;
        }
        (Words::Artifact { total, place }, place, body)
    } else {
        let rest = text.strip_prefix(SAVED)?;
        let (place, rest) = rest.split_once(PREVIEW)?;
        let body = rest.strip_suffix(READ_END)?.strip_suffix(place)?.strip_suffix(READ)?;
        (Words::Saved { place }, place, body)
    };
    let file = place.rsplit(['/', '\\']).next().unwrap_or(place);
    let reference = Reference::parse(file).ok().or_else(|| reference_of_file(file))?;
    Some((StyledMark { words, body }, reference))
}
