//! Replaces superseded content by a line. The model sees the same content elsewhere, or in a newer form.
//!
//! | content | superseded by | |---|---| | an output | the same output later | | a failed call | the same call that
//! succeeded | | lines that were read from a file | a later read of the same or more lines, or calls that wrote or
//! replaced all of them | | a listing or a status | the same listing or status later | | text that a call replaced in a
//! file | the text that it wrote | | text that a call wrote into a file | a later read of it, or later edits; at the
//! last level, the file | | reasoning of finished turns | the answer after it, if the provider does not need the
//! reasoning |
//!
//! The newest copy of an output stays, and so does recent content. Without a store only content that appears again
//! later is removed at once; the rest waits for a level that allows it.

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

/// The share of the recent messages that is always current work: their reasoning and calls are kept.
const WORKED_ON: f64 = 0.5;

/// A superseded output.
#[derive(Debug)]
struct SupersededOutput {
    place: ItemPlace,
    by: Successor,
    form: RemainingForm,
}

/// The form in which superseded content is still visible to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RemainingForm {
    /// Word for word.
    Copied,
    /// In its present or a later form.
    Newer,
    /// Not visible: it is in the file.
    Elsewhere,
}

/// Proposes to remove superseded content, least loss first, and older content first. O(length).
pub(super) fn propose<T: Text>(working_copy: &WorkingCopy<'_, T>, level: &Level, storing: Storing) -> Vec<Proposal> {
    let recent = working_copy.recent_start(level.recent);
    let goes = |form: RemainingForm| match form {
        RemainingForm::Copied => true,
        // Without a store, the content is lost.
        RemainingForm::Newer => storing == Storing::On || level.superseded >= May::Newer,
        // The next edits must quote written text. On recorded coding sessions, removing it at once made a fifth of the
        // later edits impossible (`benches/retention.py`, edits).
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

/// Names the successor, without characters that end a mark.
fn successor(message: usize, named: &str) -> Successor {
    Successor { message, named: named.into() }
}

/// Returns the answers, newest first.
fn newest_first<'b, 'a>(answers: &'b [CallAnswer<'a>]) -> impl Iterator<Item = (usize, &'b CallAnswer<'a>)> {
    answers.iter().enumerate().rev()
}
