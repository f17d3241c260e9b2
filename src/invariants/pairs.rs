//! A tool call and its result stay together.
//!
//! Anthropic rejects a `tool_result` whose `tool_use` is not in the message before it, and a `tool_use` that the next
//! message does not answer (<https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use>);
//! Bedrock Converse passes the same rules on. Parallel calls are answered together, in one message.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{CutPoints, Violation};
use crate::message::{Conversation, Part, Role, Text};

/// A tool call and where its result is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// Message of the call.
    pub message: usize,
    /// Block of the call in its message.
    pub part: usize,
    /// Message and block of its result; `None` for a call that waits.
    pub result: Option<(usize, usize)>,
}

/// Every call of a conversation, matched with its result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    calls: Vec<CallSite>,
    orphans: Vec<(usize, usize)>,
    repeated: Vec<(usize, usize)>,
}

impl Pairs {
    /// Matches calls and results by id: a result belongs to the newest call with its id that is not answered yet, so
    /// an id that is used again after its answer is no mistake. O(parts).
    pub fn of<T: Text>(conversation: &Conversation<T>) -> Pairs {
        let mut pairs = Pairs::default();
        // The newest open call of each id, and for each call the older open one of the same id.
        let mut newest: HashMap<&str, usize, RandomState> = HashMap::default();
        let mut older: Vec<Option<usize>> = Vec::new();
        for (message, content) in conversation.messages.iter().enumerate() {
            for (part, block) in content.parts.iter().enumerate() {
                match block {
                    Part::Call { id, .. } => {
                        let waiting = newest.insert(id, pairs.calls.len());
                        if waiting.is_some_and(|call| pairs.calls[call].message == message) {
                            pairs.repeated.push((message, part));
                        }
                        older.push(waiting);
                        pairs.calls.push(CallSite { message, part, result: None });
                    }
                    Part::Result { id, .. } => match newest.remove(&**id) {
                        Some(call) => {
                            pairs.calls[call].result = Some((message, part));
                            if let Some(waiting) = older[call] {
                                newest.insert(id, waiting);
                            }
                        }
                        None => pairs.orphans.push((message, part)),
                    },
                    _ => {}
                }
            }
        }
        pairs
    }

    /// Every call, oldest first.
    pub fn calls(&self) -> &[CallSite] {
        &self.calls
    }

    /// The rules that the history breaks: a result without its call, a call that the next message does not answer (system
    /// messages in between aside), an id that two parallel calls share.
    pub fn violations<T: Text>(&self, conversation: &Conversation<T>) -> Vec<Violation> {
        let last = conversation.messages.len().saturating_sub(1);
        let id = |message: usize, part: usize| match &conversation.messages[message].parts[part] {
            Part::Call { id, .. } | Part::Result { id, .. } => id.to_string(),
            _ => String::new(), // OK because sites are only made from those two kinds.
        };
        let orphans = self.orphans.iter().map(|&(message, part)| Violation {
            rule: "result-follows-its-call",
            message,
            problem: format!("the tool result '{}' has no call before it", id(message, part)),
            remedy: "remove the result, or put its call back in front of it",
        });
        let repeated = self.repeated.iter().map(|&(message, part)| Violation {
            rule: "ids-are-unique",
            message,
            problem: format!("two calls of one message share the id '{}'", id(message, part)),
            remedy: "give each call an id of its own",
        });
        let unanswered =
            self.calls.iter().filter(|call| call.result.is_none() && call.message != last).map(|call| Violation {
                rule: "call-has-its-result",
                message: call.message,
                problem: format!("the tool call '{}' is never answered", id(call.message, call.part)),
                remedy: "add its result to the next message, or remove the call",
            });
        let late = self.calls.iter().filter(|call| {
            let between = |(result, _): (usize, usize)| call.message + 1..result;
            let speaks = |message: usize| conversation.messages[message].role != Role::System;
            call.result.is_some_and(|result| between(result).any(speaks))
        });
        let late = late.map(|call| Violation {
            rule: "result-follows-its-call",
            message: call.message,
            problem: format!("the tool call '{}' is not answered by the next message", id(call.message, call.part)),
            remedy: "put the result right behind the call",
        });
        let mut violations: Vec<Violation> = orphans.chain(repeated).chain(unanswered).chain(late).collect();
        violations.sort_by_key(|violation| violation.message);
        violations
    }

    pub(super) fn forbid(&self, cuts: &mut CutPoints) {
        // The farthest result seen so far for calls at or before the position: no cut may fall in between.
        let mut reach = 0;
        let mut calls = self.calls.iter().peekable();
        for position in 1..cuts.legal.len() {
            while let Some(call) = calls.next_if(|call| call.message < position) {
                reach = reach.max(call.result.map_or(0, |(message, _)| message));
            }
            if reach >= position {
                cuts.forbid(position);
            }
        }
    }
}
