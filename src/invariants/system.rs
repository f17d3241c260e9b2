//! System messages are not part of the list.
//!
//! Anthropic takes the system prompt as a parameter: "Unexpected role \"system\". The Messages API accepts a top-level
//! `system` parameter, not \"system\" as an input message role" (<https://docs.anthropic.com/en/api/messages>). So do
//! Bedrock Converse (`system`, <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html>) and
//! Gemini (`systemInstruction`, <https://ai.google.dev/gemini-api/docs/system-instructions>).

use super::Violation;
use crate::message::{Conversation, Role, Text};

pub(super) fn in_the_list<T: Text>(conversation: &Conversation<T>) -> impl Iterator<Item = Violation> + '_ {
    let system = conversation.messages.iter().enumerate().filter(|(_, content)| content.role == Role::System);
    system.map(|(message, _)| Violation {
        rule: "system-not-in-messages",
        message,
        part: None,
        problem: "a system message is in the list".to_owned(),
        remedy: "pass it as the system prompt of the request, or as a user message",
    })
}
