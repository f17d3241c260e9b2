//! A conversation with the edits so far: what the stages look at and the planner works on.
//!
//! A draft keeps bounds, not texts: what is shortened counts as the most it can take afterwards, and every gap counts
//! the most its note can take. So nothing is cut or hashed that a later stage removes anyway, and a draft that is
//! inside its budget stays inside when its texts are made.

mod bounds;
mod pruning;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::edit::Place;
use crate::invariants::{CutPoints, MayGo, Pairs, droppable};
use crate::ledger::Measured;
use crate::message::{Conversation, Item, Part, Pin, Role, Text};
use crate::numbers::share;
use crate::policy::{Level, Policy, StageName};
use crate::store::{Noted, noted_removals};
pub use bounds::Bounds;
pub use pruning::{PartChange, PartCut, Rewriting, Rewritten, Successor};

/// A shortening that the planner accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The stage that proposed it.
    pub stage: StageName,
    /// Tokens of the text that are kept.
    pub keep: usize,
    /// Tokens of the item before.
    pub tokens_before: usize,
    /// What supersedes the item, where that is why: then nothing of it is kept.
    pub superseded_by: Option<Arc<str>>,
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
    /// Keep nothing of an item, because of something that came later.
    Supersede {
        /// The item.
        place: Place,
        /// What came later.
        by: Successor,
    },
    /// Change a part that is no result.
    Change {
        /// Its message.
        message: usize,
        /// Its place there.
        part: usize,
        /// What becomes of it.
        change: PartChange,
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
    /// What the texts that are added take.
    pub bounds: Bounds,
    /// Its calls and results.
    pub pairs: Pairs,
    /// The ranges of messages that stay or go whole.
    pub groups: Vec<Range<usize>>,
    /// Tokens as they came.
    pub tokens: &'a Measured,
    cut_points: CutPoints,
    kept: Vec<Keeping>,
    removed: Vec<bool>,
    /// The accepted cut of each item, in the order of the conversation.
    cuts: Vec<Option<(Place, Cut)>>,
    /// Tokens of the older notes in messages that stay, which go with the gap behind them.
    replaced: Vec<usize>,
    /// The accepted changes of other parts.
    parts: BTreeMap<(usize, usize), PartCut>,
    /// Reasoning that may go, by message and part.
    droppable: Vec<(usize, usize)>,
    total: usize,
    /// What comes to a note now that there is one.
    summary: usize,
    /// Tokens of the newest messages that count as recent whatever their number.
    recent_tokens: usize,
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
        tokens: &'a Measured,
        pairs: Pairs,
        policy: &'a Policy,
        bounds: Bounds,
        may_go: MayGo,
    ) -> Draft<'a, T> {
        let cut_points = CutPoints::of(conversation, &pairs);
        let groups = cut_points.groups();
        let mut kept = vec![Keeping::May; conversation.messages.len()];
        for index in musts(conversation, policy) {
            kept[index] = Keeping::Must;
        }
        // The newest exchange is what the model answers next; a system message behind it is none.
        let speaks = |message: usize| conversation.messages[message].role != Role::System;
        if let Some(last) = groups.iter().rev().find(|group| (*group).clone().any(speaks)) {
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
            bounds,
            pairs,
            cut_points,
            groups,
            tokens,
            kept,
            removed: vec![false; conversation.messages.len()],
            cuts: vec![None; tokens.item_count()],
            replaced: vec![0; conversation.messages.len()],
            parts: BTreeMap::new(),
            droppable: if policy.stages.contains(&StageName::Prune) {
                droppable(conversation, may_go)
            } else {
                Vec::new()
            },
            total: tokens.total(),
            summary: 0,
            recent_tokens: 0,
        }
    }

    /// The same draft where the newest messages of so many tokens count as recent, if those are more than the policy names.
    #[must_use]
    pub fn with_recent(self, recent_tokens: usize) -> Draft<'a, T> {
        Draft { recent_tokens, ..self }
    }

    /// The most tokens that the conversation takes with the edits so far.
    pub fn total(&self) -> usize {
        self.total + self.summary
    }

    /// Whether the message may be removed, as far as pins and tasks go.
    pub fn may_remove(&self, message: usize) -> bool {
        self.kept[message] == Keeping::May && !self.removed[message]
    }

    /// Whether the message is removed already.
    pub fn is_removed(&self, message: usize) -> bool {
        self.removed[message]
    }

    /// Index of the first message of this share of the recent ones. O(those).
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

    /// Messages that stay so far, the note of each gap among them.
    pub fn message_count(&self) -> usize {
        self.removed.iter().filter(|removed| !**removed).count() + self.gaps().len()
    }

    /// Whether all of the message is notes about removals.
    pub fn is_note(&self, message: usize) -> bool {
        let parts = &self.conversation.messages[message].parts;
        !parts.is_empty() && parts.iter().all(|part| noted(part).is_some())
    }

    /// Every item of a tool result that may be shortened at `level`, oldest first, with the most tokens that it takes now.
    /// Items that the engine does not understand are kept whole.
    pub fn shortenable<'b>(&'b self, level: &Level) -> impl Iterator<Item = (Place, usize)> + use<'b, 'a, T> {
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
                let place = Place { message, part, item };
                (place, self.item_tokens(place))
            })
        })
    }

    fn may_touch(&self, message: usize) -> bool {
        !self.removed[message] && self.conversation.messages[message].pin == Pin::Free
    }

    fn item_tokens(&self, place: Place) -> usize {
        match &self.cuts[self.index_of(place)] {
            Some((_, cut)) => self.most_of(cut),
            None => self.tokens.item(place.message, place.part, place.item),
        }
    }

    /// The most tokens that an item takes after a cut.
    fn most_of(&self, cut: &Cut) -> usize {
        match cut.superseded_by {
            Some(_) => self.bounds.superseded,
            None => cut.keep + self.bounds.mark,
        }
    }

    /// Whether an item is to be shortened.
    pub fn is_cut(&self, place: Place) -> bool {
        self.cuts[self.index_of(place)].is_some()
    }

    /// The reasoning that may go, as far as the provider is concerned: message and part.
    pub fn droppable(&self) -> &[(usize, usize)] {
        &self.droppable
    }

    fn index_of(&self, place: Place) -> usize {
        self.tokens.item_index(place.message, place.part, place.item)
    }

    /// Makes a proposal part of the draft, unless it would save nothing or touch what must not be touched: no stage can
    /// break a conversation, even if it is wrong.
    pub fn accept(&mut self, stage: StageName, proposal: Proposal) {
        match proposal {
            Proposal::Shorten { place, keep } => self.shorten(stage, place, keep),
            Proposal::Supersede { place, by } => self.supersede(stage, place, by),
            Proposal::Change { message, part, change } => self.change_part(stage, message, part, change),
            Proposal::Remove { messages } => self.remove(messages),
        }
    }

    /// Whether lines are kept of all that is taken away, in what room is left at the end: then a cut keeps nothing by itself.
    pub fn is_digested(&self) -> bool {
        self.policy.stages.contains(&StageName::Digest)
    }

    fn shorten(&mut self, stage: StageName, place: Place, keep: usize) {
        let keep = if self.is_digested() { 0 } else { keep };
        let now = self.item_tokens(place);
        let then = keep + self.bounds.mark;
        if !self.may_touch(place.message) || then >= now {
            return;
        }
        let tokens_before = self.tokens.item(place.message, place.part, place.item);
        let index = self.index_of(place);
        self.cuts[index] = Some((place, Cut { stage, keep, tokens_before, superseded_by: None }));
        self.total = self.total - now + then;
    }

    fn remove(&mut self, messages: Range<usize>) {
        let whole_groups = self.cut_points.is_legal(messages.start) && self.cut_points.is_legal(messages.end);
        if messages.is_empty() || !whole_groups || !messages.clone().all(|message| self.may_remove(message)) {
            return;
        }
        let freed: usize = messages.clone().map(|message| self.message_tokens(message)).sum();
        // A gap beside another one grows it; a gap between two others joins them.
        let before = messages.start.checked_sub(1).is_some_and(|message| self.removed[message]);
        let after = self.removed.get(messages.end).copied().unwrap_or(false);
        let notes_gone = usize::from(before) + usize::from(after);
        if freed + notes_gone * self.bounds.note <= self.bounds.note {
            return;
        }
        self.replace_notes(messages.start);
        for message in messages {
            self.removed[message] = true;
            self.forget(message);
        }
        self.total = self.total + self.bounds.note - notes_gone * self.bounds.note - freed;
        self.summary = self.bounds.summary;
    }

    /// Frees the older notes in the message that a gap from `start` on is behind: the new note takes their place.
    fn replace_notes(&mut self, start: usize) {
        let messages = &self.conversation.messages;
        let before = (0..start).rev().find(|message| messages[*message].role != Role::System);
        let Some(before) = before.filter(|message| self.may_touch(*message) && self.replaced[*message] == 0) else {
            return;
        };
        let parts = messages[before].parts.iter().enumerate().filter(|(_, part)| noted(part).is_some());
        self.replaced[before] = parts.map(|(part, _)| self.tokens.part(before, part)).sum();
        self.total -= self.replaced[before];
    }

    /// Takes back every shortening.
    pub fn restore(&mut self) {
        for slot in 0..self.cuts.len() {
            if let Some((_, cut)) = self.cuts[slot].take() {
                self.total = self.total + cut.tokens_before - self.most_of(&cut);
            }
        }
        self.restore_parts();
    }

    /// The most tokens that the message takes with the edits so far.
    pub fn message_tokens(&self, message: usize) -> usize {
        let cuts = self.cuts[self.tokens.items_of(message)].iter().flatten();
        cuts.fold(self.tokens.message(message) - self.replaced[message], |total, (_, cut)| {
            total - cut.tokens_before + self.most_of(cut)
        }) - self.saved_in_parts(message)
    }

    /// The shortenings, in the order of the conversation.
    pub fn cuts(&self) -> impl Iterator<Item = (Place, Cut)> + '_ {
        self.cuts.iter().flatten().cloned()
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
            .map(|message| (self.conversation.entry(message), self.message_tokens(message)))
            .collect();
        rest.sort_by_key(|(message, tokens)| (std::cmp::Reverse(*tokens), *message));
        rest
    }
}

