//! The kept part of the last turn begins with its signed reasoning.
//!
//! While a model works through a tool loop, Anthropic requires the thinking block that began it unchanged. It answers
//! 400 if the assistant's part of the last turn does not start with one: "a final `assistant` message must start with a
//! thinking block" (<https://github.com/n8n-io/n8n/issues/22550>). It requires nothing in earlier turns
//! (<https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#preserving-thinking-blocks>). Gemini
//! requires the signature of each call of the last turn, which is in the call's own message
//! (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
//!
//! So only the last turn is bound. Its kept part may not begin after a signed thought, unless it begins with another
//! one. While the newest thought is kept with its calls and results, everything after those may be removed.

use super::{CutPoints, Violation};
use crate::message::{Conversation, Message, Part, Role, Signature, Text, Tie};

/// The newest signed thought of the last turn. While it is kept, messages after it may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The request that began the turn. A note about removed messages is put there. Words between calls and results
    /// would begin a new turn, in which the model has not thought.
    pub request: usize,
    /// The message with the thought.
    pub thought: usize,
}

/// Returns the opening of the last turn, if it began with a request and has a signed thought. O(messages of the turn).
pub fn opening<T: Text>(conversation: &Conversation<T>) -> Option<Opening> {
    let messages = &conversation.messages;
    let request = messages.iter().rposition(begins_turn)?;
    let thought = messages[request..].iter().rposition(is_signed)? + request;
    Some(Opening { request, thought })
}

/// Forbids cuts that would separate the last turn from its thinking. If `opening` is kept, no cut after it does.
pub(super) fn forbid<T: Text>(conversation: &Conversation<T>, opening: Option<Opening>, cuts: &mut CutPoints) {
    let messages = &conversation.messages;
    let turn = messages.iter().rposition(begins_turn).unwrap_or_default();
    let bound = opening.map_or(messages.len(), |opening| opening.thought);
    let mut has_thinking = false;
    for (index, message) in messages[..bound].iter().enumerate().skip(turn) {
        if message.role == Role::Assistant {
            let thinks = is_signed(message);
            if has_thinking && !thinks {
                cuts.forbid(index);
            }
            has_thinking |= thinks;
        }
    }
}

/// True if a message begins a turn: words of the user do, but results and system messages do not.
fn begins_turn<T: Text>(message: &Message<T>) -> bool {
    message.role == Role::User && !message.has_result()
}

/// Returns the reasoning that may be removed, sorted: that of earlier turns, in messages that have other words and no
/// calls.
///
/// * Anthropic, also on Bedrock: "you can omit thinking and `redacted_thinking` blocks from prior assistant role turns"
///   (<https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#preserving-thinking-blocks>).
/// * Gemini: "only current turn is required; we don't validate on previous turns", and without function calls not even
///   the current one (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
/// * OpenAI: "you don't need to include reasoning items" of earlier turns, and those that are included are "ignored and
///   stripped" (<https://cookbook.openai.com/examples/responses_api/reasoning_items>). But an item with an id of its own
///   is stored with its reasoning, and refused without it: see [`Tie::Reasoned`]. The AI SDK carries those ids.
/// * Chat has no such ids. Its reasoning comes from the others: signed by Anthropic or Gemini, encrypted by OpenAI.
/// * `DeepSeek` requires all reasoning beside calls, also of earlier turns, and answers 400 without it; "a plain
///   assistant text turn does not require it" (<https://github.com/esengine/DeepSeek-Reasonix/pull/4022>). Its API exists
///   in several formats.
///
/// O(parts).
pub fn droppable<T: Text>(conversation: &Conversation<T>) -> Vec<(usize, usize)> {
    let messages = &conversation.messages;
    let over = messages.iter().rposition(begins_turn).unwrap_or_default();
    let answers = messages[..over].iter().enumerate().filter(|(_, message)| message.role == Role::Assistant);
    let mut found = Vec::new();
    for (index, message) in answers.filter(|(_, message)| only_speaks(message)) {
        let goes = |part: &Part<T>| match part {
            Part::Reasoning { signature: Signature::Unsigned, .. } => true,
            Part::Reasoning { signature: Signature::Signed, .. } => !stands_on_reasoning(message),
            _ => false,
        };
        found.extend(message.parts.iter().enumerate().filter(|(_, part)| goes(part)).map(|(part, _)| (index, part)));
    }
    found
}

/// True if a message has words beside its reasoning, and no calls, not even calls that the provider runs itself.
fn only_speaks<T: Text>(message: &Message<T>) -> bool {
    let says = |part: &Part<T>| matches!(part, Part::Text(text) if !text.trim().is_empty());
    let asks = |part: &Part<T>| matches!(part, Part::Call { .. } | Part::Opaque(_));
    message.parts.iter().any(says) && !message.parts.iter().any(asks)
}

fn stands_on_reasoning<T>(message: &Message<T>) -> bool {
    message.ties.iter().any(|(_, tie)| matches!(tie, Tie::Reasoned))
}

fn is_signed<T: Text>(message: &Message<T>) -> bool {
    message.parts.iter().any(|part| matches!(part, Part::Reasoning { signature: Signature::Signed, .. }))
}

/// Finds messages that end with reasoning. Anthropic: "The final block in an assistant message cannot be `thinking`"
/// (<https://github.com/tailcallhq/forgecode/issues/2107>).
pub(super) fn at_the_end<T: Text>(conversation: &Conversation<T>) -> impl Iterator<Item = Violation> + '_ {
    conversation.messages.iter().enumerate().filter_map(|(message, content)| {
        let last = content.parts.len().checked_sub(1)?;
        matches!(content.parts[last], Part::Reasoning { .. }).then_some(Violation {
            rule: "reasoning-not-last",
            message,
            part: Some(last),
            problem: "the message ends in reasoning".to_owned(),
            remedy: "add text or a call after the reasoning, or remove the message",
        })
    })
}
