//! Changes to messages, as data.

use serde::{Deserialize, Serialize};

use crate::message::{Conversation, Part, Role};

/// One step of rewriting a conversation; indices are those of its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<'a> {
    /// Give the message back as it is.
    Keep {
        /// Index of the message.
        message: usize,
    },
    /// Give the message back with some of its content changed.
    Edit {
        /// Index of the message.
        message: usize,
        /// New texts for items of tool results, and for texts, each the item 0 of its part: part, item, text.
        items: Vec<(usize, usize, &'a str)>,
        /// Parts that go away.
        drop: Vec<usize>,
        /// Texts to add at the end.
        append: Vec<&'a str>,
        /// Calls whose arguments change, by their parts.
        calls: Vec<(usize, &'a Arguments)>,
    },
    /// A recombined message.
    Compose {
        /// The message whose other fields it takes; a new one has none.
        like: Option<usize>,
        /// The role.
        role: Role,
        /// The content.
        pieces: Vec<Piece>,
    },
    /// A message that was not there before.
    Insert {
        /// The role.
        role: Role,
        /// Its one text.
        text: &'a str,
    },
}

/// The arguments of a call with other texts in some places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arguments {
    /// All of them as they read afterwards: what a host that keeps them as a text gets.
    pub input: String,
    /// The new texts, in the order of their places.
    pub texts: Vec<(Vec<Step>, String)>,
}

/// One step on the way to a value inside of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The field of this name.
    Field(String),
    /// An element of a list.
    Element(usize),
}

impl Step {
    /// The name of the field; `None` for an element of a list.
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
        /// Its place there.
        part: usize,
        /// Its new id, for a call or a result that gets one.
        id: Option<String>,
        /// The tool that a result names from now on, where it named another one.
        tool: Option<String>,
    },
    /// A text.
    Text {
        /// The text.
        text: String,
        /// The result that these words were, by its message and its place there; none for what is made up.
        of: Option<(usize, usize)>,
    },
    /// A picture that is an item of a result, as a part of its own.
    Picture {
        /// The message of the result.
        message: usize,
        /// Its place there.
        part: usize,
        /// The item.
        item: usize,
    },
    /// A result that says that there is none.
    Answer {
        /// The message of the call.
        message: usize,
        /// Its place there.
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
    /// True if it is a tool result, one that is made up included.
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
    /// In the order of their places.
    pub(super) items: Vec<(usize, usize, &'a str)>,
    /// In order.
    pub(super) drop: Vec<usize>,
    pub(super) append: &'a [&'a str],
    /// In the order of their parts.
    pub(super) calls: Vec<(usize, &'a Arguments)>,
}

impl<'a> EntryEdit<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.drop.is_empty() && self.append.is_empty() && self.calls.is_empty()
    }

    /// The same with other texts at the end.
    pub(super) fn appending(&self, append: &'a [&'a str]) -> EntryEdit<'a> {
        EntryEdit { items: self.items.clone(), drop: self.drop.clone(), append, calls: self.calls.clone() }
    }

    /// The new arguments of the call that is a part, if it gets any.
    pub(super) fn arguments_of(&self, part: usize) -> Option<&'a Arguments> {
        let first = self.calls.partition_point(|(at, _)| *at < part);
        self.calls.get(first).filter(|(at, _)| *at == part).map(|(_, arguments)| *arguments)
    }

    /// The new texts for the items of a part, in their order.
    pub(super) fn of_part(&self, part: usize) -> Vec<(usize, &'a str)> {
        let first = self.items.partition_point(|(at, ..)| *at < part);
        let here = self.items[first..].iter().take_while(|(at, ..)| *at == part);
        here.map(|(_, item, text)| (*item, *text)).collect()
    }

    /// The new text of a part that is a text, if it gets one.
    pub(super) fn text_of(&self, part: usize) -> Option<&'a str> {
        self.of_part(part).into_iter().find(|(item, _)| *item == 0).map(|(_, text)| text)
    }

    /// True if a part goes away.
    pub(super) fn drops(&self, part: usize) -> bool {
        self.drop.binary_search(&part).is_ok()
    }
}
