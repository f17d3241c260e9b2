//! Calls are the model's and results the user's, and results come first in their message.
//!
//! Anthropic: "`tool_use` blocks can only be in `assistant` messages", "`tool_result` blocks can only be in `user` messages",
//! and in the content of a user message the results stand before any text
//! (<https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use>). Bedrock Converse and Gemini
//! put them the same way; in OpenAI's formats nothing else can be said.

use super::Violation;
use crate::message::{Conversation, Part, Role, Text};

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
                rule: "block-is-of-its-role",
                message,
                part: Some(part),
                problem: format!("a {what} stands in a {} message", content.role.name()),
                remedy: if whose == "the model's" {
                    "put it into an assistant message"
                } else {
                    "put it into a user message"
                },
            })
        })
    })
}

pub(super) fn results_behind<T: Text>(conversation: &Conversation<T>) -> impl Iterator<Item = Violation> + '_ {
    conversation.messages.iter().enumerate().filter_map(|(message, content)| {
        let is_result = |part: &Part<T>| matches!(part, Part::Result { .. });
        let other = content.parts.iter().position(|part| !is_result(part))?;
        let behind = content.parts[other..].iter().position(is_result)?;
        Some(Violation {
            rule: "results-come-first",
            message,
            part: Some(other + behind),
            problem: "a tool result stands behind other content".to_owned(),
            remedy: "put all results at the beginning of the message",
        })
    })
}
