//! The text that an agent needed of the history before a cut, and the share of it that a context has.

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

/// Everything that the turns after a cut used of the history before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    anchors: Vec<NeededAnchor>,
    edits: Vec<Edit>,
    futures: Futures,
    thread: Thread,
}

/// An anchor that was needed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NeededAnchor {
    anchor: String,
    /// The keys of the lines that it is in, in the results before the cut.
    lines: Vec<u128>,
}

/// The share of the needed text that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Retention {
    /// Anchors that were needed.
    pub needed: usize,
    /// Those of them that are in the context.
    pub anchors: usize,
    /// Those of them that are there in a line that a tool had printed.
    pub lines: usize,
    /// Those of them that are in the context or in what is stored and referred to in it.
    pub recoverable: usize,
    /// Edits that were made of what was known before the cut.
    pub edits: usize,
    /// Those of them of which every old line that was known is in the context.
    pub grounded: usize,
    /// Help of the context in predicting the agent's next steps.
    #[serde(flatten)]
    pub help: Help,
    /// The share of the agent's current work that is left.
    #[serde(flatten)]
    pub continuity: Continuity,
}

impl Needs {
    /// Finds what the messages from `cut` on needed of those before it. O(length of all texts).
    ///
    /// An anchor is needed if a tool was the first to bring it up, before the cut, and the first to bring it up after the
    /// cut is the model, in words or in the arguments of a call: it used the anchor without being shown it again. The
    /// model's reasoning brings up nothing after the cut, for it is not always recorded.
    ///
    /// An edit is a call whose arguments hold text to be replaced. Of that, the lines count which stood in results or
    /// arguments before the cut, and in no result between the cut and the edit; an edit without such lines does not count.
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

    /// Measures the share of it in `context`, and in `stored`, the texts that the context refers to.
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

    /// The anchors that are not in `context`, in the order in which they were used.
    pub fn lost(&self, context: &Coverage) -> Vec<&str> {
        let names = self.anchors.iter().map(|needed| needed.anchor.as_str());
        names.filter(|anchor| !context.has_anchor(anchor)).collect()
    }
}

/// The anchors that a tool introduced before the cut and the model was the first to repeat after it.
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

/// Gives each needed anchor the lines of results that it is in.
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
