//! Keeps the answers of a provider or a person together with the requests that they answer.
//!
//! A step that the provider runs and its outcome may be messages apart. Anthropic refuses an outcome without its step:
//! "Each `advisor_tool_result` block must have a corresponding `server_tool_use` block before it"
//! (<https://github.com/anthropics/claude-code/issues/62885>). A call that waits for a person's approval is not an open
//! call. The AI SDK accepts a call that was decided on. For a call without a decision it requires a result as soon as
//! the conversation continues (`convertToLanguageModelPrompt` in
//! <https://github.com/vercel/ai/tree/main/packages/ai/src/prompt>). An output may answer a call that OpenAI has
//! stored, of which the list has only a reference (<https://platform.openai.com/docs/api-reference/responses/create>).

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::message::{Conversation, Message, Part, Role, Text, Tie};

/// The ties found so far as a conversation is read.
#[derive(Default)]
pub(super) struct Bound<'a> {
    /// The message of each step that the provider has begun.
    begun: HashMap<&'a str, usize, RandomState>,
    /// The message of each request for approval, and its call if the host must answer the call.
    asked: HashMap<&'a str, (usize, Option<usize>), RandomState>,
    decided: Vec<usize>,
    /// The newest message of the model, and the number of stored items that it refers to and nothing has answered.
    stored: (usize, usize),
    bonds: Vec<(usize, usize)>,
}

impl<'a> Bound<'a> {
    /// Begins a message.
    pub(super) fn enter(&mut self, message: usize, role: Role) {
        if role == Role::Assistant {
            self.stored = (message, 0);
        }
    }

    /// Adds a tie in that message. `call_of` returns the newest open call with an id.
    pub(super) fn see<T: Text>(&mut self, message: usize, tie: &'a Tie<T>, call_of: impl Fn(&str) -> Option<usize>) {
        match tie {
            Tie::Begins(id) => {
                self.begun.insert(id, message);
            }
            Tie::Ends(id) => {
                if let Some(first) = self.begun.remove(&**id) {
                    self.bind(first, message);
                }
            }
            Tie::Asks { request, call } => {
                self.asked.insert(request, (message, call_of(call)));
            }
            Tie::Decides { request } => {
                if let Some((first, call)) = self.asked.get(&**request).copied() {
                    self.bind(first, message);
                    self.decided.extend(call);
                }
            }
            Tie::Refers => self.stored.1 += 1,
            Tie::Replaces | Tie::Reasoned => {}
        }
    }

    /// True if a result in that message, whose call is not in the list, may answer a call that the provider has stored.
    pub(super) fn is_of_stored_call(&mut self, message: usize) -> bool {
        let (first, references) = self.stored;
        if references == 0 {
            return false;
        }
        self.stored.1 -= 1;
        self.bind(first, message);
        true
    }

    fn bind(&mut self, first: usize, last: usize) {
        if first < last {
            self.bonds.push((first, last));
        }
    }

    /// Returns the calls that wait for approval, or were decided on. O(messages) if there are any. `orphans` are
    /// sorted.
    pub(super) fn waiting<T: Text>(&self, conversation: &Conversation<T>, orphans: &[(usize, usize)]) -> Vec<usize> {
        if self.asked.is_empty() {
            return Vec::new();
        }
        let speaks = |index: &usize| {
            speaks(&conversation.messages[*index], |part| orphans.binary_search(&(*index, part)).is_ok())
        };
        let last_word = (0..conversation.messages.len()).rfind(speaks).unwrap_or_default();
        let undecided = self.asked.values().filter(|(message, _)| *message >= last_word);
        undecided.filter_map(|(_, call)| *call).chain(self.decided.iter().copied()).collect()
    }

    /// Returns pairs of messages that are bound together, sorted by the first.
    pub(super) fn into_bonds(mut self) -> Vec<(usize, usize)> {
        self.bonds.sort_unstable();
        self.bonds
    }
}

/// True if a message continues the conversation. Decisions and results only answer what was asked before.
fn speaks<T>(message: &Message<T>, is_orphan: impl Fn(usize) -> bool) -> bool {
    let decisions = message.ties.iter().filter(|(_, tie)| matches!(tie, Tie::Decides { .. }));
    let mut decisions = decisions.map(|(at, _)| *at).peekable();
    let mut answers = |(at, part): (usize, &Part<T>)| {
        let decides = decisions.next_if_eq(&at).is_some();
        decides || matches!(part, Part::Result { .. }) && !is_orphan(at)
    };
    match message.role {
        Role::System => false,
        Role::Assistant => true,
        Role::User => !message.parts.iter().enumerate().all(&mut answers),
    }
}
