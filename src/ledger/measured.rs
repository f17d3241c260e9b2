//! The token counts of a conversation.

use std::ops::Range;

use super::digest::{Beginning, mix};

/// The tokens of a conversation, and digests of the counted messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Measured {
    pub(super) messages: Vec<MeasuredMessage>,
    pub(super) parts: Vec<MeasuredPart>,
    pub(super) items: Vec<usize>,
    pub(super) beginning: Beginning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MeasuredMessage {
    pub total: usize,
    /// Tokens before scaling.
    pub unscaled: usize,
    pub first_part: usize,
    pub digest: u128,
    pub text_digest: u128,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MeasuredPart {
    pub total: usize,
    pub first_item: usize,
}

impl Measured {
    /// Returns the tokens of everything, including overhead.
    pub fn total(&self) -> usize {
        self.messages.iter().map(|message| message.total).sum()
    }

    /// Returns the tokens of the whole conversation before scaling.
    pub fn unscaled(&self) -> usize {
        self.messages.iter().map(|message| message.unscaled).sum()
    }

    /// Returns a key of the conversation.
    pub fn beginning(&self) -> Beginning {
        self.beginning
    }

    /// Returns the tokens of a message, including its overhead and that of its parts.
    pub fn message(&self, message: usize) -> usize {
        self.messages[message].total
    }

    /// Returns the tokens of a message before scaling.
    pub fn message_unscaled(&self, message: usize) -> usize {
        self.messages[message].unscaled
    }

    /// Returns the tokens of a part of a message, including its overhead.
    pub fn part(&self, message: usize, part: usize) -> usize {
        self.parts[self.messages[message].first_part + part].total
    }

    /// Returns the tokens of an item of a tool result.
    pub fn item(&self, message: usize, part: usize, item: usize) -> usize {
        self.items[self.item_index(message, part, item)]
    }

    /// Returns the range of a message's tool-result items among all items of the conversation.
    pub fn items_of(&self, message: usize) -> Range<usize> {
        let first = |message: usize| match self.messages.get(message).map(|message| message.first_part) {
            Some(part) if part < self.parts.len() => self.parts[part].first_item,
            _ => self.items.len(),
        };
        first(message)..first(message + 1)
    }

    /// Returns the index of a tool-result item among all items of the conversation.
    pub fn item_index(&self, message: usize, part: usize, item: usize) -> usize {
        self.parts[self.messages[message].first_part + part].first_item + item
    }

    /// Returns the number of tool-result items in the conversation.
    pub fn item_count(&self) -> usize {
        self.items.len()
    }

    /// Returns a digest of some messages: of every counted text, and of the order of roles and parts.
    pub fn digest(&self, messages: Range<usize>) -> u128 {
        self.messages[messages].iter().fold(0, |digest, message| mix(digest, message.digest))
    }

    /// Returns a digest of some messages that is the same in every format. Cache marks, and the order of parts with
    /// separate fields, do not change it.
    pub fn text_digest(&self, messages: Range<usize>) -> u128 {
        self.messages[messages].iter().fold(0, |digest, message| mix(digest, message.text_digest))
    }
}
