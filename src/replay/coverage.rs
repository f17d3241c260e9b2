//! The anchors and lines in some texts.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::pieces::{Piece, TextForm, Voice, line_key, lines, pieces, plain};
use crate::anchors::anchors;
use crate::message::{Message, Text, digest_of};

/// The anchors and lines of a context, or of content stored beside it.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    anchors: HashSet<u128, RandomState>,
    lines: HashSet<u128, RandomState>,
    /// All texts, in order.
    text: String,
}

impl Coverage {
    /// Adds a text. O(length).
    pub fn add_text(&mut self, text: &str) {
        self.add(Piece { voice: Voice::Given, form: TextForm::Plain, text });
    }

    /// Adds the texts of a message, except for ids of calls. O(length).
    pub fn add_message<T: Text>(&mut self, message: &Message<T>) {
        for piece in pieces(message) {
            self.add(piece);
        }
    }

    pub(super) fn add(&mut self, piece: Piece<'_>) {
        anchors(piece.text, |anchor| {
            self.anchors.insert(digest_of(&piece.text[anchor.range]));
        });
        self.add_lines(piece);
        plain(piece, &mut self.text);
    }

    /// Returns all texts.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn add_lines(&mut self, piece: Piece<'_>) {
        lines(piece, |line| self.lines.extend(line_key(line)));
    }

    /// True if the anchor is in the texts.
    pub(super) fn has_anchor(&self, anchor: &str) -> bool {
        self.anchors.contains(&digest_of(anchor))
    }

    /// True if a line with that key is in the texts.
    pub(super) fn has_line(&self, key: u128) -> bool {
        self.lines.contains(&key)
    }
}
