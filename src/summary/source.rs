//! The messages as text, for a model to read.

use std::borrow::Cow;

use super::Removed;
use super::cut::head;
use super::removed::Content;
use crate::compress::{Aim, Request, compress};
use crate::message::{Item, Text};
use crate::numbers::thousands;
use crate::text::ends_line;
use crate::tokens::{CountTokens, TextKind};

/// Tokens of each message that are given even where the rest of it has no room: who says what.
const HEAD: usize = 48;

/// Tokens of each message if there are too many messages for that.
const SHORTEST_HEAD: usize = 12;

/// The most that one message takes while others still wait, as a part of the whole: a single long output must not hide
/// what led to it.
const LARGEST_SHARE: usize = 8;

/// Tokens from which on what is left of an output is chosen by what it is; below, its head says as much.
const WORTH_CHOOSING: usize = 64;

/// Beginnings of lines that name a speaker, or that end the part of a request that shows a conversation.
const SPEAKERS: [&str; 8] = [
    "user:",
    "assistant:",
    "assistant calls ",
    "assistant, thinking:",
    "system:",
    "conversation>",
    "previous_summary>",
    "account>",
];

/// The messages in at most `tokens`, the oldest first. The newest are whole as far as they go; of the older ones each
/// keeps its head; where even that is too much, the oldest are left out, and a line says so. `sizes` are the tokens of
/// each message. O(length).
pub fn source<T: Text>(removed: &Removed<'_, T>, sizes: &[usize], tokens: usize, counter: &dyn CountTokens) -> String {
    // Pieces that were counted one by one can take a few more tokens together.
    let mut room = tokens;
    loop {
        let text = newest(removed, sizes, room, counter);
        let over = counter.count(&text, TextKind::ToolOutput).saturating_sub(tokens);
        if over == 0 {
            return text;
        }
        room = room.saturating_sub(over);
    }
}

fn newest<T: Text>(removed: &Removed<'_, T>, sizes: &[usize], tokens: usize, counter: &dyn CountTokens) -> String {
    let count = |text: &str| counter.count(text, TextKind::ToolOutput);
    let rooms = rooms(sizes, tokens);
    let mut rest = tokens.saturating_sub(count(&left_out(sizes.len())));
    let mut lines = Vec::new();
    let messages = removed.messages().rev().zip(sizes.iter().rev()).zip(rooms.into_iter().rev());
    for ((message, whole), room) in messages.take_while(|(_, room)| *room > 0) {
        // A message that fits whole is not measured piece by piece.
        let room = if room >= *whole { usize::MAX } else { room };
        let text = message_text(removed, message, room, counter);
        let size = count(&text);
        if size > rest {
            // The newest says something in any case.
            if lines.is_empty() {
                lines.push(head(&text, rest, TextKind::ToolOutput, counter).to_owned());
            }
            break;
        }
        rest -= size;
        lines.push(text);
    }
    if lines.len() < sizes.len() && tokens > 0 {
        lines.push(left_out(sizes.len() - lines.len()));
    }
    lines.reverse();
    lines.concat()
}

fn left_out(messages: usize) -> String {
    format!("[{} older messages have no room here]\n", thousands(messages))
}

/// Tokens for each message: a head for as many as half of all can give one, then more for the newest up to their share,
/// then what is left for the newest.
fn rooms(sizes: &[usize], tokens: usize) -> Vec<usize> {
    let heads = (tokens / 2 / sizes.len().max(1)).clamp(SHORTEST_HEAD, HEAD);
    let mut rooms = vec![0; sizes.len()];
    let mut given = 0;
    for (most, all) in [(heads, tokens / 2), ((tokens / LARGEST_SHARE).max(heads), tokens), (tokens, tokens)] {
        for (room, size) in rooms.iter_mut().zip(sizes).rev() {
            // The words around a message take some too.
            let more = (size + SHORTEST_HEAD).min(most).saturating_sub(*room).min(all.saturating_sub(given));
            *room += more;
            given += more;
        }
    }
    rooms
}

/// A message in about `room` tokens: who it is from, and what it says.
fn message_text<T: Text>(removed: &Removed<'_, T>, message: usize, room: usize, counter: &dyn CountTokens) -> String {
    let role = removed.role(message).name();
    let pieces: Vec<Content<'_, T>> = removed.contents(message).map(|(_, content)| content).collect();
    let length: usize = pieces.iter().map(length_of).sum();
    let mut out = String::new();
    for content in pieces {
        // Each piece gets the message's share.
        let own = length_of(&content);
        let share = part(room, own, length);
        let mut push = |who: &str, text: &str| {
            out.push_str(who);
            out.push_str(&of_one_speaker(text));
            out.push('\n');
        };
        match content {
            Content::Words(text) => push(&format!("{role}: "), &shortened(text, "", share, counter)),
            Content::Thought(text) => push("assistant, thinking: ", &shortened(text, "", share, counter)),
            Content::Call { tool, input } => {
                push(&format!("assistant calls {}: ", &**tool), &shortened(input, "", share, counter));
            }
            Content::Result { tool, items, .. } => {
                for item in items {
                    let share = part(share, item_length(item), own);
                    let text = item.text().map_or("(a picture or file)", |(text, _)| text);
                    push(&format!("{tool} returns: "), &shortened(text, tool, share, counter));
                }
            }
            Content::Thing(thing) => push(&format!("{role}: "), &format!("({thing})")),
        }
    }
    out
}

/// A text in which no line passes for what somebody else says: one that begins like that is quoted.
pub(super) fn of_one_speaker(text: &str) -> Cow<'_, str> {
    if !SPEAKERS.iter().any(|speaker| text.contains(speaker)) {
        return Cow::Borrowed(text);
    }
    let line = |line: &str| {
        let bare = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        if SPEAKERS.iter().any(|speaker| bare.starts_with(speaker)) { format!("> {line}") } else { line.to_owned() }
    };
    Cow::Owned(text.split(ends_line).map(line).collect::<Vec<_>>().join("\n"))
}

fn shortened(text: &str, tool: &str, tokens: usize, counter: &dyn CountTokens) -> String {
    // A byte is a token at the most.
    if text.len() <= tokens || counter.fits(text, TextKind::ToolOutput, tokens) {
        return text.to_owned();
    }
    if tokens >= WORTH_CHOOSING
        && let Some(short) = compress(text, &Request::of(tool, Aim::Tokens(tokens)), counter)
    {
        return short.text;
    }
    format!("{} [...]", head(text, tokens, TextKind::ToolOutput, counter).trim_end())
}

fn length_of<T: Text>(content: &Content<'_, T>) -> usize {
    match content {
        Content::Words(text) | Content::Thought(text) => text.len(),
        Content::Call { tool, input } => tool.len() + input.len(),
        Content::Result { items, .. } => items.iter().map(item_length).sum(),
        Content::Thing(_) => 0,
    }
}

/// The part of `room` for so much of a whole; something for everything.
fn part(room: usize, of: usize, whole: usize) -> usize {
    if room == usize::MAX { room } else { (room * of.max(1)).div_ceil(whole.max(1)) }
}

fn item_length<T: Text>(item: &Item<T>) -> usize {
    item.text().map_or(0, |(text, _)| text.len())
}
