//! The calls of a conversation that have an answer, read.

use crate::calls::{self, Call};
use crate::draft::Draft;
use crate::edit::Place;
use crate::message::{Item, Part, Text, digest_of};
use crate::store::{Storing, is_superseded, marked};

/// Bytes at the beginning of an output in which it says that it failed.
const HEAD: usize = 160;

/// How outputs begin that say that a call failed, in lower case.
const FAILURES: [&str; 14] = [
    "error",
    "<tool_use_error>",
    "<error",
    "{\"error\"",
    "{\"is_error\":true",
    "traceback (most recent call last)",
    "exception",
    "fatal:",
    "failed",
    "failure",
    "command failed",
    "invalid",
    "exit code",
    "no such",
];

/// What the first line of a short output of a shell holds where the command failed.
const SHELL_FAILURES: [&str; 5] =
    ["command not found", "no such file or directory", "permission denied", "not found", "cannot "];

/// An output longer than this says more than that it failed.
const SHORT: usize = 400;

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It did what it was asked.
    Fine,
    /// It says that it failed.
    Failed,
}

/// How much of the output is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// All of it, and this compaction will leave less.
    Going,
    /// What an earlier compaction left.
    Rest,
    /// Nothing: an earlier compaction found it superseded.
    Gone,
}

/// A call, and what it returned.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    /// Message and part of the call.
    pub call: (usize, usize),
    /// Its tool.
    pub tool: &'a str,
    /// What it asks, tool and arguments together.
    pub question: u128,
    /// What it says about files.
    pub said: Call,
    /// Where the output stands.
    pub place: Place,
    /// The output, without the mark of an earlier compaction.
    pub text: &'a str,
    /// How much of it that is.
    pub extent: Extent,
    /// What came of it.
    pub outcome: Outcome,
}

/// The answers of messages that stay, oldest first: those of one text. O(length of calls).
pub(super) fn of<'a, T: Text>(draft: &Draft<'a, T>) -> Vec<Answer<'a>> {
    let messages = &draft.conversation.messages;
    let read = |site: &crate::invariants::CallSite| {
        let (message, part) = site.result?;
        if draft.is_removed(message) || draft.is_removed(site.message) {
            return None;
        }
        let Part::Call { name, input, .. } = &messages[site.message].parts[site.part] else { return None };
        let Part::Result { items, .. } = &messages[message].parts[part] else { return None };
        let [Item::Text(text) | Item::Json(text)] = &items[..] else { return None };
        let left = marked(text, Storing::On, &[]);
        let place = Place { message, part, item: 0 };
        let (text, extent) = match left {
            _ if is_superseded(text) => ("", Extent::Gone),
            Some(marked) => (marked.body, Extent::Rest),
            None if draft.is_cut(place) => (&**text, Extent::Going),
            None => (&**text, Extent::Whole),
        };
        Some(Answer {
            call: (site.message, site.part),
            tool: name,
            question: digest_of(name) ^ input.digest().rotate_left(1),
            said: calls::read(input),
            place,
            text,
            extent,
            outcome: outcome(text),
        })
    };
    draft.pairs.calls().iter().filter_map(read).collect()
}

/// What an output says of itself. O(1).
fn outcome(text: &str) -> Outcome {
    let head = text.trim_start();
    let head = head[..head.floor_char_boundary(HEAD)].to_lowercase();
    let line = head.lines().next().unwrap_or_default();
    let begins = FAILURES.iter().any(|failure| line.starts_with(failure)) && !line.starts_with("exit code 0");
    let shell = || text.len() <= SHORT && SHELL_FAILURES.iter().any(|failure| line.contains(failure));
    if begins || shell() { Outcome::Failed } else { Outcome::Fine }
}
