//! The order of a message's parts, if its format has none.

use super::Part;

/// The position of a part in a message of Chat. Chat has separate fields for reasoning, words and calls, and so loses
/// their order.
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
    /// A mark that few formats have and the model does not see.
    Mark,
}

impl<T> Part<T> {
    /// Returns the position of the part.
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
