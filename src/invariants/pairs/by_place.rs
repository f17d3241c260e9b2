//! Matches results without an id to calls.
//!
//! Gemini tells calls of one tool apart by their order alone
//! (<https://ai.google.dev/gemini-api/docs/function-calling>): in a message, the earlier call is answered first.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;

use super::CallSite;
use crate::message::{Conversation, Part, Text};

/// Calls that wait for their results: message by message, oldest first.
#[derive(Default)]
struct WaitingCalls(Vec<(usize, VecDeque<usize>)>);

impl WaitingCalls {
    fn push(&mut self, message: usize, call: usize) {
        match self.0.last_mut() {
            Some((of, calls)) if *of == message => calls.push_back(call),
            _ => self.0.push((message, VecDeque::from([call]))),
        }
    }

    /// Takes the oldest open call of the newest message that has one. A call may wait in two places, and is passed over
    /// where it was answered from the other: every call is looked at once in each.
    fn take(&mut self, calls: &[CallSite]) -> Option<usize> {
        while let Some((_, waiting)) = self.0.last_mut() {
            while let Some(call) = waiting.pop_front() {
                if calls[call].result.is_none() {
                    return Some(call);
                }
            }
            self.0.pop();
        }
        None
    }
}

/// The calls that are not answered yet, for results without an id: first those without one, then those with, since
/// Google's own SDK answers calls that have an id with results that have none.
#[derive(Default)]
pub(super) struct ByPlace<'a> {
    bare: OpenCall<'a>,
    named: OpenCall<'a>,
}

#[derive(Default)]
struct OpenCall<'a> {
    of_tool: HashMap<&'a str, WaitingCalls, RandomState>,
    of_any: WaitingCalls,
}

impl<'a> ByPlace<'a> {
    pub(super) fn of<T: Text>(conversation: &'a Conversation<T>, calls: &[CallSite]) -> ByPlace<'a> {
        let mut open = ByPlace::default();
        for (index, call) in calls.iter().enumerate().filter(|(_, call)| call.result.is_none()) {
            if let Part::Call { id, name, .. } = &conversation.messages[call.message].parts[call.part] {
                open.push(id, name, call.message, index);
            }
        }
        open
    }

    pub(super) fn push(&mut self, id: &str, tool: &'a str, message: usize, call: usize) {
        let open = if id.is_empty() { &mut self.bare } else { &mut self.named };
        open.of_tool.entry(tool).or_default().push(message, call);
        open.of_any.push(message, call);
    }

    /// Takes the call that a result answers which names this tool, or none.
    pub(super) fn take(&mut self, tool: Option<&str>, calls: &[CallSite]) -> Option<usize> {
        [&mut self.bare, &mut self.named].into_iter().find_map(|open| match tool {
            Some(tool) => open.of_tool.get_mut(tool)?.take(calls),
            None => open.of_any.take(calls),
        })
    }
}
