//! Shortens one text: the mark, the kept part, and the reference of the original.

use super::gap::SOME;
use super::plan::{Artifact, Source};
use super::rendering::{References, Rendering};
use super::tools::ToolNames;
use crate::compress::{Aim, Request, compress};
use crate::edit::{Action, Edit, ItemPlace};
use crate::message::{Conversation, Part, Text};
use crate::store::{Reference, Storing, Whereabouts, marked, superseded_marked};
use crate::tokens::{CountTokens, TextKind};
use crate::working_copy::Cut;

/// A shortened text, and the place of the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortText {
    /// The mark and the kept part.
    pub text: String,
    /// The reference under which the original must be stored.
    pub to_store: Option<Reference>,
    /// The reference under which the original is stored already.
    pub stored_before: Option<Reference>,
}

/// Shortens the output of `tool` to `keep` tokens, after a line that describes it and names the place of the original.
/// `None` if nothing can be left out. The result is a text item and counts as tool output. Text that ullage shortened
/// or retrieved before keeps its line and its reference.
pub fn shorten(
    tool: &str,
    text: &str,
    keep: usize,
    counter: &dyn CountTokens,
    referring: References<'_>,
) -> Option<ShortText> {
    if let Some(marked) = marked(text, referring.storing, referring.distrusted) {
        let short = compress(marked.body, &Request::of(tool, Aim::Tokens(keep)), counter)?;
        let text = marked.around(&short.text);
        return Some(ShortText { text, to_store: None, stored_before: marked.reference });
    }
    let short = compress(text, &Request::of(tool, Aim::Tokens(keep)), counter)?;
    Some(marked_short(tool, text, &short.text, referring))
}

/// Returns `short`, the kept part of the output `text` of `tool`, after a line that describes the output and names the
/// place of the original. O(length).
pub fn marked_short(tool: &str, text: &str, short: &str, referring: References<'_>) -> ShortText {
    let to_store = match referring.storing {
        Storing::On => Some(Reference::salted(tool, text.as_bytes(), referring.salt)),
        Storing::Off => None,
    };
    let whereabouts = to_store.as_ref().map_or(Whereabouts::Lost, Whereabouts::Stored);
    let text = referring.style.frame(tool, text.chars().count(), short, &whereabouts, referring.places);
    ShortText { text, to_store, stored_before: None }
}

/// A cut, and the frame of its kept part.
#[derive(Debug)]
pub(super) struct FramedCut<'a> {
    /// The item.
    pub place: ItemPlace,
    cut: Cut,
    tool: &'a str,
    text: &'a str,
}

/// The result of a cut: its edit, and the content to store first.
pub(super) type RenderedCut = (Edit, Option<Artifact>);

impl<'a> FramedCut<'a> {
    /// Returns the cut of `place`; `None` if it is not text, which a working copy does not cut.
    pub(super) fn of<T: Text>(
        conversation: &'a Conversation<T>,
        (place, cut): (ItemPlace, Cut),
        tools: &ToolNames<'a>,
    ) -> Option<FramedCut<'a>> {
        let Part::Result { items, .. } = &conversation.messages[place.message].parts[place.part] else { return None };
        let (text, _) = items[place.item].text()?;
        Some(FramedCut { place, cut, tool: tools.of_result(place.message, place.part), text })
    }

    /// Returns the tokens that the cut saves if hardly anything follows its mark.
    pub(super) fn saves(&self, with: &Rendering<'_>) -> usize {
        let mark = self.framed(SOME, with).text;
        self.cut.tokens_before.saturating_sub(with.counter.count(&mark, TextKind::ToolOutput))
    }

    /// Returns the text, shortened by itself; `None` if the result is not shorter.
    pub(super) fn rendered(&self, with: &Rendering<'_>) -> Option<RenderedCut> {
        self.edit(shorten(self.tool, self.text, self.cut.keep, &with.counter, with.referring)?, with)
    }

    /// True if the text contains `name`, even inside a longer word.
    pub(super) fn says(&self, name: &str) -> bool {
        self.text.contains(name)
    }

    /// True if nothing of it is kept, because newer content replaces it.
    pub(super) fn is_superseded(&self) -> bool {
        self.cut.superseded_by.is_some()
    }

    /// Returns the single line that replaces superseded content.
    pub(super) fn superseded(&self, with: &Rendering<'_>) -> Option<RenderedCut> {
        let by = self.cut.superseded_by.as_deref()?;
        let References { storing, salt, distrusted, style, places } = with.referring;
        if let Some(marked) = marked(self.text, storing, distrusted) {
            let short = ShortText { text: marked.superseded(by), to_store: None, stored_before: marked.reference };
            return self.edit(short, with);
        }
        let to_store = match storing {
            Storing::On => Some(Reference::salted(self.tool, self.text.as_bytes(), salt)),
            Storing::Off => None,
        };
        let whereabouts = to_store.as_ref().map_or(Whereabouts::Lost, Whereabouts::Stored);
        let characters = self.text.chars().count();
        let text = superseded_marked(self.tool, characters, &whereabouts, by, (style, places));
        self.edit(ShortText { text, to_store, stored_before: None }, with)
    }

    /// Returns the result with `body` after its mark; `None` if it is not shorter.
    pub(super) fn with_body(&self, body: &str, with: &Rendering<'_>) -> Option<RenderedCut> {
        self.edit(self.framed(body, with), with)
    }

    fn framed(&self, body: &str, with: &Rendering<'_>) -> ShortText {
        match marked(self.text, with.referring.storing, with.referring.distrusted) {
            Some(marked) => ShortText { text: marked.around(body), to_store: None, stored_before: marked.reference },
            None => marked_short(self.tool, self.text, body, with.referring),
        }
    }

    fn edit(&self, short: ShortText, with: &Rendering<'_>) -> Option<RenderedCut> {
        let tokens_after = with.counter.count(&short.text, TextKind::ToolOutput);
        if tokens_after >= self.cut.tokens_before {
            return None;
        }
        let artifact = short.to_store.clone().map(|reference| Artifact {
            reference,
            tool: self.tool.to_owned(),
            source: Source::Item(self.place),
        });
        let edit = Edit {
            stage: self.cut.stage,
            tokens_before: self.cut.tokens_before,
            tokens_after,
            reference: short.to_store.or(short.stored_before),
            superseded_by: self.cut.superseded_by.as_deref().map(str::to_owned),
            action: Action::Shorten { place: self.place, text: short.text },
        };
        Some((edit, artifact))
    }
}
