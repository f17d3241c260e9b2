//! The first message is the user's, and roles alternate.
//!
//! Bedrock Converse: "A conversation must start with a user message"
//! (<https://github.com/langgenius/dify/issues/12340>) and "must alternate between user and assistant roles"
//! (<https://github.com/langchain-ai/langchain-aws/issues/130>). Anthropic requires that the first message is the
//! user's (<https://docs.anthropic.com/en/api/messages>), and Gemini that a "function call turn comes immediately after
//! a user turn" (<https://github.com/google-gemini/gemini-cli/issues/11814>). Removing messages makes two distant
//! messages adjacent. [`seam`] chooses the form of the note between them, so that the rule holds.

use super::Violation;
use crate::message::{Conversation, Pin, Role, Text};

pub(super) fn first<T: Text>(conversation: &Conversation<T>) -> Option<Violation> {
    let (message, _) = speakers(conversation).next().filter(|(_, role)| *role != Role::User)?;
    Some(Violation {
        rule: "starts-with-user",
        message,
        part: None,
        problem: "the conversation does not start with a user message".to_owned(),
        remedy: "add a user message at the beginning",
    })
}

/// Finds adjacent messages with the same role, and single messages that are several entries of the list.
pub(super) fn repeated<T: Text>(conversation: &Conversation<T>) -> impl Iterator<Item = Violation> + '_ {
    let neighbours = speakers(conversation).zip(speakers(conversation).skip(1));
    let alike = neighbours.filter(|((_, before), (_, role))| before == role);
    let joined = speakers(conversation).flat_map(|(index, role)| {
        let later = conversation.messages[index].span.later_entries();
        later.iter().map(move |part| (index, Some(*part), role))
    });
    alike.map(|(_, (message, role))| (message, None, role)).chain(joined).map(|(message, part, role)| Violation {
        rule: "roles-alternate",
        message,
        part,
        problem: format!("two messages in a row have the role '{}'", role.name()),
        remedy: "join them into one message",
    })
}

/// Returns the messages except system messages, with their roles.
fn speakers<T>(conversation: &Conversation<T>) -> impl Iterator<Item = (usize, Role)> + '_ {
    let roles = conversation.messages.iter().map(|message| message.role).enumerate();
    roles.filter(|(_, role)| *role != Role::System)
}

/// The position of a note about removed messages, between the messages on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seam {
    /// Added to the user message before the gap.
    AppendBefore,
    /// Added to the user message before the gap, with a short answer of the other role after it.
    AppendBeforeAnswered,
    /// Added to the user message after the gap.
    AppendAfter,
    /// A message of its own.
    Insert(Role),
    /// A message of its own, with a short answer of the other role.
    InsertPair(Role),
}

/// Returns the seam between the messages before and after the gap.
///
/// A note joins the user message beside the gap. Between two user messages, a short answer of the assistant separates
/// them. If the user message is pinned, the note is a message of its own, with an answer if roles require one.
pub fn seam(before: Option<(Role, Pin)>, after: Option<(Role, Pin)>) -> Seam {
    match (before, after) {
        // The note addresses the model, so it must not become the model's own words.
        (Some((Role::User, Pin::Free)), Some((Role::User, _))) => Seam::AppendBeforeAnswered,
        (Some((Role::User, Pin::Pinned)), Some((Role::User, _)) | None) => Seam::Insert(Role::Assistant),
        (Some((Role::User, Pin::Free)), _) => Seam::AppendBefore,
        (Some((Role::User, Pin::Pinned)), Some(_)) => Seam::InsertPair(Role::Assistant),
        // Before the gap is an assistant message, or only system messages, so the user speaks next.
        (_, Some((Role::User, Pin::Free))) => Seam::AppendAfter,
        (_, Some((Role::User, Pin::Pinned))) => Seam::InsertPair(Role::User),
        (_, _) => Seam::Insert(Role::User),
    }
}
