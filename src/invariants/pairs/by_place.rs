//! Matches results without an id to calls.
//!
//! Gemini distinguishes calls of one tool only by their order
//! (<https://ai.google.dev/gemini-api/docs/function-calling>): in a message, the earlier call is answered first.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;

use super::CallSite;
use crate::message::{Conversation, Part, Text};

/// Open calls, message by message, oldest first.
#[derive(Default)]
struct WaitingCalls(Vec<(usize, VecDeque<usize>)>);

impl WaitingCalls {
    fn push(&mut self, message: usize, call: usize) {
        match self.0.last_mut() {
            Some((of, calls)) if *of == message => calls.push_back(call),
            _ => self.0.push((message, VecDeque::from([call]))),
        }
    }

    /// Removes and returns the oldest open call of the newest message that has one. A call may be in two such lists,
    /// and is skipped if it was answered from the other. So each list visits a call once.
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

/// The open calls, for results without an id: first calls without an id, then calls with one, because Google's own SDK
/// answers calls that have an id with results that have none.
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

    /// Removes and returns the call that a result with this tool name answers; the name may be missing.
    pub(super) fn take(&mut self, tool: Option<&str>, calls: &[CallSite]) -> Option<usize> {
        [&mut self.bare, &mut self.named].into_iter().find_map(|open| match tool {
            Some(tool) => open.of_tool.get_mut(tool)?.take(calls),
            None => open.of_any.take(calls),
        })
    }
}
