//! Signed reasoning stays with its tool loop.
//!
//! While a model works through a tool loop, Anthropic wants the thinking block that opened it sent back unchanged, and
//! refuses a final assistant message that does not start with thinking when thinking is on
//! (<https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#preserving-thinking-blocks>). So the
//! kept part may not begin inside a loop after its signed thinking, unless it begins with signed thinking of its own.

use super::{CutPoints, Violation};
use crate::message::{Conversation, Message, Part, Role, Signature, Text};

pub(super) fn forbid<T: Text>(conversation: &Conversation<T>, cuts: &mut CutPoints) {
    let mut loop_has_thinking = false;
    for (index, message) in conversation.messages.iter().enumerate() {
        match message.role {
            Role::Assistant => {
                let thinks = is_signed(message);
                if loop_has_thinking && !thinks {
                    cuts.forbid(index);
                }
                loop_has_thinking |= thinks;
            }
            // Results carry the loop on, and a system message stands above it. Any other words start a new turn.
            Role::System => {}
            Role::User if message.has_result() => {}
            Role::User => loop_has_thinking = false,
        }
    }
}

fn is_signed<T>(message: &Message<T>) -> bool {
    message.parts.iter().any(|part| matches!(part, Part::Reasoning { signature: Signature::Signed, .. }))
}

/// Anthropic: "The final block in an assistant message cannot be `thinking`"
/// (<https://github.com/tailcallhq/forgecode/issues/2107>).
pub(super) fn at_the_end<T: Text>(conversation: &Conversation<T>) -> impl Iterator<Item = Violation> + '_ {
    conversation.messages.iter().enumerate().filter_map(|(message, content)| {
        let last = content.parts.len().checked_sub(1)?;
        matches!(content.parts[last], Part::Reasoning { .. }).then_some(Violation {
            rule: "reasoning-does-not-end-a-message",
            message,
            part: Some(last),
            problem: "the message ends in reasoning".to_owned(),
            remedy: "let words or a call follow the reasoning, or remove the message",
        })
    })
}
