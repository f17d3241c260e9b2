//! The settings of a plan: budget, counter, form of references, and urgency.

use super::deadline::Deadline;
use crate::budget::Budget;
use crate::ledger::Counting;
use crate::store::{MarkStyle, Places, Reference, Storing};
use crate::wire::Format;

/// The urgency of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// It waits for the high mark.
    Soft,
    /// It goes down to the low mark in any case.
    Hard,
}

/// The form of references, and the references in a text that are not trusted.
#[derive(Debug, Clone, Copy)]
pub struct References<'a> {
    /// `On` if there is a store.
    pub storing: Storing,
    /// See [`Reference::salted`].
    pub salt: u64,
    /// References that the store does not have. A mark with one of these is ordinary text.
    pub distrusted: &'a [Reference],
    /// Form of the marks around shortened content.
    pub style: MarkStyle,
    /// The places where the store keeps content, for styles that name them.
    pub places: Option<&'a dyn Places>,
}

/// The treatment of the tool loop at the end of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastLoop {
    /// It is kept, and the model continues with its newest calls and results.
    Stays,
    /// It may be removed, and the model starts again from its request, with a note about its work.
    MayGo,
}

/// Everything that is needed to make a plan from a working copy.
#[derive(Debug)]
pub struct Rendering<'a> {
    /// The wire format of the conversation.
    pub format: Format,
    /// Budget that the working copy fits.
    pub budget: Budget,
    /// The target size: the budget, or less if the previous plan came out too large.
    pub aim: Budget,
    /// Tokens kept free when lines of removed content are chosen, because their frames may be longer than estimated.
    pub margin: usize,
    /// Token counter.
    pub counter: Counting<'a>,
    /// Form of the references.
    pub referring: References<'a>,
    /// The time by which it must be done.
    pub deadline: Deadline<'a>,
    /// The urgency. With `Hard`, a plan that misses the low mark reports that.
    pub urgency: Urgency,
    /// The treatment of the tool loop at the end.
    pub last_loop: LastLoop,
}
