//! The reach of stages: the recent messages, the required messages, and the parts that may be shortened.

use super::WorkingCopy;
use crate::edit::ItemPlace;
use crate::message::{Conversation, Item, Message, Part, Pin, Role, Text};
use crate::numbers::share;
use crate::policy::{Level, Policy};
use crate::store::{RemovalNote, noted_removals};
use crate::validity::LOST_CALL;

impl<'a, T: Text> WorkingCopy<'a, T> {
    /// Returns the index of the first message of this share of the recent messages. O(recent messages).
    pub fn recent_start(&self, part: f64) -> usize {
        let messages = self.conversation.messages.len();
        let by_number = share(self.policy.keep_recent, part);
        let room = share(self.recent_tokens, part);
        let sizes = (0..messages).rev().scan(0_usize, |taken, message| {
            *taken += self.tokens.message(message);
            Some(*taken)
        });
        let by_size = sizes.take_while(|taken| *taken <= room).count();
        messages.saturating_sub(by_number.max(by_size))
    }

    /// True if the message consists of notes about removals.
    pub fn is_note(&self, message: usize) -> bool {
        let parts = &self.conversation.messages[message].parts;
        !parts.is_empty() && parts.iter().all(|part| read_removal_note(part).is_some())
    }

    /// Returns every item of a tool result that may be shortened at `level`, oldest first, with its present upper bound
    /// in tokens. Opaque items are kept whole.
    pub fn shortenable<'b>(&'b self, level: &Level) -> impl Iterator<Item = (ItemPlace, usize)> + use<'b, 'a, T> {
        let results = || {
            let messages = self.conversation.messages.iter().enumerate();
            let parts = messages.flat_map(|(message, content)| {
                content.parts.iter().enumerate().map(move |(part, block)| (message, part, block))
            });
            parts.filter_map(|(message, part, block)| match block {
                Part::Result { items, .. } => Some((message, part, items)),
                _ => None,
            })
        };
        let may_go = if level.results < 1.0 || level.keep_results > 0 {
            let all = results().count();
            share(all, level.results).min(all.saturating_sub(level.keep_results))
        } else {
            usize::MAX
        };
        let touched = results().take(may_go).filter(|(message, ..)| self.may_touch(*message));
        touched.flat_map(move |(message, part, items)| {
            let texts = items.iter().enumerate().filter(|(_, item)| matches!(item, Item::Text(_) | Item::Json(_)));
            texts.map(move |(item, _)| {
                let place = ItemPlace { message, part, item };
                (place, self.item_tokens(place))
            })
        })
    }
}

/// Reads a part as a note about removed messages, if it is one.
pub fn read_removal_note<T: Text>(part: &Part<T>) -> Option<RemovalNote<'_>> {
    match part {
        Part::Text(text) => noted_removals(text),
        _ => None,
    }
}

/// Returns the indices of people's requests, oldest first.
pub fn requests<T: Text>(conversation: &Conversation<T>) -> impl DoubleEndedIterator<Item = usize> {
    // A person's words, a picture or a file. Tool results have the same role, and so do ullage's notes and repairs.
    let asks = |part: &Part<T>| match part {
        Part::Text(text) => !text.starts_with(LOST_CALL) && read_removal_note(part).is_none(),
        Part::Media(_) | Part::Document(_) => true,
        _ => false,
    };
    let messages = conversation.messages.iter().enumerate();
    let is_request = move |message: &Message<T>| message.role == Role::User && message.parts.iter().any(asks);
    messages.filter(move |(_, message)| is_request(message)).map(|(place, _)| place)
}

/// Returns the last request, and newer words of people beside results: a remark of the host, or an interruption.
pub fn last_requests<T: Text>(conversation: &Conversation<T>) -> impl Iterator<Item = usize> {
    let apart = |message: &usize| !conversation.messages[*message].has_result();
    let last = requests(conversation).next_back();
    requests(conversation).rfind(apart).into_iter().chain(last)
}

/// Returns the messages that every plan keeps: the [`fixed`] ones, the task and the last requests.
pub(super) fn musts<T: Text>(conversation: &Conversation<T>, policy: &Policy) -> Vec<usize> {
    let mut musts: Vec<usize> = fixed(conversation, policy).collect();
    musts.extend(requests(conversation).next());
    musts.extend(last_requests(conversation));
    musts
}

/// Returns the messages that are always kept: system messages, pins, and the first ones.
pub(super) fn fixed<T: Text>(conversation: &Conversation<T>, policy: &Policy) -> impl Iterator<Item = usize> {
    let messages = || conversation.messages.iter().enumerate();
    let stands_above = messages().filter(|(_, message)| message.role == Role::System || message.pin == Pin::Pinned);
    let first = messages().filter(|(_, message)| message.role != Role::System).take(policy.keep_first);
    stands_above.chain(first).map(|(index, _)| index)
}
