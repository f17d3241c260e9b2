//! A conversation as the engine sees it: roles and parts over text borrowed from the host's own messages.
//!
//! `T` is the text: `Cow<str>` over JSON values, a borrowed Python string over Python objects. Content that the engine
//! does not understand is an opaque part, which is counted and kept whole.

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
    /// Returns its [`digest_of`]. O(length), unless the text knows it.
    fn digest(&self) -> u128 {
        digest_of(self)
    }
}

impl Text for Cow<'_, str> {}
impl Text for String {}
impl Text for &str {}

/// Returns a digest of a text, the same on every machine. O(length) at memory speed.
pub fn digest_of(text: &str) -> u128 {
    xxh3_128(text.as_bytes())
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions above the conversation.
    System,
    /// The user, or tool results sent as the user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Returns the role that speaks next.
    #[must_use]
    pub fn other(self) -> Role {
        match self {
            Role::User => Role::Assistant,
            Role::System | Role::Assistant => Role::User,
        }
    }

    /// Returns the name in wire formats.
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// The signature of a reasoning block. A block that a provider signed must stay with its tool loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signature {
    /// The block has a signature, or is redacted and so opaque.
    Signed,
    /// Plain text.
    Unsigned,
}

/// The outcome of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Outcome {
    /// The result says that the call did what it was asked.
    Succeeded,
    /// The result says that the call failed.
    Failed,
    /// The result says neither.
    #[default]
    Unknown,
}

impl Outcome {
    /// Returns the public name.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
            Outcome::Unknown => "unknown",
        }
    }
}

/// A file: its text, if it is available, and media that are counted by size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<T> {
    /// Its name and description. Of a text file, also its text.
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
    /// Text.
    Text(T),
    /// The model's reasoning.
    Reasoning {
        /// The text, or the encrypted data of a redacted block.
        text: T,
        /// Its signature.
        signature: Signature,
    },
    /// A tool call.
    Call {
        /// Identifier that the result repeats; empty if the format has none.
        id: T,
        /// Name of the tool.
        name: T,
        /// Arguments, as compact JSON.
        input: T,
    },
    /// The result of a tool call.
    Result {
        /// Identifier of the call; empty if the format has none. Then position and tool show which call it answers.
        id: T,
        /// Name of the tool, if the format has it.
        tool: Option<T>,
        /// The outcome that the format states in a field of its own.
        outcome: Outcome,
        /// The pieces of the result, in order.
        items: Vec<Item<T>>,
    },
    /// A picture, a sound or a video.
    Media(Media),
    /// A file.
    Document(Document<T>),
    /// The end of a prefix that the provider caches. It costs nothing.
    CachePoint,
    /// Something else, as compact JSON. It is kept whole.
    Opaque(T),
}

/// Protection of a message from any change.
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
    /// Its protection from changes.
    pub pin: Pin,
    /// Ties of its parts to other parts, with the index of the part. Few messages have any.
    pub ties: Vec<(usize, Tie<T>)>,
}

impl<T: Text> Item<T> {
    /// Returns the text and its kind; `None` for media and files.
    pub fn text(&self) -> Option<(&str, TextKind)> {
        match self {
            Item::Text(text) => Some((text, TextKind::ToolOutput)),
            Item::Json(text) | Item::Opaque(text) => Some((text, TextKind::Json)),
            Item::Media(_) | Item::Document(_) => None,
        }
    }
}

impl<T> Part<T> {
    /// Calls `each` with every counted text, in order, with its kind.
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
    /// Calls `each` with every counted text. A file is as often a table, code or a log as prose, so its text counts as
    /// tool output.
    fn texts<'a>(&'a self, mut each: impl FnMut(&'a T, TextKind)) {
        self.texts.iter().for_each(|text| each(text, TextKind::ToolOutput));
    }
}

impl<T> Message<T> {
    /// Calls `each` with every counted text, in order, with its kind.
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
/// Here, all results to the calls of one message are one message, and so is everything that a model says in one answer,
/// however many entries of the caller's list they take. So decisions about a conversation are the same in every format.
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

    /// Returns the first entry of a message in the caller's list.
    pub fn entry(&self, message: usize) -> usize {
        self.messages[message].span.entries().start
    }

    /// Returns the message of an entry of the caller's list.
    pub fn message_of(&self, entry: usize) -> Option<usize> {
        let index = self.messages.partition_point(|message| message.span.entries().end <= entry);
        (index < self.messages.len()).then_some(index)
    }
}
