//! A conversation during its repair: messages as lists of pieces.

use crate::media::MediaKind;
use crate::message::{Conversation, Item, Part, Role, Text};
use crate::wire::{Change, Piece};

/// A message during its repair.
#[derive(Debug, Clone)]
pub(super) struct RepairedMessage {
    /// The original message.
    pub(super) like: Option<usize>,
    pub(super) role: Role,
    pub(super) pieces: Vec<Piece>,
    pub(super) changed: bool,
}

impl RepairedMessage {
    /// Returns the unchanged message.
    pub(super) fn of<T>(conversation: &Conversation<T>, message: usize) -> RepairedMessage {
        let content = &conversation.messages[message];
        let pieces = (0..content.parts.len()).map(|part| Piece::Part { message, part, id: None, tool: None }).collect();
        RepairedMessage { like: Some(message), role: content.role, pieces, changed: false }
    }

    pub(super) fn new(role: Role, pieces: Vec<Piece>) -> RepairedMessage {
        RepairedMessage { like: None, role, pieces, changed: true }
    }

    /// Keeps only the pieces that match.
    pub(super) fn retain(&mut self, keep: impl Fn(&Piece) -> bool) {
        let before = self.pieces.len();
        self.pieces.retain(keep);
        self.changed |= self.pieces.len() != before;
    }

    pub(super) fn into_change<'a>(self) -> Change<'a> {
        match self {
            RepairedMessage { like: Some(message), changed: false, .. } => Change::Keep { message },
            RepairedMessage { like, role, pieces, .. } => Change::Compose { like, role, pieces },
        }
    }
}

/// Returns the part of a piece.
pub(super) fn part_of<'a, T>(conversation: &'a Conversation<T>, piece: &Piece) -> Option<&'a Part<T>> {
    match piece {
        Piece::Part { message, part, .. } => Some(&conversation.messages[*message].parts[*part]),
        Piece::Text { .. } | Piece::Picture { .. } | Piece::Answer { .. } => None,
    }
}

/// Returns the original position of a piece.
pub(super) fn place_of(piece: &Piece) -> Option<(usize, usize)> {
    match piece {
        Piece::Part { message, part, .. } => Some((*message, *part)),
        Piece::Text { .. } | Piece::Picture { .. } | Piece::Answer { .. } => None,
    }
}

/// Returns the texts of a result without a call as one text; `None` if it has none.
pub(super) fn words_of<T: Text>(part: &Part<T>) -> Option<String> {
    let Part::Result { items, .. } = part else { return None };
    let texts: Vec<&str> = items
        .iter()
        .flat_map(|item| match item {
            Item::Text(text) | Item::Json(text) | Item::Opaque(text) => std::slice::from_ref(text),
            Item::Document(document) => &document.texts,
            Item::Media(_) => &[],
        })
        .map(|text| &**text)
        .filter(|text| !text.trim().is_empty())
        .collect();
    if texts.is_empty() { None } else { Some(texts.join("\n")) }
}

/// Returns the items of a result that are pictures.
pub(super) fn pictures_of<T>(part: &Part<T>) -> Vec<usize> {
    let Part::Result { items, .. } = part else { return Vec::new() };
    let pictures = items.iter().enumerate().filter(|(_, item)| match item {
        Item::Media(media) => media.kind == MediaKind::Image,
        _ => false,
    });
    pictures.map(|(item, _)| item).collect()
}
