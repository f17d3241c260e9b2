//! The settings that a plan is made with: budget, counter, form of references, and urgency.

use super::deadline::Deadline;
use crate::budget::Budget;
use crate::ledger::Counting;
use crate::store::{MarkStyle, Places, Reference, Storing};
use crate::wire::Format;

/// States if a compaction waits for the high mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Nothing happens below the high mark.
    Soft,
    /// Compacts down to the low mark in any case.
    Hard,
}

/// The form of references, and the rule for which references in a text are believed.
#[derive(Debug, Clone, Copy)]
pub struct References<'a> {
    /// States if there is a store.
    pub storing: Storing,
    /// See [`Reference::salted`].
    pub salt: u64,
    /// References that the store does not have: a mark with one of these is text like any other.
    pub distrusted: &'a [Reference],
    /// Form of the marks around shortened content.
    pub style: MarkStyle,
    /// Place where the store keeps content, for styles that name it.
    pub places: Option<&'a dyn Places>,
}

/// States if the tool loop at the end of the conversation may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastLoop {
    /// The model goes on with its newest calls and results.
    Stays,
    /// It starts again from its request, with a note about what it did.
    MayGo,
}

/// Everything that is needed to make a plan from a working copy.
#[derive(Debug)]
pub struct Rendering<'a> {
    /// The wire format of the conversation.
    pub format: Format,
    /// Budget that the working copy fits.
    pub budget: Budget,
    /// Size that the plan aims at: the budget, or less if the plan before this one came out too large.
    pub aim: Budget,
    /// Tokens kept free when lines of removed content are chosen, because their frames may be longer than estimated.
    pub margin: usize,
    /// Token counter.
    pub counter: Counting<'a>,
    /// Form of the references.
    pub referring: References<'a>,
    /// When it must be done.
    pub deadline: Deadline<'a>,
    /// States if the low mark was requested at once. If so, a plan that misses it says so.
    pub urgency: Urgency,
    /// States if the tool loop at the end may be removed.
    pub last_loop: LastLoop,
}