/// What a part says as a note about removals, if it is one.
pub fn noted<T: Text>(part: &Part<T>) -> Option<Noted<'_>> {
    match part {
        Part::Text(text) => noted_removals(text),
        _ => None,
    }
}

/// The messages that every plan keeps: system messages, the first ones, the task, the last request, pins.
fn musts<T: Text>(conversation: &Conversation<T>, policy: &Policy) -> Vec<usize> {
    let messages = &conversation.messages;
    let is_request = |index: &usize| {
        // A person's words, a picture or a file; the results of tools travel under the same role, and so do our notes.
        let asks = |part: &Part<T>| {
            matches!(part, Part::Text(_) | Part::Media(_) | Part::Document(_)) && noted(part).is_none()
        };
        messages[*index].role == Role::User && messages[*index].parts.iter().any(asks)
    };
    let requests = || (0..messages.len()).filter(is_request);
    let stands_above = |index: &usize| messages[*index].role == Role::System || messages[*index].pin == Pin::Pinned;
    let mut musts: Vec<usize> = (0..messages.len()).filter(stands_above).collect();
    musts.extend((0..messages.len()).filter(|i| messages[*i].role != Role::System).take(policy.keep_first));
    musts.extend(requests().next());
    musts.extend(requests().next_back());
    musts
}
