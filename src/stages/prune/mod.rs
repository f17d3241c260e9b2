//! Leaves a line in place of superseded content, which the model also sees elsewhere or in a newer form.
//!
//! | what | superseded by |
//! |---|---|
//! | an output | the same output further down |
//! | a failed call | the same call that went well |
//! | what was read of a file | a later read of as much or more, or calls that wrote or replaced all its lines |
//! | a listing or a status | the same asked again |
//! | what a call replaced in a file | what it wrote |
//! | what a call wrote into a file | a later read of it, or later edits; at the last level the file |
//! | reasoning of turns that are over | the answer after it, where the provider does without |
//!
//! The newest copy of an output stays, and so does recent content. Without a store only content that is further down
//! goes by itself; the rest waits for a level that takes it.

mod answers;
mod arguments;
mod failures;
mod files;
mod listings;
mod reasoning;
mod repeats;

use crate::edit::ItemPlace;
use crate::message::Text;
use crate::policy::{Level, Superseded as May};
use crate::store::Storing;
use crate::working_copy::{Proposal, Successor, WorkingCopy};
use answers::CallAnswer;

/// The share of the recent messages that is always current work: its reasoning and its calls stay.
const WORKED_ON: f64 = 0.5;

/// An output that is superseded.
#[derive(Debug)]
struct SupersededOutput {
    place: ItemPlace,
    by: Successor,
    form: RemainingForm,
}

/// The form in which the model still sees superseded content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RemainingForm {
    /// Word for word.
    Copied,
    /// The content as it is now, or its later form.
    Newer,
    /// Not at all: it is in the file.
    Elsewhere,
}

/// Proposes removals of superseded content, the least loss first, and the older first. O(length).
pub(super) fn propose<T: Text>(working_copy: &WorkingCopy<'_, T>, level: &Level, storing: Storing) -> Vec<Proposal> {
    let recent = working_copy.recent_start(level.recent);
    let goes = |form: RemainingForm| match form {
        RemainingForm::Copied => true,
        // Without a store, the content is lost.
        RemainingForm::Newer => storing == Storing::On || level.superseded >= May::Newer,
        // The next edits have to quote written text: on recorded coding sessions, removing it at once made a fifth of
        // the later edits impossible.
        RemainingForm::Elsewhere => level.superseded == May::Elsewhere,
    };
    let answers = answers::of(working_copy);
    let files = files::Files::of(&answers);
    let mut outputs = repeats::find(working_copy);
    outputs.extend(failures::find(&answers));
    outputs.extend(files.superseded());
    outputs.extend(listings::find(&answers));
    let outputs = outputs.into_iter().filter(|found| found.place.message < recent && goes(found.form));
    let settled = working_copy.recent_start(level.recent.max(WORKED_ON));
    let reasoning = reasoning::find(working_copy).filter(|message| *message < settled && goes(RemainingForm::Newer));
    let dropped = reasoning.map(|message| Proposal::DropReasoning { message });
    let written = arguments::find(working_copy, &answers, &files, goes);
    let written = written.into_iter().filter(|found| found.message < settled);
    let outputs = outputs.map(|SupersededOutput { place, by, .. }| Proposal::Supersede { place, by });
    outputs.chain(dropped).chain(written.map(arguments::LongArguments::proposal)).collect()
}

/// A word for a successor, without what marks are read by.
fn successor(message: usize, named: &str) -> Successor {
    Successor { message, named: named.into() }
}

/// The answers, newest first.
fn newest_first<'b, 'a>(answers: &'b [CallAnswer<'a>]) -> impl Iterator<Item = (usize, &'b CallAnswer<'a>)> {
    answers.iter().enumerate().rev()
}
