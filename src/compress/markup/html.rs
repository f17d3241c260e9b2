//! Converts HTML to lines: headings, items, table rows, links with their targets.

use std::convert::Infallible;
use std::fmt::Write;

use html5gum::Span;
use html5gum::emitters::callback::CallbackEvent;

use super::lines::{Lines, TextPart, push_words, text_lines};
use crate::compress::json::shortened;

/// Elements that begin and end a line.
const BLOCKS: [&[u8]; 40] = [
    b"address",
    b"article",
    b"aside",
    b"blockquote",
    b"body",
    b"br",
    b"button",
    b"caption",
    b"dd",
    b"details",
    b"dialog",
    b"div",
    b"dl",
    b"dt",
    b"fieldset",
    b"figcaption",
    b"figure",
    b"footer",
    b"form",
    b"header",
    b"hr",
    b"html",
    b"legend",
    b"li",
    b"main",
    b"menu",
    b"nav",
    b"ol",
    b"option",
    b"p",
    b"pre",
    b"search",
    b"section",
    b"select",
    b"summary",
    b"table",
    b"tbody",
    b"tfoot",
    b"thead",
    b"ul",
];

/// Elements whose text is for machines. Only a program's failure reports in it are kept.
const HIDDEN: [&[u8]; 2] = [b"script", b"style"];

/// Reads the tags of HTML.
pub(super) struct Reader<'a> {
    text: &'a str,
    lines: Lines,
    line: String,
    /// Number of lines since the last heading.
    turn: usize,
    hidden: bool,
    preformatted: bool,
    /// The open tag and attribute, and the values that are needed of them.
    tag: Vec<u8>,
    attribute: Vec<u8>,
    link: Option<String>,
    heading: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn of(text: &'a str) -> Reader<'a> {
        Reader {
            text,
            lines: Lines::default(),
            line: String::new(),
            turn: 0,
            hidden: false,
            preformatted: false,
            tag: Vec::new(),
            attribute: Vec::new(),
            link: None,
            heading: false,
        }
    }

    fn end_line(&mut self, end: usize) {
        let text = self.line.trim_matches([' ', '|']);
        // An item or heading mark without text says nothing.
        if !text.trim_start_matches(['#', '-', ' ']).is_empty() {
            if self.heading {
                self.lines.push_heading(end, text);
                self.turn = 0;
            } else {
                self.lines.push(end, self.line.trim_end_matches([' ', '|']), self.turn);
                self.turn += 1;
            }
        }
        self.line.clear();
        self.heading = false;
    }

    fn open(&mut self, name: &[u8], at: usize) {
        if let Some(level) = heading(name) {
            self.end_line(at);
            self.line.push_str(&"#".repeat(level));
            self.line.push(' ');
            self.heading = true;
            return;
        }
        match name {
            b"li" => {
                self.end_line(at);
                self.line.push_str("- ");
            }
            b"tr" => self.end_line(at),
            b"td" | b"th" if !self.line.trim().is_empty() => self.line.push_str(" | "),
            b"pre" => {
                self.end_line(at);
                self.preformatted = true;
            }
            // A block that opens an item or a cell does not begin a new line.
            name if is_block(name) && !matches!(self.line.trim(), "-" | "") && !self.line.ends_with("| ") => {
                self.end_line(at);
            }
            _ => {}
        }
        self.hidden = HIDDEN.contains(&name);
    }

    fn close(&mut self, name: &[u8], at: usize) {
        self.hidden = false;
        match name {
            b"a" => self.end_link(),
            b"pre" => {
                self.end_line(at);
                self.preformatted = false;
            }
            b"tr" | b"title" => self.end_line(at),
            name if heading(name).is_some() => self.end_line(at),
            // The cell continues.
            b"p" | b"div" if self.line.contains(" | ") => push_words(&mut self.line, " "),
            name if is_block(name) => self.end_line(at),
            _ => {}
        }
    }

    fn end_link(&mut self) {
        let Some(href) = self.link.take() else { return };
        let leads_nowhere = href.is_empty() || href.starts_with(['#']) || href.starts_with("javascript:");
        if !leads_nowhere && !self.line.ends_with(&*href) {
            let behind = if self.line.ends_with(' ') { "" } else { " " };
            // Writing to a string cannot fail.
            let _ = write!(self.line, "{behind}({})", shortened(&href));
        }
    }

    fn attribute(&mut self, value: &str) {
        match (self.tag.as_slice(), self.attribute.as_slice()) {
            (b"a", b"href") => self.link = Some(value.trim().to_owned()),
            (b"img", b"alt") if !value.trim().is_empty() => {
                push_words(&mut self.line, &format!("[image: {}]", value.trim()));
            }
            _ => {}
        }
    }

    fn text(&mut self, value: &str, end: usize) {
        if self.hidden {
            self.lines.push_reports(end, value);
            return;
        }
        if !self.preformatted {
            for part in text_lines(value) {
                match part {
                    TextPart::Words(words) => push_words(&mut self.line, words),
                    TextPart::Report(report) => {
                        self.end_line(end);
                        push_words(&mut self.line, report);
                        self.end_line(end);
                    }
                }
            }
            return;
        }
        for (place, line) in value.split('\n').enumerate() {
            if place > 0 {
                self.end_line(end);
            }
            self.line.push_str(line);
        }
    }
}

impl Reader<'_> {
    /// Handles the next event. It returns nothing, because the lines are kept in the reader.
    pub(super) fn read(&mut self, event: &CallbackEvent<'_>, span: Span<usize>) -> Option<Infallible> {
        match *event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = name.to_vec();
                self.attribute.clear();
                if name == b"a" {
                    self.end_link();
                }
                self.open(name, span.start);
            }
            CallbackEvent::AttributeName { name } => self.attribute = name.to_vec(),
            CallbackEvent::AttributeValue { value } => self.attribute(&String::from_utf8_lossy(value)),
            CallbackEvent::EndTag { name } => self.close(name, span.end),
            CallbackEvent::String { value } => self.text(&String::from_utf8_lossy(value), span.end),
            CallbackEvent::Comment { value } => self.lines.push_reports(span.end, &String::from_utf8_lossy(value)),
            CallbackEvent::CloseStartTag { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
        None
    }

    /// Ends the text and returns its lines.
    pub(super) fn into_lines(mut self) -> Lines {
        self.end_line(self.text.len());
        self.lines
    }
}

fn is_block(name: &[u8]) -> bool {
    BLOCKS.binary_search(&name).is_ok()
}

/// Returns the level of a heading: `h1` to `h6`, or the title of the page.
fn heading(name: &[u8]) -> Option<usize> {
    match name {
        b"title" => Some(1),
        [b'h', level @ b'1'..=b'6'] => Some(usize::from(level - b'0')),
        _ => None,
    }
}
