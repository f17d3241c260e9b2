//! Proposals of stages, and the accepted ones.

use std::ops::Range;
use std::sync::Arc;

use super::pruning::{ArgumentsRewrite, Successor};
use crate::edit::ItemPlace;
use crate::policy::StageName;

/// An accepted shortening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The stage that proposed it.
    pub stage: StageName,
    /// Number of tokens of the text that are kept.
    pub keep: usize,
    /// Tokens of the item before the cut.
    pub tokens_before: usize,
    /// The content that supersedes the item. Nothing of the item is then kept.
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
    /// Keep nothing of an item, because later content supersedes it.
    Supersede {
        /// The item.
        place: ItemPlace,
        /// The later content.
        by: Successor,
    },
    /// Replace texts in the arguments of a call by lines.
    Rewrite {
        /// Its message.
        message: usize,
        /// Its index in that message.
        part: usize,
        /// The texts.
        rewriting: ArgumentsRewrite,
    },
    /// Keep only this many tokens of a text. Of a note about earlier removals, keep only the first line.
    Condense {
        /// The message.
        message: usize,
        /// The text's index in that message.
        part: usize,
        /// Tokens to keep.
        keep: usize,
    },
    /// Remove all reasoning of a message, because providers refuse a part of it.
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
