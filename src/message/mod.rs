//! A conversation as the engine sees it: roles and parts over text borrowed from the host's own messages.
//!
//! `T` is the text: `Cow<str>` over JSON values, a borrowed Python string over Python objects. What the engine does
//! not understand is an opaque part: counted and kept whole.

mod span;
mod tie;
mod turn;

use std::borrow::Cow;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

pub use span::{Span, Spans};
pub use tie::Tie;
pub use turn::Turn;

use crate::media::Media;
use crate::tokens::TextKind;

/// A text of a conversation, in the memory of the host or of the engine.
pub trait Text: Deref<Target = str> {
    /// A digest of its content: what [`digest_of`] says. O(length), unless the text knows it.
    fn digest(&self) -> u128 {
        digest_of(self)
    }
}

impl Text for Cow<'_, str> {}
impl Text for String {}
impl Text for &str {}

/// A digest of a text, the same on every machine. O(length) at memory speed.
pub fn digest_of(text: &str) -> u128 {
    xxh3_128(text.as_bytes())
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions that are above the conversation.
    System,
    /// The person, or the tool results that travel in their name.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The role that speaks next.
    #[must_use]
    pub fn other(self) -> Role {
        match self {
            Role::User => Role::Assistant,
            Role::System | Role::Assistant => Role::User,
        }
    }

    /// The name that wire formats use.
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// True if a provider signed a reasoning block; a signed one must travel with its tool loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signature {
    /// The block carries a signature, or is redacted and so opaque.
    Signed,
    /// Plain text.
    Unsigned,
}

/// The outcome of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Outcome {
    /// It says that it did what it was asked.
    Succeeded,
    /// It says that it failed.
    Failed,
    /// It says neither.
    #[default]
    Unknown,
}

impl Outcome {
    /// Its public name.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
            Outcome::Unknown => "unknown",
        }
    }
}

/// A file: its words, where they are at hand, and what is counted by its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<T> {
    /// Its name and what is said about it; of a text, the text.
    pub texts: Vec<T>,
    /// Its pages, or the pictures in it.
    pub media: Vec<Media>,
}

/// One piece of a tool result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item<T> {
    /// Text that the tool printed.
    Text(T),
    /// A structured result, as compact JSON.
    Json(T),
    /// A picture beside the text.
    Media(Media),
    /// A file beside the text.
    Document(Document<T>),
    /// Something else, as compact JSON.
    Opaque(T),
}

/// One content block of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<T> {
    /// Words.
    Text(T),
    /// The model's reasoning.
    Reasoning {
        /// The words, or the encrypted data of a redacted block.
        text: T,
        /// True if it may be parted from its tool loop.
        signature: Signature,
    },
    /// A tool call.
    Call {
        /// Identifier that the result repeats; empty where the format has none.
        id: T,
        /// Name of the tool.
        name: T,
        /// Arguments, as compact JSON.
        input: T,
    },
    /// The result of a tool call.
    Result {
        /// Identifier of the call; empty where the format has none, and place and tool say which call it answers.
        id: T,
        /// Name of the tool, where the format says it.
        tool: Option<T>,
        /// The outcome that the format states in a field of its own.
        outcome: Outcome,
        /// The pieces of the result, in order.
        items: Vec<Item<T>>,
    },
    /// A picture, sound or film.
    Media(Media),
    /// A file.
    Document(Document<T>),
    /// A place up to which the provider caches the prompt; costs nothing.
    CachePoint,
    /// Something else, as compact JSON: kept whole.
    Opaque(T),
}

/// True if a message may be touched at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pin {
    /// Never edited and never removed.
    Pinned,
    /// The stages decide.
    Free,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<T> {
    /// Its entries in the caller's list.
    pub span: Span,
    /// Its role.
    pub role: Role,
    /// Its content blocks, in order.
    pub parts: Vec<Part<T>>,
    /// True if it may be touched.
    pub pin: Pin,
    /// Ties of parts to other parts, by their positions; few messages have any.
    pub ties: Vec<(usize, Tie<T>)>,
}

impl<T: Text> Item<T> {
    /// Its text and the kind of that; `None` for media and files.
    pub fn text(&self) -> Option<(&str, TextKind)> {
        match self {
            Item::Text(text) => Some((text, TextKind::ToolOutput)),
            Item::Json(text) | Item::Opaque(text) => Some((text, TextKind::Json)),
            Item::Media(_) | Item::Document(_) => None,
        }
    }
}

impl<T> Part<T> {
    /// Gives every text that counts to `each`, in order, with its kind.
    pub fn texts<'a>(&'a self, mut each: impl FnMut(&'a T, TextKind)) {
        match self {
            Part::Text(text) | Part::Reasoning { text, .. } => each(text, TextKind::Prose),
            Part::Call { id, name, input } => {
                each(id, TextKind::Identifier);
                each(name, TextKind::Prose);
                each(input, TextKind::Json);
            }
            Part::Result { id, items, .. } => {
                each(id, TextKind::Identifier);
                for item in items {
                    match item {
                        Item::Text(text) => each(text, TextKind::ToolOutput),
                        Item::Json(text) | Item::Opaque(text) => each(text, TextKind::Json),
                        Item::Document(document) => document.texts(&mut each),
                        Item::Media(_) => {}
                    }
                }
            }
            Part::Document(document) => document.texts(each),
            Part::Opaque(text) => each(text, TextKind::Json),
            Part::Media(_) | Part::CachePoint => {}
        }
    }
}

impl<T> Document<T> {
    /// A file is as often a table, code or a log as prose, so it is as dense as the output of a tool.
    fn texts<'a>(&'a self, mut each: impl FnMut(&'a T, TextKind)) {
        self.texts.iter().for_each(|text| each(text, TextKind::ToolOutput));
    }
}

impl<T> Message<T> {
    /// Gives every text that counts to `each`, in order, with its kind.
    pub fn texts<'a>(&'a self, mut each: impl FnMut(&'a T, TextKind)) {
        self.parts.iter().for_each(|part| part.texts(&mut each));
    }
}

impl<T: Text> Message<T> {
    /// True if any of its parts is a tool result.
    pub fn has_result(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Result { .. }))
    }
}

/// A conversation, oldest message first.
///
/// All results to the calls of one message are one message here, and so is all that a model says in one go, however many
/// entries of the caller's list they take: what is decided of a conversation is the same in every format.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conversation<T> {
    /// The messages.
    pub messages: Vec<Message<T>>,
}

impl<T> Conversation<T> {
    /// Returns the entries of each message. O(messages).
    pub fn spans(&self) -> Spans {
        self.messages.iter().map(|message| message.span.clone()).collect()
    }

    /// The first entry of a message in the caller's list.
    pub fn entry(&self, message: usize) -> usize {
        self.messages[message].span.entries().start
    }

    /// The message that an entry of the caller's list belongs to.
    pub fn message_of(&self, entry: usize) -> Option<usize> {
        let index = self.messages.partition_point(|message| message.span.entries().end <= entry);
        (index < self.messages.len()).then_some(index)
    }
}
