//! Reads the answered calls of a conversation.

use std::cell::OnceCell;

use crate::calls::{self, Call};
use crate::edit::ItemPlace;
use crate::message::{Item, Outcome, Part, Text, digest_of};
use crate::store::{Storing, is_superseded, marked};
use crate::working_copy::WorkingCopy;

/// The part of the output that is in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// All of it, but this compaction will leave less.
    Going,
    /// The part that an earlier compaction kept.
    Rest,
    /// Nothing: an earlier compaction found it superseded.
    Gone,
}

/// A call and its output.
#[derive(Debug)]
pub(super) struct CallAnswer<'a> {
    /// Message and part of the call.
    pub call: (usize, usize),
    /// Its tool.
    pub tool: &'a str,
    /// A hash of the question: tool and arguments together.
    pub question: u128,
    /// The facts that the call states.
    pub said: Call,
    /// The place of the output.
    pub place: ItemPlace,
    /// The output, without the mark of an earlier compaction.
    pub text: &'a str,
    /// The part of the output that is in the conversation.
    pub extent: Extent,
    /// See [`CallAnswer::failed`]. Computed on demand: it takes longer than the rest, and few answers need it.
    failed: OnceCell<bool>,
}

impl CallAnswer<'_> {
    /// True if the output says that the call failed.
    pub(super) fn failed(&self) -> bool {
        *self.failed.get_or_init(|| calls::failed(self.text))
    }
}

/// Returns the answers in kept messages, oldest first, that consist of one text. O(length of calls).
pub(super) fn of<'a, T: Text>(working_copy: &WorkingCopy<'a, T>) -> Vec<CallAnswer<'a>> {
    let messages = &working_copy.conversation.messages;
    let read = |site: &crate::invariants::CallSite| {
        let (message, part) = site.result?;
        if working_copy.is_removed(message) || working_copy.is_removed(site.message) {
            return None;
        }
        let Part::Call { name, input, .. } = &messages[site.message].parts[site.part] else { return None };
        let Part::Result { outcome, items, .. } = &messages[message].parts[part] else { return None };
        let [Item::Text(text) | Item::Json(text)] = &items[..] else { return None };
        let left = marked(text, Storing::On, &[]);
        let place = ItemPlace { message, part, item: 0 };
        let (text, extent) = match left {
            _ if is_superseded(text) => ("", Extent::Gone),
            Some(marked) => (marked.body, Extent::Rest),
            None if working_copy.is_cut(place) => (&**text, Extent::Going),
            None => (&**text, Extent::Whole),
        };
        Some(CallAnswer {
            call: (site.message, site.part),
            tool: name,
            question: digest_of(name) ^ input.digest().rotate_left(1),
            said: calls::read(input),
            place,
            text,
            extent,
            failed: if *outcome == Outcome::Failed { OnceCell::from(true) } else { OnceCell::new() },
        })
    };
    working_copy.pairs.calls().iter().filter_map(read).collect()
}
