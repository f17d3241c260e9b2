//! Baselines for a compaction: the strongest simple window, and a plain cover of lines.

use super::cover::cover;
use super::coverage::Coverage;
use super::pieces::pieces;
use crate::ledger::Counting;
use crate::message::{Conversation, Message, Role, Text};
use crate::tokens::{CountTokens, TextKind};

/// Share of the budget that the line cover leaves to the window.
pub const LINE_COVER_WINDOW: f64 = 0.6;

/// The part of a history that a baseline keeps. It need not be a valid request; it is everything that could be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    /// Messages that are kept whole.
    pub messages: Vec<usize>,
    /// Parts of other messages.
    pub texts: Vec<String>,
    /// Tokens of both together.
    pub tokens: usize,
}

impl Context {
    /// Returns the anchors and lines in it.
    pub fn coverage<T: Text>(&self, conversation: &Conversation<T>) -> Coverage {
        let mut shown = Coverage::default();
        self.texts.iter().for_each(|text| shown.add_text(text));
        let mut messages = self.messages.clone();
        messages.sort_unstable();
        for message in messages {
            shown.add_message(&conversation.messages[message]);
        }
        shown
    }
}

/// The filled sliding window: the task, the newest messages that fit whole, and as many of the last lines of the next
/// older message as fit. O(length).
pub fn window<T: Text + Sync>(history: &Conversation<T>, counting: Counting<'_>, budget: usize) -> Context {
    let (mut context, oldest) = whole_messages(history, counting, budget);
    if let Some(next) = oldest.checked_sub(1).filter(|next| !context.messages.contains(next)) {
        let room = budget.saturating_sub(context.tokens);
        if let Some((text, tokens)) = tail(&history.messages[next], counting, room) {
            context.tokens += tokens;
            context.texts.push(text);
        }
    }
    context
}

/// The line cover: a window of whole messages in [`LINE_COVER_WINDOW`] of the budget, and in the rest the lines of
/// older results with the most anchors for their length. O(lines x log lines).
// A share of a budget stays far below 2^52, below which integers are exact.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn line_cover<T: Text + Sync>(history: &Conversation<T>, counting: Counting<'_>, budget: usize) -> Context {
    let for_window = (budget as f64 * LINE_COVER_WINDOW) as usize;
    let (mut context, oldest) = whole_messages(history, counting, for_window);
    let shown = context.coverage(history);
    for (line, tokens) in cover(history, oldest, &shown, counting, budget.saturating_sub(context.tokens)) {
        context.tokens += tokens;
        context.texts.push(line);
    }
    context
}

/// Returns the instructions, the task and the newest messages that fit into the budget, and the oldest of those
/// messages.
fn whole_messages<T: Text + Sync>(
    history: &Conversation<T>,
    counting: Counting<'_>,
    budget: usize,
) -> (Context, usize) {
    let measured = counting.measure(history);
    let task = history.messages.iter().position(|message| message.role == Role::User);
    let beginning = task.map_or(0, |task| task + 1);
    let mut context = Context { messages: (0..beginning).collect(), ..Context::default() };
    context.tokens = context.messages.iter().map(|message| measured.message(*message)).sum();
    let mut oldest = history.messages.len();
    while oldest > beginning && context.tokens + measured.message(oldest - 1) <= budget {
        oldest -= 1;
        context.messages.push(oldest);
        context.tokens += measured.message(oldest);
    }
    (context, oldest)
}

/// Returns the last lines of a message that fit into `room` tokens, and their tokens.
fn tail<T: Text>(message: &Message<T>, counting: Counting<'_>, room: usize) -> Option<(String, usize)> {
    let texts: Vec<&str> = pieces(message).iter().map(|piece| piece.text).collect();
    let text = texts.join("\n");
    let overhead = counting.overhead();
    let room = room.checked_sub(overhead.message + overhead.block)?;
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let fits = |start: &usize| counting.fits(&text[*start..], TextKind::ToolOutput, room);
    // Fewer lines have fewer tokens, except for a token or two at the beginning of a line.
    let first = starts.partition_point(|start| !fits(start));
    let start = starts[first..].iter().find(|start| **start < text.len() && fits(start))?;
    let tail = &text[*start..];
    let tokens = counting.count(tail, TextKind::ToolOutput) + overhead.message + overhead.block;
    Some((tail.to_owned(), tokens))
}
