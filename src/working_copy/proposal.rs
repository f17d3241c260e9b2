//! Proposals of stages, and the accepted parts of them.

use std::ops::Range;
use std::sync::Arc;

use super::pruning::{ArgumentsRewrite, Successor};
use crate::edit::ItemPlace;
use crate::policy::StageName;

/// A shortening that the planner accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The stage that proposed it.
    pub stage: StageName,
    /// Tokens of the text that are kept.
    pub keep: usize,
    /// Tokens of the item before.
    pub tokens_before: usize,
    /// The content that supersedes the item; then nothing of the item is kept.
    pub superseded_by: Option<Arc<str>>,
}

/// A proposal of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposal {
    /// Keep only this many tokens of an item.
    Shorten {
        /// The item.
        place: ItemPlace,
        /// Tokens of its text to keep.
        keep: usize,
    },
    /// Keep nothing of an item, because of something that came later.
    Supersede {
        /// The item.
        place: ItemPlace,
        /// The later content.
        by: Successor,
    },
    /// Put lines in place of texts in the arguments of a call.
    Rewrite {
        /// Its message.
        message: usize,
        /// Its place there.
        part: usize,
        /// The texts.
        rewriting: ArgumentsRewrite,
    },
    /// Keep only this many tokens of a text, and only the first line of a note about earlier removals.
    Condense {
        /// The message.
        message: usize,
        /// The text's place there.
        part: usize,
        /// Tokens to keep.
        keep: usize,
    },
    /// Keep no reasoning of a message: some of it alone is refused.
    DropReasoning {
        /// The message.
        message: usize,
    },
    /// Remove whole groups of messages.
    Remove {
        /// The messages.
        messages: Range<usize>,
    },
}
