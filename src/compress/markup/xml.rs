//! Converts XML to lines: an element on each line, with its attributes and its text.

use std::collections::HashMap;
use std::convert::Infallible;

use foldhash::fast::RandomState;
use html5gum::Span;
use html5gum::emitters::callback::CallbackEvent;

use super::lines::{Lines, TextPart, push_words, text_lines};
use crate::compress::json::shortened;

/// Deeper elements are indented like elements of this depth.
const DEEPEST: usize = 8;

/// Reads the elements of XML.
pub(super) struct Reader<'a> {
    text: &'a str,
    lines: Lines,
    /// The open element, its attributes and its text.
    line: String,
    name: String,
    has_text: bool,
    depth: usize,
    /// Number of lines of each element name.
    turns: HashMap<String, usize, RandomState>,
}

impl<'a> Reader<'a> {
    pub(super) fn of(text: &'a str) -> Reader<'a> {
        Reader {
            text,
            lines: Lines::default(),
            line: String::new(),
            name: String::new(),
            has_text: false,
            depth: 0,
            turns: HashMap::with_hasher(RandomState::default()),
        }
    }

    /// Returns a name as the source writes it. The tokenizer returns it in lower case.
    fn source_of(&self, name: &[u8], span: Span<usize>) -> String {
        let lower = String::from_utf8_lossy(name).into_owned();
        let written =
            self.text.get(span.start..).and_then(|rest| rest.strip_prefix('<').unwrap_or(rest).get(..lower.len()));
        written.filter(|written| written.eq_ignore_ascii_case(&lower)).map_or(lower, str::to_owned)
    }

    fn end_line(&mut self, end: usize) {
        if !self.line.trim().is_empty() {
            let turn = match self.turns.get_mut(&self.name) {
                Some(turn) => turn,
                None => self.turns.entry(self.name.clone()).or_insert(0),
            };
            self.lines.push(end, &self.line, *turn);
            *turn += 1;
        }
        self.line.clear();
        self.has_text = false;
    }

    fn text(&mut self, text: &str, end: usize) {
        for part in text_lines(text) {
            match part {
                TextPart::Words(words) => self.words(words),
                TextPart::Report(report) => {
                    self.end_line(end);
                    self.words(report);
                    self.end_line(end);
                }
            }
        }
    }

    fn words(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if self.line.is_empty() {
            self.line.push_str(&"  ".repeat(self.depth.min(DEEPEST)));
        } else if !std::mem::replace(&mut self.has_text, true) {
            self.line.push_str(": ");
        }
        push_words(&mut self.line, text);
    }
}

impl Reader<'_> {
    /// Handles the next event. It returns nothing, because the lines are kept in the reader.
    pub(super) fn read(&mut self, event: &CallbackEvent<'_>, span: Span<usize>) -> Option<Infallible> {
        match *event {
            CallbackEvent::OpenStartTag { name } => {
                self.end_line(span.start);
                self.name = self.source_of(name, span);
                self.line.push_str(&"  ".repeat(self.depth.min(DEEPEST)));
                self.line.push_str(&self.name);
                self.depth += 1;
            }
            CallbackEvent::AttributeName { name } => {
                let name = self.source_of(name, span);
                self.line.push(' ');
                self.line.push_str(&name);
            }
            CallbackEvent::AttributeValue { value } => {
                self.line.push('=');
                self.line.push_str(&shortened(&String::from_utf8_lossy(value)));
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                self.depth = self.depth.saturating_sub(usize::from(self_closing));
            }
            CallbackEvent::EndTag { .. } => {
                self.end_line(span.end);
                self.depth = self.depth.saturating_sub(1);
            }
            CallbackEvent::String { value } => self.text(&String::from_utf8_lossy(value), span.end),
            // The HTML tokenizer reads a CDATA section as a comment.
            CallbackEvent::Comment { value } => match value.strip_prefix(b"[CDATA[") {
                Some(value) => {
                    self.text(&String::from_utf8_lossy(value.strip_suffix(b"]]").unwrap_or(value)), span.end);
                }
                None => self.lines.push_reports(span.end, &String::from_utf8_lossy(value)),
            },
            CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
        None
    }

    /// Ends the text and returns its lines.
    pub(super) fn into_lines(mut self) -> Lines {
        self.end_line(self.text.len());
        self.lines
    }
}
