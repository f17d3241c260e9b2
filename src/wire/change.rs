//! Changes to messages, as data.

use serde::{Deserialize, Serialize};

use crate::message::{Conversation, Part, Role};

/// One step of rewriting a conversation. Indices are those of its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<'a> {
    /// Returns the message unchanged.
    Keep {
        /// Index of the message.
        message: usize,
    },
    /// Returns the message with some of its content changed.
    Edit {
        /// Index of the message.
        message: usize,
        /// New texts as part, item and text. They replace items of tool results, or texts, which are item 0 of their
        /// part.
        items: Vec<(usize, usize, &'a str)>,
        /// Removed parts.
        drop: Vec<usize>,
        /// Texts to append.
        append: Vec<&'a str>,
        /// Calls with changed arguments, by part.
        calls: Vec<(usize, &'a Arguments)>,
    },
    /// A recombined message.
    Compose {
        /// The message whose other fields it takes; `None` for a new one.
        like: Option<usize>,
        /// The role.
        role: Role,
        /// The content.
        pieces: Vec<Piece>,
    },
    /// A new message.
    Insert {
        /// The role.
        role: Role,
        /// Its text.
        text: &'a str,
    },
}

/// The arguments of a call with some texts changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arguments {
    /// The new arguments as text, for hosts that keep them as text.
    pub input: String,
    /// The new texts with their paths, in order.
    pub texts: Vec<(Vec<Step>, String)>,
}

/// One step of the path to a nested value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The field with this name.
    Field(String),
    /// An element of a list.
    Element(usize),
}

impl Step {
    /// Returns the name of the field; `None` for an element of a list.
    pub fn name(&self) -> Option<&str> {
        match self {
            Step::Field(name) => Some(name),
            Step::Element(_) => None,
        }
    }
}

/// A piece of a composed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A part of the conversation.
    Part {
        /// Its message.
        message: usize,
        /// Its index in that message.
        part: usize,
        /// The new id of a call or a result, if it gets one.
        id: Option<String>,
        /// The new tool name of a result, if it changes.
        tool: Option<String>,
    },
    /// A text.
    Text {
        /// The text.
        text: String,
        /// The result whose words these were, by message and part; `None` for new text.
        of: Option<(usize, usize)>,
    },
    /// A picture from a result, as a part of its own.
    Picture {
        /// The message of the result.
        message: usize,
        /// Its index in that message.
        part: usize,
        /// The item.
        item: usize,
    },
    /// A result that says that there is none.
    Answer {
        /// The message of the call.
        message: usize,
        /// Its index in that message.
        part: usize,
        /// Its identifier.
        id: String,
        /// Name of its tool.
        tool: String,
        /// The text.
        text: String,
    },
}

impl Piece {
    /// True if it is a tool result, including a new one.
    pub fn is_result<T>(&self, conversation: &Conversation<T>) -> bool {
        match self {
            Piece::Part { message, part, .. } => {
                matches!(conversation.messages[*message].parts[*part], Part::Result { .. })
            }
            Piece::Answer { .. } => true,
            Piece::Text { .. } | Piece::Picture { .. } => false,
        }
    }

    /// True if it is a tool call.
    pub fn is_call<T>(&self, conversation: &Conversation<T>) -> bool {
        match self {
            Piece::Part { message, part, .. } => {
                matches!(conversation.messages[*message].parts[*part], Part::Call { .. })
            }
            Piece::Answer { .. } | Piece::Text { .. } | Piece::Picture { .. } => false,
        }
    }
}

/// The edits of one entry of the list. Parts are counted from the first one in the entry.
#[derive(Debug, Default)]
pub(super) struct EntryEdit<'a> {
    /// New texts, in the order of their places.
    pub(super) items: Vec<(usize, usize, &'a str)>,
    /// Removed parts, in order.
    pub(super) drop: Vec<usize>,
    pub(super) append: &'a [&'a str],
    /// New arguments, in the order of their parts.
    pub(super) calls: Vec<(usize, &'a Arguments)>,
}

impl<'a> EntryEdit<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.drop.is_empty() && self.append.is_empty() && self.calls.is_empty()
    }

    /// Returns the edit with other texts to append.
    pub(super) fn appending(&self, append: &'a [&'a str]) -> EntryEdit<'a> {
        EntryEdit { items: self.items.clone(), drop: self.drop.clone(), append, calls: self.calls.clone() }
    }

    /// Returns the new arguments of the call in a part, if it gets any.
    pub(super) fn arguments_of(&self, part: usize) -> Option<&'a Arguments> {
        let first = self.calls.partition_point(|(at, _)| *at < part);
        self.calls.get(first).filter(|(at, _)| *at == part).map(|(_, arguments)| *arguments)
    }

    /// Returns the new texts for the items of a part, in order.
    pub(super) fn of_part(&self, part: usize) -> Vec<(usize, &'a str)> {
        let first = self.items.partition_point(|(at, ..)| *at < part);
        let here = self.items[first..].iter().take_while(|(at, ..)| *at == part);
        here.map(|(_, item, text)| (*item, *text)).collect()
    }

    /// Returns the new text of a text part, if it gets one.
    pub(super) fn text_of(&self, part: usize) -> Option<&'a str> {
        self.of_part(part).into_iter().find(|(item, _)| *item == 0).map(|(_, text)| text)
    }

    /// True if a part is removed.
    pub(super) fn drops(&self, part: usize) -> bool {
        self.drop.binary_search(&part).is_ok()
    }
}
