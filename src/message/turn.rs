//! The order of the parts of a message, if its format has none.

use super::Part;

/// When a part has its turn in a message of Chat, which says reasoning, words and calls in fields of their own and so
/// forgets which came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// A tool result.
    Result,
    /// The model's reasoning.
    Reasoning,
    /// Words, pictures, files.
    Content,
    /// A tool call.
    Call,
    /// Said by few formats, and nothing to the model.
    Mark,
}

impl<T> Part<T> {
    /// When the part has its turn.
    pub fn turn(&self) -> Turn {
        match self {
            Part::Result { .. } => Turn::Result,
            Part::Reasoning { .. } => Turn::Reasoning,
            Part::Text(_) | Part::Media(_) | Part::Document(_) | Part::Opaque(_) => Turn::Content,
            Part::Call { .. } => Turn::Call,
            Part::CachePoint => Turn::Mark,
        }
    }
}
