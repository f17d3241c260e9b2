//! Calls are in the model's messages and results in the user's, and results come first in their message.
//!
//! Anthropic: "`tool_use` blocks can only be in `assistant` messages", "`tool_result` blocks can only be in `user`
//! messages", and in the content of a user message the results come before any text
//! (<https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use>). Bedrock Converse and Gemini
//! have the same rules. OpenAI's formats cannot express anything else.

use super::Violation;
use crate::message::{Conversation, Message, Part, Role, Text};

pub(super) fn of_speakers<T: Text>(conversation: &Conversation<T>) -> impl Iterator<Item = Violation> + '_ {
    conversation.messages.iter().enumerate().flat_map(|(message, content)| {
        content.parts.iter().enumerate().filter_map(move |(part, block)| {
            let (what, whose) = match block {
                Part::Call { .. } if content.role != Role::Assistant => ("tool call", "the model's"),
                Part::Result { .. } if content.role != Role::User => ("tool result", "the user's"),
                Part::Reasoning { .. } if content.role != Role::Assistant => ("reasoning block", "the model's"),
                _ => return None,
            };
            Some(Violation {
                rule: "role-allows-block",
                message,
                part: Some(part),
                problem: format!("a {what} is in a {} message", content.role.name()),
                remedy: if whose == "the model's" {
                    "put it into an assistant message"
                } else {
                    "put it into a user message"
                },
            })
        })
    })
}

/// Returns the first result of a message that shares its entry with other parts.
pub fn first_accompanied<T>(message: &Message<T>) -> Option<usize> {
    let is_result = |part: usize| matches!(message.parts[part], Part::Result { .. });
    let mut next = 0;
    while next < message.parts.len() {
        let entry = message.span.parts_with(next, message.parts.len());
        next = entry.end;
        if let Some(result) = entry.clone().find(|part| is_result(*part))
            && !entry.clone().all(is_result)
        {
            return Some(result);
        }
    }
    None
}

/// Finds results beside other parts. Vertex AI: "Within a single message, `FunctionResponse` cannot be mixed with other
/// type of part" (<https://github.com/genkit-ai/genkit/issues/452>,
/// <https://github.com/Prism-Shadow/agenthub/pull/189>). The Gemini Developer API accepts both.
pub(super) fn results_accompanied<T: Text>(conversation: &Conversation<T>) -> impl Iterator<Item = Violation> + '_ {
    conversation.messages.iter().enumerate().filter_map(|(message, content)| {
        Some(Violation {
            rule: "results-not-mixed",
            message,
            part: Some(first_accompanied(content).filter(|_| content.role == Role::User)?),
            problem: "a tool result shares its content with other parts".to_owned(),
            remedy: "move the other parts to a content after the results",
        })
    })
}

/// Returns the first result of a message that is in another entry than the results before it.
pub fn first_apart<T>(message: &Message<T>) -> Option<usize> {
    let results = message.parts.iter().enumerate().filter(|(_, part)| matches!(part, Part::Result { .. }));
    let mut entries = results.map(|(part, _)| (part, message.span.entry_of(part).0));
    let (_, first) = entries.next()?;
    entries.find(|(_, entry)| *entry != first).map(|(part, _)| part)
}

/// Finds results in separate entries. Gemini: "the number of function response parts is equal to the number of function
/// call parts of the function call turn", and a content is a turn (<https://github.com/cloudwego/eino-ext/issues/571>,
/// <https://github.com/docker/docker-agent/pull/2959>). Hosts that keep a content for each response join them before
/// they send them.
pub(super) fn results_apart<T: Text>(conversation: &Conversation<T>) -> impl Iterator<Item = Violation> + '_ {
    conversation.messages.iter().enumerate().filter_map(|(message, content)| {
        Some(Violation {
            rule: "parallel-results-together",
            message,
            part: Some(first_apart(content).filter(|_| content.role == Role::User)?),
            problem: "the results of parallel calls are in several contents".to_owned(),
            remedy: "put them into one content",
        })
    })
}

pub(super) fn results_behind<T: Text>(conversation: &Conversation<T>) -> impl Iterator<Item = Violation> + '_ {
    conversation.messages.iter().enumerate().filter_map(|(message, content)| {
        let is_result = |part: &Part<T>| matches!(part, Part::Result { .. });
        let other = content.parts.iter().position(|part| !is_result(part))?;
        let behind = content.parts[other..].iter().position(is_result)?;
        Some(Violation {
            rule: "results-first",
            message,
            part: Some(other + behind),
            problem: "a tool result comes after other content".to_owned(),
            remedy: "put all results at the beginning of the message",
        })
    })
}
