//! A conversation with the edits so far: what the stages look at and the planner works on.
//!
//! A draft keeps bounds, not texts: what is shortened counts as the most it can take afterwards, and every gap counts
//! the most its note can take. So nothing is cut or hashed that a later stage removes anyway, and a draft that is
//! inside its budget stays inside when its texts are made.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::edit::Place;
use crate::invariants::{CutPoints, Pairs};
use crate::ledger::MessageTokens;
use crate::message::{Conversation, Item, Part, Pin, Role, Text};
use crate::policy::{Policy, StageName};
use crate::store::noted_removals;

/// The most tokens that the mark in front of a shortened text and the line in its gap take together.
pub const MARK_TOKENS: usize = 96;

/// The most tokens that the note in a gap takes, with its answer and their overheads.
pub const NOTE_TOKENS: usize = 160;

/// How hard the planner is pressed. Each level takes what the one before it spared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pressure {
    /// The recent messages are left alone.
    Normal,
    /// Half as many are, and long results among them are shortened.
    High,
    /// Only what must stay is left alone.
    Emergency,
}

impl Pressure {
    /// Every level, mildest first.
    pub const ALL: [Pressure; 3] = [Pressure::Normal, Pressure::High, Pressure::Emergency];
}

/// A shortening that the planner accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The stage that proposed it.
    pub stage: StageName,
    /// Tokens of the text that are kept.
    pub keep: usize,
    /// Tokens of the item before.
    pub tokens_before: usize,
}

/// What a stage proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposal {
    /// Keep only so many tokens of an item.
    Shorten {
        /// The item.
        place: Place,
        /// Tokens of its text to keep.
        keep: usize,
    },
    /// Remove whole groups of messages.
    Remove {
        /// The messages.
        messages: Range<usize>,
    },
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Draft<'a, T> {
    /// The conversation as it came.
    pub conversation: &'a Conversation<T>,
    /// The settings.
    pub policy: &'a Policy,
    /// The ranges of messages that stay or go whole.
    pub groups: Vec<Range<usize>>,
    /// Tokens as they came.
    pub tokens: &'a [MessageTokens],
    kept: Vec<Keeping>,
    removed: Vec<bool>,
    cuts: BTreeMap<Place, Cut>,
    total: usize,
}

/// Whether a message must stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeping {
    Must,
    May,
}

