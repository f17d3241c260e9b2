//! The text before a cut that the agent needed afterwards, and the share of it in a context.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use serde::Serialize;

use super::coverage::Coverage;
use super::edits::{Edit, edits};
use super::help::{Futures, Help};
use super::pieces::{Voice, line_key, lines, pieces};
use super::thread::{Continuity, Thread};
use crate::anchors::anchors;
use crate::message::{Conversation, Message, Text};

/// Everything from the history before a cut that the turns after it used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    anchors: Vec<NeededAnchor>,
    edits: Vec<Edit>,
    futures: Futures,
    thread: Thread,
}

/// A needed anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NeededAnchor {
    anchor: String,
    /// The keys of the lines that contain it, in results before the cut.
    lines: Vec<u128>,
}

/// The share of the needed text in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Retention {
    /// Number of needed anchors.
    pub needed: usize,
    /// Number of needed anchors in the context.
    pub anchors: usize,
    /// Number of needed anchors in the context, in a line that a tool printed.
    pub lines: usize,
    /// Number of needed anchors in the context, or in stored content that it refers to.
    pub recoverable: usize,
    /// Number of edits that need lines from before the cut.
    pub edits: usize,
    /// Number of those edits whose known lines are all in the context.
    pub grounded: usize,
    /// The context's help in predicting the agent's next steps.
    #[serde(flatten)]
    pub help: Help,
    /// The share of the agent's current work in the context.
    #[serde(flatten)]
    pub continuity: Continuity,
}

impl Needs {
    /// Finds what the messages from `cut` on needed of those before it. O(length of all texts).
    ///
    /// An anchor is needed if a tool mentioned it first, before the cut, and the model is the first to mention it after
    /// the cut, in words or in the arguments of a call. Then the model used the anchor without seeing it again. The
    /// model's reasoning after the cut does not count, because it is not always recorded.
    ///
    /// An edit is a call whose arguments contain text to be replaced. Lines of that text count if they are in results
    /// or arguments before the cut, and in no result between the cut and the edit. An edit without such lines does not
    /// count.
    pub fn of<T: Text>(conversation: &Conversation<T>, cut: usize) -> Needs {
        let (before, after) = conversation.messages.split_at(cut.min(conversation.messages.len()));
        let mut anchors: Vec<NeededAnchor> = used_again(before, after)
            .into_iter()
            .map(|anchor| NeededAnchor { anchor: anchor.to_owned(), lines: Vec::new() })
            .collect();
        add_lines(&mut anchors, before);
        let mut whole = Coverage::default();
        for message in before {
            whole.add_message(message);
        }
        let futures = Futures::of(after, whole.text());
        Needs { anchors, edits: edits(before, after), futures, thread: Thread::of(before) }
    }

    /// Measures how much of it is in `context`, and in `stored`, the texts that the context refers to.
    pub fn kept_in(&self, context: &Coverage, stored: &Coverage) -> Retention {
        let anchors = |is: &dyn Fn(&NeededAnchor) -> bool| self.anchors.iter().filter(|needed| is(needed)).count();
        let here = |needed: &NeededAnchor| context.has_anchor(&needed.anchor);
        Retention {
            needed: self.anchors.len(),
            anchors: anchors(&here),
            lines: anchors(&|needed| here(needed) && needed.lines.iter().any(|line| context.has_line(*line))),
            recoverable: anchors(&|needed| here(needed) || stored.has_anchor(&needed.anchor)),
            edits: self.edits.len(),
            grounded: self.edits.iter().filter(|edit| edit.is_grounded(context)).count(),
            help: self.futures.help(context.text()),
            continuity: self.thread.kept_in(context.text()),
        }
    }

    /// Returns the needed anchors that are not in `context`, in the order of their use.
    pub fn lost(&self, context: &Coverage) -> Vec<&str> {
        let names = self.anchors.iter().map(|needed| needed.anchor.as_str());
        names.filter(|anchor| !context.has_anchor(anchor)).collect()
    }
}

/// Returns the anchors that a tool mentioned first before the cut, and the model mentioned first after it.
fn used_again<'a, T: Text>(before: &'a [Message<T>], after: &'a [Message<T>]) -> Vec<&'a str> {
    let mut introduced: HashMap<&str, Voice, RandomState> = HashMap::default();
    for piece in before.iter().flat_map(pieces) {
        anchors(piece.text, |anchor| {
            introduced.entry(&piece.text[anchor.range]).or_insert(piece.voice);
        });
    }
    let mut seen: HashSet<&str, RandomState> = HashSet::default();
    let mut used = Vec::new();
    for piece in after.iter().flat_map(pieces).filter(|piece| piece.voice != Voice::Aside) {
        anchors(piece.text, |anchor| {
            let anchor = &piece.text[anchor.range];
            if introduced.get(anchor) == Some(&Voice::Returned) && seen.insert(anchor) && piece.voice == Voice::Used {
                used.push(anchor);
            }
        });
    }
    used
}

/// Adds to each needed anchor the lines of results that contain it.
fn add_lines<T: Text>(needed: &mut [NeededAnchor], before: &[Message<T>]) {
    let places: HashMap<String, usize, RandomState> =
        needed.iter().enumerate().map(|(place, needed)| (needed.anchor.clone(), place)).collect();
    for piece in before.iter().flat_map(pieces).filter(|piece| piece.voice == Voice::Returned) {
        lines(piece, |line| {
            let Some(key) = line_key(line) else { return };
            anchors(line, |anchor| {
                if let Some(place) = places.get(&line[anchor.range]) {
                    needed[*place].lines.push(key);
                }
            });
        });
    }
}
