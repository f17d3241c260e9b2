//! HTML, XML and similar markup: the text, a line for each block.
//!
//! Read by the tokenizer of the HTML standard, which takes anything for markup and fails at nothing. XML goes the same
//! way; there the names of elements are what says most, so they stay.

mod html;
mod lines;
mod xml;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::outline::Outline;
use super::sample::Sample;

/// Marks of HTML at the front of a text; a text without one is XML. Those of pages count after an XML declaration too.
const PAGES: [&str; 2] = ["<!doctype html", "<html"];
const FRAGMENTS: [&str; 9] = ["<head", "<body", "<div", "<p>", "<p ", "<span", "<table", "<ul", "<h1"];

/// True if the text begins with a tag and has some that end an element.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    let start = sample.start.trim_start();
    start
        .strip_prefix('<')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?')))
        && ["</", "/>"].iter().any(|end| start.contains(end))
        && sample.end.trim_end().ends_with('>')
}

/// The text as lines. `None` where there is none to speak of. O(length).
pub(super) fn outline(text: &str) -> Option<Outline<'_>> {
    /// Tags are in the front of HTML.
    const FRONT: usize = 4_096;
    let front = text[..text.floor_char_boundary(FRONT)].to_ascii_lowercase();
    let has = |mark: &&str| front.contains(*mark);
    let is_page = PAGES.iter().any(has) || !front.trim_start().starts_with("<?xml") && FRAGMENTS.iter().any(has);
    let lines = if is_page {
        let mut reader = html::Reader::of(text);
        let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, span: Span<usize>| reader.read(&event, span));
        // Scripts and styles hold no tags.
        emitter.naively_switch_states(true);
        Tokenizer::new_with_emitter(text, emitter).finish().ok()?;
        reader.into_lines()
    } else {
        let mut reader = xml::Reader::of(text);
        let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, span: Span<usize>| reader.read(&event, span));
        Tokenizer::new_with_emitter(text, emitter).finish().ok()?;
        reader.into_lines()
    };
    lines.outline(text)
}
