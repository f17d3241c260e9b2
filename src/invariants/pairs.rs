//! A tool call and its result stay together.
//!
//! Anthropic rejects a `tool_result` whose `tool_use` is not in the message before it, and a `tool_use` that the next
//! message does not answer (<https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use>). Bedrock
//! Converse passes the same rules on. OpenAI says that an assistant message with `tool_calls` "must be followed by tool
//! messages responding to each" of them (<https://github.com/BerriAI/litellm/issues/28995>). Parallel calls are
//! answered together, in one message, and have different ids: "`tool_use` ids must be unique"
//! (<https://github.com/BerriAI/litellm/issues/23510>). Gemini's calls need no ids. Its results follow in the order of
//! the calls (<https://ai.google.dev/gemini-api/docs/function-calling>), so position and tool show which call a result
//! answers.

mod by_place;
mod violations;

pub use violations::{waiting_from, waits};

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::CutPoints;
use super::ties::Bound;
use crate::message::{Conversation, Part, Text};
use by_place::ByPlace;

/// A tool call, and the place of its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// Message of the call.
    pub message: usize,
    /// Block of the call in its message.
    pub part: usize,
    /// Message and block of its result; `None` for an open call.
    pub result: Option<(usize, usize)>,
    /// The kind of answer that it waits for, if it has none.
    pub awaits: Awaits,
}

/// The kind of answer that a call without a result waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaits {
    /// Its result. Without it, no provider continues.
    Result,
    /// A person's approval, or the approved tool. This is not a fault until the conversation continues without either.
    Approval,
}

/// Every call of a conversation, matched with its result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    calls: Vec<CallSite>,
    orphans: Vec<(usize, usize)>,
    repeated: Vec<(usize, usize)>,
    /// Messages that are bound together for other reasons than a call and its result; the later message is second.
    bonds: Vec<(usize, usize)>,
}

impl Pairs {
    /// Matches calls and results. A result with an id belongs to the newest open call with that id, so an id may be
    /// used again after its answer. A result without an id belongs to the oldest open call without one, in the newest
    /// message that has such calls. If the result names a tool, only calls of that tool count. O(parts).
    pub fn of<T: Text>(conversation: &Conversation<T>) -> Pairs {
        let mut pairs = Pairs::default();
        // Created for the first result without an id.
        let mut by_place: Option<ByPlace<'_>> = None;
        // The newest open call of each id, and for each call the older open call with the same id.
        let mut newest: HashMap<&str, usize, RandomState> = HashMap::default();
        let mut older: Vec<Option<usize>> = Vec::new();
        let mut bound = Bound::default();
        for (message, content) in conversation.messages.iter().enumerate() {
            bound.enter(message, content.role);
            let mut ties = content.ties.iter().peekable();
            for (part, block) in content.parts.iter().enumerate() {
                while let Some((_, tie)) = ties.next_if(|(at, _)| *at == part) {
                    bound.see(message, tie, |id| newest.get(id).copied());
                }
                match block {
                    Part::Call { id, name, .. } => {
                        let call = pairs.calls.len();
                        let mut waiting = None;
                        if !id.is_empty() {
                            waiting = newest.insert(id, call);
                            let same = |other: usize| {
                                pairs.calls[other].message == message && pairs.calls[other].result.is_none()
                            };
                            if waiting.is_some_and(same) {
                                pairs.repeated.push((message, part));
                            }
                        }
                        older.push(waiting);
                        if let Some(by_place) = &mut by_place {
                            by_place.push(id, name, message, call);
                        }
                        pairs.calls.push(CallSite { message, part, result: None, awaits: Awaits::Result });
                    }
                    Part::Result { id, tool, .. } if id.is_empty() => {
                        let by_place = by_place.get_or_insert_with(|| ByPlace::of(conversation, &pairs.calls));
                        match by_place.take(tool.as_deref(), &pairs.calls) {
                            Some(call) => pairs.calls[call].result = Some((message, part)),
                            None => pairs.orphans.push((message, part)),
                        }
                    }
                    Part::Result { id, .. } => {
                        let mut found = newest.remove(&**id);
                        // A result without an id may have answered it.
                        while let Some(call) = found.filter(|call| pairs.calls[*call].result.is_some()) {
                            found = older[call];
                        }
                        match found {
                            Some(call) => {
                                pairs.calls[call].result = Some((message, part));
                                if let Some(waiting) = older[call] {
                                    newest.insert(id, waiting);
                                }
                            }
                            None if bound.is_of_stored_call(message) => {}
                            None => pairs.orphans.push((message, part)),
                        }
                    }
                    _ => {}
                }
            }
        }
        for call in bound.waiting(conversation, &pairs.orphans) {
            pairs.calls[call].awaits = Awaits::Approval;
        }
        pairs.bonds = bound.into_bonds();
        pairs
    }

    /// Returns the message and part of every result without a call.
    pub fn orphans(&self) -> &[(usize, usize)] {
        &self.orphans
    }

    /// Returns the message and part of every call with the id of an earlier open call in its message.
    pub fn repeated(&self) -> &[(usize, usize)] {
        &self.repeated
    }

    /// Returns every call, oldest first.
    pub fn calls(&self) -> &[CallSite] {
        &self.calls
    }

    pub(super) fn forbid(&self, cuts: &mut CutPoints) {
        // The farthest message that is bound to one before the position. No cut may be between them.
        let mut reach = 0;
        let mut calls = self.calls.iter().peekable();
        let mut bonds = self.bonds.iter().peekable();
        for position in 1..cuts.legal.len() {
            while let Some(call) = calls.next_if(|call| call.message < position) {
                reach = reach.max(call.result.map_or(0, |(message, _)| message));
            }
            while let Some((_, message)) = bonds.next_if(|(first, _)| *first < position) {
                reach = reach.max(*message);
            }
            if reach >= position {
                cuts.forbid(position);
            }
        }
    }
}
