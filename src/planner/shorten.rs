//! Cutting one text: the mark in front, what is kept of it, and where the whole is.

use super::plan::{Artifact, Source};
use super::seal::Sealing;
use super::tools::ToolNames;
use crate::compress::{Aim, Request, compress};
use crate::draft::Cut;
use crate::edit::{Action, Edit, Place};
use crate::message::{Conversation, Part, Text};
use crate::store::{MarkStyle, Places, Reference, Storing, Whereabouts, marked};
use crate::tokens::{CountTokens, TextKind};

/// A text that was shortened, and where the whole of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortText {
    /// The mark, and what is kept.
    pub text: String,
    /// The reference under which the whole must be stored.
    pub to_store: Option<Reference>,
    /// The reference under which it is stored already.
    pub stored_before: Option<Reference>,
}

/// How references are made, and which of those that stand in a text are believed.
#[derive(Debug, Clone, Copy)]
pub struct Referring<'a> {
    /// Whether there is a store.
    pub storing: Storing,
    /// See [`Reference::salted`].
    pub salt: u64,
    /// References that the store does not have: a mark with one of these is text like any other.
    pub distrusted: &'a [Reference],
    /// How what is left is framed.
    pub style: MarkStyle,
    /// Where the store keeps things, for styles that say so.
    pub places: Option<&'a dyn Places>,
}

/// The output of `tool`, cut to `keep` tokens behind a line that says what it was and where the whole is; `None`
/// if there is nothing to leave out. What is left is a text item and counts as tool output, whatever it was. What ullage
/// has shortened or retrieved before keeps its line and its reference.
pub fn shorten(
    tool: &str,
    text: &str,
    keep: usize,
    counter: &dyn CountTokens,
    referring: Referring<'_>,
) -> Option<ShortText> {
    if let Some(marked) = marked(text, referring.storing, referring.distrusted) {
        let short = compress(marked.body, &Request::of(tool, Aim::Tokens(keep)), counter)?;
        let text = marked.around(&short.text);
        return Some(ShortText { text, to_store: None, stored_before: marked.reference });
    }
    let short = compress(text, &Request::of(tool, Aim::Tokens(keep)), counter)?;
    Some(marked_short(tool, text, &short.text, referring))
}

/// `short`, which is left of the output `text` of `tool`, behind the line that says what it was and where the whole is.
/// O(length).
pub fn marked_short(tool: &str, text: &str, short: &str, referring: Referring<'_>) -> ShortText {
    let to_store = match referring.storing {
        Storing::On => Some(Reference::salted(tool, text.as_bytes(), referring.salt)),
        Storing::Off => None,
    };
    let whereabouts = to_store.as_ref().map_or(Whereabouts::Lost, Whereabouts::Stored);
    let text = referring.style.frame(tool, text.chars().count(), short, &whereabouts, referring.places);
    ShortText { text, to_store, stored_before: None }
}

/// The edit that an accepted cut comes to, with what must be stored first; `None` where the text turns out to be no
/// shorter.
pub(super) fn seal_cut<T: Text>(
    conversation: &Conversation<T>,
    place: Place,
    cut: Cut,
    tools: &ToolNames<'_>,
    with: &Sealing<'_>,
) -> Option<(Edit, Option<Artifact>)> {
    // A draft only accepts items of results that have a text.
    let Part::Result { items, .. } = &conversation.messages[place.message].parts[place.part] else { return None };
    let (text, _) = items[place.item].text()?;
    let tool = tools.of_result(place.message, place.part);
    let counter = &with.counter;
    let short = shorten(tool, text, cut.keep, counter, with.referring)?;
    let tokens_after = counter.count(&short.text, TextKind::ToolOutput);
    if tokens_after >= cut.tokens_before {
        return None;
    }
    let artifact = short.to_store.clone().map(|reference| Artifact {
        reference,
        tool: tool.to_owned(),
        source: Source::Item(place),
    });
    let edit = Edit {
        stage: cut.stage,
        tokens_before: cut.tokens_before,
        tokens_after,
        reference: short.to_store.or(short.stored_before),
        action: Action::Shorten { place, text: short.text },
    };
    Some((edit, artifact))
}
