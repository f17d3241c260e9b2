//! The messages that a summary replaces.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::body::parts;
use crate::invariants::Pairs;
use crate::message::{Conversation, Item, Part, Role, Text};
use crate::store::noted_removals;

/// The removed messages, and the notes about messages that were removed before.
#[derive(Debug)]
pub struct Removed<'a, T> {
    /// The conversation with these messages.
    pub conversation: &'a Conversation<T>,
    /// Ranges of the messages.
    pub ranges: Vec<Range<usize>>,
    /// The summaries in older notes that are removed too; empty if there are none.
    pub previous: String,
    /// The lines in those notes, a digest for each.
    pub lines: Vec<String>,
    /// The call of each result, as message and part.
    calls: HashMap<(usize, usize), (usize, usize), RandomState>,
}

/// One content of a message.
#[derive(Debug)]
pub enum Content<'a, T> {
    /// Words that are not a note of ullage.
    Words(&'a T),
    /// The model's reasoning, if it is readable.
    Thought(&'a T),
    /// A call.
    Call {
        /// The tool.
        tool: &'a T,
        /// Its arguments, as JSON.
        input: &'a T,
    },
    /// The result of a call.
    Result {
        /// The tool; empty if unknown.
        tool: &'a str,
        /// The message and part of the call, if known.
        call: Option<(usize, usize)>,
        /// The items of the result.
        items: &'a [Item<T>],
        /// The whole result.
        result: &'a Part<T>,
    },
    /// Content without words, such as a picture.
    Thing(&'static str),
}

impl<'a, T: Text> Removed<'a, T> {
    /// Returns the messages in `ranges`, which are in order, with the content of the older notes whose bodies are
    /// `older`. O(parts of the conversation).
    pub fn of<'b>(
        conversation: &'a Conversation<T>,
        ranges: Vec<Range<usize>>,
        older: impl Iterator<Item = &'b str>,
    ) -> Removed<'a, T> {
        let (summaries, lines): (Vec<&str>, Vec<&str>) = older.map(parts).unzip();
        let non_empty = |texts: Vec<&'b str>| texts.into_iter().filter(|text| !text.is_empty());
        let previous = non_empty(summaries).collect::<Vec<_>>().join("\n\n");
        let lines = non_empty(lines).map(str::to_owned).collect();
        let pairs = Pairs::of(conversation);
        let calls = pairs.calls().iter().filter_map(|call| Some((call.result?, (call.message, call.part)))).collect();
        Removed { conversation, ranges, previous, lines, calls }
    }

    /// Returns the indices of the removed messages, in order.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.ranges.iter().cloned().flatten()
    }

    /// Returns every message of the conversation, and true for the removed ones.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        let mut ranges = self.ranges.iter().peekable();
        (0..self.conversation.messages.len()).map(move |message| {
            while ranges.next_if(|range| range.end <= message).is_some() {}
            (message, ranges.peek().is_some_and(|range| range.contains(&message)))
        })
    }

    /// Returns the role of a message.
    pub fn role(&self, message: usize) -> Role {
        self.conversation.messages[message].role
    }

    /// Returns the contents of a message, each with the index of its part.
    pub fn contents(&self, message: usize) -> impl Iterator<Item = (usize, Content<'a, T>)> + '_ {
        let conversation = self.conversation;
        let parts = conversation.messages[message].parts.iter().enumerate();
        parts.filter_map(move |(index, part)| {
            let content = match part {
                Part::Text(text) if noted_removals(text).is_some() || text.trim().is_empty() => return None,
                Part::Text(text) => Content::Words(text),
                Part::Reasoning { text, .. } => Content::Thought(text),
                Part::Call { name, input, .. } => Content::Call { tool: name, input },
                result @ Part::Result { tool, items, .. } => {
                    let call = self.calls.get(&(message, index)).copied();
                    let named = call.and_then(|(message, part)| match &conversation.messages[message].parts[part] {
                        Part::Call { name, .. } => Some(&**name),
                        _ => None,
                    });
                    Content::Result { tool: named.or(tool.as_deref()).unwrap_or_default(), call, items, result }
                }
                Part::Media(_) => Content::Thing("a picture, sound or film"),
                Part::Document(_) => Content::Thing("a file"),
                Part::CachePoint | Part::Opaque(_) => return None,
            };
            Some((index, content))
        })
    }
}