impl<'a, T: Text> Draft<'a, T> {
    /// A draft without edits. O(parts).
    pub fn new(
        conversation: &'a Conversation<T>,
        tokens: &'a [MessageTokens],
        pairs: &Pairs,
        policy: &'a Policy,
    ) -> Draft<'a, T> {
        let groups = CutPoints::of(conversation, pairs).groups();
        let mut kept = vec![Keeping::May; conversation.messages.len()];
        for index in musts(conversation, policy) {
            kept[index] = Keeping::Must;
        }
        // The newest exchange is what the model answers next.
        if let Some(last) = groups.last() {
            kept[last.clone()].fill(Keeping::Must);
        }
        for group in &groups {
            if kept[group.clone()].contains(&Keeping::Must) {
                kept[group.clone()].fill(Keeping::Must);
            }
        }
        Draft {
            conversation,
            policy,
            groups,
            tokens,
            kept,
            removed: vec![false; conversation.messages.len()],
            cuts: BTreeMap::new(),
            total: tokens.iter().map(|message| message.total).sum(),
        }
    }

    /// The most tokens that the conversation takes with the edits so far.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Whether the message may be removed, as far as pins and tasks go.
    pub fn may_remove(&self, message: usize) -> bool {
        self.kept[message] == Keeping::May && !self.removed[message]
    }

    /// Whether the message is removed already.
    pub fn is_removed(&self, message: usize) -> bool {
        self.removed[message]
    }

    /// Index of the first message that counts as recent under `pressure`.
    pub fn recent_start(&self, pressure: Pressure) -> usize {
        let keep = match pressure {
            Pressure::Normal => self.policy.keep_recent,
            Pressure::High => self.policy.keep_recent / 2,
            Pressure::Emergency => 0,
        };
        self.conversation.messages.len().saturating_sub(keep)
    }

    /// Whether all of the message is notes about removals.
    pub fn is_note(&self, message: usize) -> bool {
        let parts = &self.conversation.messages[message].parts;
        !parts.is_empty()
            && parts
                .iter()
                .all(|part| matches!(part, Part::Text(text) if noted_removals(text).is_some()))
    }

    /// Every item of a tool result that may be shortened, oldest first, with the most tokens that it takes now. Items that
    /// the engine does not understand are kept whole.
    pub fn shortenable(&self) -> impl Iterator<Item = (Place, usize)> + '_ {
        self.conversation
            .messages
            .iter()
            .enumerate()
            .filter(|(index, _)| self.may_touch(*index))
            .flat_map(move |(message, content)| {
                content
                    .parts
                    .iter()
                    .enumerate()
                    .flat_map(move |(part, block)| {
                        let items: &[Item<T>] = match block {
                            Part::Result { items, .. } => items,
                            _ => &[],
                        };
                        items
                            .iter()
                            .enumerate()
                            .filter(|(_, item)| matches!(item, Item::Text(_) | Item::Json(_)))
                            .map(move |(item, _)| {
                                let place = Place {
                                    message,
                                    part,
                                    item,
                                };
                                (place, self.item_tokens(place))
                            })
                    })
            })
    }

    fn may_touch(&self, message: usize) -> bool {
        !self.removed[message] && self.conversation.messages[message].pin == Pin::Free
    }

    fn item_tokens(&self, place: Place) -> usize {
        match self.cuts.get(&place) {
            Some(cut) => cut.keep + MARK_TOKENS,
            None => self.tokens[place.message].parts[place.part].items[place.item],
        }
    }

    /// Makes a proposal part of the draft, unless it would save nothing or touch what must not be touched: no stage can
    /// break a conversation, even if it is wrong.
    pub fn accept(&mut self, stage: StageName, proposal: Proposal) {
        match proposal {
            Proposal::Shorten { place, keep } => self.shorten(stage, place, keep),
            Proposal::Remove { messages } => self.remove(messages),
        }
    }

    fn shorten(&mut self, stage: StageName, place: Place, keep: usize) {
        let now = self.item_tokens(place);
        let then = keep + MARK_TOKENS;
        if !self.may_touch(place.message) || then >= now {
            return;
        }
        let tokens_before = self.tokens[place.message].parts[place.part].items[place.item];
        self.cuts.insert(
            place,
            Cut {
                stage,
                keep,
                tokens_before,
            },
        );
        self.total = self.total - now + then;
    }

    fn remove(&mut self, messages: Range<usize>) {
        let whole_groups = self
            .groups
            .iter()
            .any(|group| group.start == messages.start)
            && self.groups.iter().any(|group| group.end == messages.end);
        if messages.is_empty()
            || !whole_groups
            || !messages.clone().all(|message| self.may_remove(message))
        {
            return;
        }
        let freed: usize = messages
            .clone()
            .map(|message| self.message_tokens(message))
            .sum();
        // A gap beside another one grows it; a gap between two others joins them.
        let before = messages
            .start
            .checked_sub(1)
            .is_some_and(|message| self.removed[message]);
        let after = self.removed.get(messages.end).copied().unwrap_or(false);
        let (notes_gone, notes_new) = (usize::from(before) + usize::from(after), 1);
        self.removed[messages.clone()].fill(true);
        let gone: Vec<Place> = self
            .cuts
            .range(first(messages.start)..first(messages.end))
            .map(|(p, _)| *p)
            .collect();
        for place in gone {
            self.cuts.remove(&place);
        }
        self.total = self.total + notes_new * NOTE_TOKENS - notes_gone * NOTE_TOKENS - freed;
    }

    fn message_tokens(&self, message: usize) -> usize {
        let mut total = self.tokens[message].total;
        for (place, cut) in self.cuts.range(first(message)..first(message + 1)) {
            total = total - cut.tokens_before + self.item_tokens(*place);
        }
        total
    }

    /// The shortenings, in the order of the conversation.
    pub fn cuts(&self) -> impl Iterator<Item = (Place, Cut)> + '_ {
        self.cuts.iter().map(|(place, cut)| (*place, *cut))
    }

    /// The gaps: maximal ranges of removed messages.
    pub fn gaps(&self) -> Vec<Range<usize>> {
        let mut gaps: Vec<Range<usize>> = Vec::new();
        for message in (0..self.removed.len()).filter(|message| self.removed[*message]) {
            match gaps.last_mut() {
                Some(gap) if gap.end == message => gap.end += 1,
                _ => gaps.push(message..message + 1),
            }
        }
        gaps
    }

    /// What still takes room, largest first: message and the most tokens that it takes.
    pub fn remaining(&self) -> Vec<(usize, usize)> {
        let mut rest: Vec<(usize, usize)> = (0..self.removed.len())
            .filter(|message| !self.removed[*message])
            .map(|message| (message, self.message_tokens(message)))
            .collect();
        rest.sort_by_key(|(message, tokens)| (std::cmp::Reverse(*tokens), *message));
        rest
    }
}

fn first(message: usize) -> Place {
    Place {
        message,
        part: 0,
        item: 0,
    }
}

/// The messages that every plan keeps: system messages, the first ones, the task, the last request, pins.
fn musts<T: Text>(conversation: &Conversation<T>, policy: &Policy) -> Vec<usize> {
    let messages = &conversation.messages;
    let is_note = |text: &str| noted_removals(text).is_some();
    let requests = || (0..messages.len()).filter(|index| messages[*index].is_request(is_note));
    let stands_above = |index: &usize| {
        messages[*index].role == Role::System || messages[*index].pin == Pin::Pinned
    };
    let mut musts: Vec<usize> = (0..messages.len()).filter(stands_above).collect();
    musts.extend(
        (0..messages.len())
            .filter(|i| messages[*i].role != Role::System)
            .take(policy.keep_first),
    );
    musts.extend(requests().next());
    musts.extend(requests().next_back());
    musts
}
