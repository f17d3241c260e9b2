//! What a plan is made with: the budget, the counter, how references are made, and when it must be done.

use super::deadline::Deadline;
use crate::budget::Budget;
use crate::ledger::Counting;
use crate::store::{MarkStyle, Places, Reference, Storing};
use crate::wire::Format;

/// Whether a compaction waits for the high mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Nothing happens below the high mark.
    Soft,
    /// Down to the low mark, whatever the fill.
    Hard,
}

/// How references are made, and which of those that stand in a text are believed.
#[derive(Debug, Clone, Copy)]
pub struct Referring<'a> {
    /// Whether there is a store.
    pub storing: Storing,
    /// See [`Reference::salted`].
    pub salt: u64,
    /// References that the store does not have: a mark with one of these is text like any other.
    pub distrusted: &'a [Reference],
    /// How what is left is framed.
    pub style: MarkStyle,
    /// Where the store keeps things, for styles that say so.
    pub places: Option<&'a dyn Places>,
}

/// What the plan of a working copy is made with.
#[derive(Debug)]
pub struct Rendering<'a> {
    /// The wire format of the conversation.
    pub format: Format,
    /// What the working copy fits.
    pub budget: Budget,
    /// What is aimed at: the same, or less where the plan before this one came out too large.
    pub aim: Budget,
    /// Tokens that lines of what goes leave free, since their frames can come out longer than estimated.
    pub margin: usize,
    /// What counts.
    pub counter: Counting<'a>,
    /// How references are made.
    pub referring: Referring<'a>,
    /// When it must be done.
    pub deadline: Deadline<'a>,
    /// Whether the low mark was asked for at once, so that missing it is worth a word.
    pub urgency: Urgency,
}
