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

/// Tokens that each message gets even if the rest of it does not fit: enough to show who says what.
const HEAD: usize = 48;

/// Tokens that each message gets if there are too many messages for that.
const SHORTEST_HEAD: usize = 12;

/// One message may take at most one in this many tokens of the whole while others wait. A single long output must not
/// hide its cause.
const LARGEST_SHARE: usize = 8;

/// From this many tokens on, the kept part of an output is chosen by content type. Below it, the beginning is as
/// useful.
const WORTH_CHOOSING: usize = 64;

/// Beginnings of lines that name a speaker, or that end the conversation's part of a request.
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

/// Returns the messages in at most `tokens`, oldest first. The newest are whole as far as possible, and of each older
/// one the beginning is kept. If even that is too much, the oldest are left out, and a line says so. `sizes` are the
/// tokens of each message. O(length).
pub fn source<T: Text>(removed: &Removed<'_, T>, sizes: &[usize], tokens: usize, counter: &dyn CountTokens) -> String {
    // Pieces that are counted one by one may have a few more tokens together.
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
        // A message that fits whole is not counted piece by piece.
        let room = if room >= *whole { usize::MAX } else { room };
        let text = message_text(removed, message, room, counter);
        let size = count(&text);
        if size > rest {
            // The newest message is always included.
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

/// Returns the tokens for each message: a beginning for as many as half of all tokens allow, then more for the newest
/// up to their share, then the rest for the newest.
fn rooms(sizes: &[usize], tokens: usize) -> Vec<usize> {
    let heads = (tokens / 2 / sizes.len().max(1)).clamp(SHORTEST_HEAD, HEAD);
    let mut rooms = vec![0; sizes.len()];
    let mut given = 0;
    for (most, all) in [(heads, tokens / 2), ((tokens / LARGEST_SHARE).max(heads), tokens), (tokens, tokens)] {
        for (room, size) in rooms.iter_mut().zip(sizes).rev() {
            // The words around a message take some tokens too.
            let more = (size + SHORTEST_HEAD).min(most).saturating_sub(*room).min(all.saturating_sub(given));
            *room += more;
            given += more;
        }
    }
    rooms
}

/// Returns a message in about `room` tokens: its author and its content.
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

/// Returns a text with every line quoted that looks like the beginning of another speaker's text.
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
    // A token has at least one byte.
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

/// Returns the share of `room` for `of` in `whole`, at least 1.
fn part(room: usize, of: usize, whole: usize) -> usize {
    if room == usize::MAX { room } else { (room * of.max(1)).div_ceil(whole.max(1)) }
}

fn item_length<T: Text>(item: &Item<T>) -> usize {
    item.text().map_or(0, |(text, _)| text.len())
}
