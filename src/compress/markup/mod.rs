//! HTML, XML and similar markup: keeps the text, with a line for each block.
//!
//! The tokenizer of the HTML standard reads it; that one accepts any input and never fails. It reads XML too. There the
//! names of elements carry most of the meaning, so they are kept.

mod html;
mod lines;
mod xml;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::outline::Outline;
use super::sample::Sample;

/// Beginnings of HTML. A text without one is XML. Those of a page count after an XML declaration too.
const PAGES: [&str; 2] = ["<!doctype html", "<html"];
const FRAGMENTS: [&str; 9] = ["<head", "<body", "<div", "<p>", "<p ", "<span", "<table", "<ul", "<h1"];

/// True if the text begins with a tag and has closing tags.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    let start = sample.start.trim_start();
    start
        .strip_prefix('<')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?')))
        && ["</", "/>"].iter().any(|end| start.contains(end))
        && sample.end.trim_end().ends_with('>')
}

/// Converts the text to lines. `None` if it has hardly any text. O(length).
pub(super) fn outline(text: &str) -> Option<Outline<'_>> {
    /// Bytes at the beginning that are searched for a tag of HTML.
    const FRONT: usize = 4_096;
    let front = text[..text.floor_char_boundary(FRONT)].to_ascii_lowercase();
    let has = |mark: &&str| front.contains(*mark);
    let is_page = PAGES.iter().any(has) || !front.trim_start().starts_with("<?xml") && FRAGMENTS.iter().any(has);
    let lines = if is_page {
        let mut reader = html::Reader::of(text);
        let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, span: Span<usize>| reader.read(&event, span));
        // Scripts and styles contain no tags.
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
