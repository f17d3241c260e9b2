//! A conversation with the edits so far, for the stages and the planner.
//!
//! A working copy keeps bounds instead of texts. Shortened content counts as the most tokens that it can have
//! afterwards, and every gap as the most that its note can have. So nothing is cut or hashed that a later stage removes
//! anyway, and a working copy inside its budget stays inside it when its texts are written.

mod bounds;
mod proposal;
mod pruning;
mod reach;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::edit::ItemPlace;
use crate::invariants::{CutPoints, Opening, Pairs, droppable, opening};
use crate::ledger::Measured;
use crate::message::{Conversation, Message, Pin, Role, Text};
use crate::policy::{Policy, StageName};
pub use bounds::Bounds;
pub use proposal::{Cut, Proposal};
pub use pruning::{ArgumentsRewrite, PartChange, PartCut, RewrittenArgument, Successor};
use reach::{fixed, musts};
pub use reach::{last_requests, read_removal_note, requests};

/// A conversation with edits; see the module's documentation.
#[derive(Debug)]
pub struct WorkingCopy<'a, T> {
    /// The original conversation.
    pub conversation: &'a Conversation<T>,
    /// The settings.
    pub policy: &'a Policy,
    /// The upper bounds for added texts.
    pub bounds: Bounds,
    /// Its calls and results.
    pub pairs: Pairs,
    /// The ranges of messages that are kept or removed together.
    pub groups: Vec<Range<usize>>,
    /// The thought that opens the last turn, which is kept with its calls and results.
    pub opening: Option<Opening>,
    /// Tokens of the original messages.
    pub tokens: &'a Measured,
    cut_points: CutPoints,
    kept: Vec<Keeping>,
    removed: Vec<bool>,
    /// The accepted cut of each item, in the order of the conversation.
    cuts: Vec<Option<(ItemPlace, Cut)>>,
    /// Tokens of the older notes in kept messages that the gap after them removes.
    replaced: Vec<usize>,
    /// The accepted changes of other parts.
    parts: BTreeMap<(usize, usize), PartCut>,
    /// Reasoning that may be removed, by message and part.
    droppable: Vec<(usize, usize)>,
    total: usize,
    /// The tokens that a summary adds to a note.
    summary: usize,
    /// Tokens of the newest messages that count as recent, whatever their number.
    recent_tokens: usize,
}

/// The rule by which a message is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeping {
    Must,
    May,
}

impl<'a, T: Text> WorkingCopy<'a, T> {
    /// Returns a working copy without edits. O(parts).
    pub fn new(
        conversation: &'a Conversation<T>,
        tokens: &'a Measured,
        pairs: Pairs,
        policy: &'a Policy,
        bounds: Bounds,
    ) -> WorkingCopy<'a, T> {
        let opening = opening(conversation);
        let cut_points = CutPoints::beside(opening, conversation, &pairs);
        let groups = cut_points.groups();
        let mut kept = vec![Keeping::May; conversation.messages.len()];
        for index in musts(conversation, policy) {
            kept[index] = Keeping::Must;
        }
        if let Some(Opening { request, thought }) = opening {
            kept[request] = Keeping::Must;
            kept[thought] = Keeping::Must;
        }
        // The model answers the newest exchange next. A system message after it is not an exchange.
        let speaks = |message: usize| conversation.messages[message].role != Role::System;
        if let Some(last) = groups.iter().rev().find(|group| (*group).clone().any(speaks)) {
            kept[last.clone()].fill(Keeping::Must);
        }
        for group in &groups {
            if kept[group.clone()].contains(&Keeping::Must) {
                kept[group.clone()].fill(Keeping::Must);
            }
        }
        WorkingCopy {
            conversation,
            policy,
            bounds,
            pairs,
            cut_points,
            groups,
            opening,
            tokens,
            kept,
            removed: vec![false; conversation.messages.len()],
            cuts: vec![None; tokens.item_count()],
            replaced: vec![0; conversation.messages.len()],
            parts: BTreeMap::new(),
            droppable: if policy.stages.contains(&StageName::Prune) { droppable(conversation) } else { Vec::new() },
            total: tokens.total(),
            summary: 0,
            recent_tokens: 0,
        }
    }

    /// Returns the working copy with the newest messages of this many tokens counted as recent, if they are more than
    /// the policy's.
    #[must_use]
    pub fn with_recent(self, recent_tokens: usize) -> WorkingCopy<'a, T> {
        WorkingCopy { recent_tokens, ..self }
    }

    /// Allows removing the whole tool loop at the end, if the model has thought in it. A loop with a pin or an open
    /// call is kept, and so is one that the policy keeps. O(messages).
    pub fn release_last_loop(&mut self) {
        let messages = &self.conversation.messages;
        let Some(start) = self.opening.map(|opening| opening.request + 1) else { return };
        let waits = self.pairs.calls().iter().any(|call| call.message >= start && call.result.is_none());
        let is_fixed = fixed(self.conversation, self.policy).any(|message| message >= start);
        let is_loop = messages.last().is_some_and(Message::has_result) && self.cut_points.is_legal(start);
        if waits || is_fixed || !is_loop {
            return;
        }
        self.opening = None;
        self.groups.retain(|group| group.end <= start);
        self.groups.push(start..messages.len());
        self.kept[start..].fill(Keeping::May);
    }

    /// Returns the most tokens of the conversation with the edits so far.
    pub fn total(&self) -> usize {
        self.total + self.summary
    }

    /// True if pins and tasks allow removing the message.
    pub fn may_remove(&self, message: usize) -> bool {
        self.kept[message] == Keeping::May && !self.removed[message]
    }

    /// True if the message is already removed.
    pub fn is_removed(&self, message: usize) -> bool {
        self.removed[message]
    }

    /// Returns the number of messages kept so far, including the note of each gap.
    pub fn message_count(&self) -> usize {
        self.removed.iter().filter(|removed| !**removed).count() + self.gaps().len()
    }

    fn may_touch(&self, message: usize) -> bool {
        !self.removed[message] && self.conversation.messages[message].pin == Pin::Free
    }

    fn item_tokens(&self, place: ItemPlace) -> usize {
        match &self.cuts[self.index_of(place)] {
            Some((_, cut)) => self.most_of(cut),
            None => self.tokens.item(place.message, place.part, place.item),
        }
    }

    /// Returns the most tokens of an item after a cut.
    fn most_of(&self, cut: &Cut) -> usize {
        match cut.superseded_by {
            Some(_) => self.bounds.superseded,
            None => cut.keep + self.bounds.mark,
        }
    }

    /// True if an item will be shortened.
    pub fn is_cut(&self, place: ItemPlace) -> bool {
        self.cuts[self.index_of(place)].is_some()
    }

    /// Returns the reasoning that the provider allows removing, as message and part.
    pub fn droppable(&self) -> &[(usize, usize)] {
        &self.droppable
    }

    fn index_of(&self, place: ItemPlace) -> usize {
        self.tokens.item_index(place.message, place.part, place.item)
    }

    /// Adds a proposal to the working copy, unless it saves nothing or changes protected content. So even a wrong stage
    /// cannot break a conversation.
    pub fn accept(&mut self, stage: StageName, proposal: Proposal) {
        match proposal {
            Proposal::Shorten { place, keep } => self.shorten(stage, place, keep),
            Proposal::Supersede { place, by } => self.supersede(stage, place, by),
            Proposal::Rewrite { message, part, rewriting } => self.rewrite(stage, message, part, rewriting),
            Proposal::Condense { message, part, keep } => self.condense(stage, message, part, keep),
            Proposal::DropReasoning { message } => self.drop_reasoning(stage, message),
            Proposal::Remove { messages } => self.remove(messages),
        }
    }

    /// True if lines of all removed content are kept in the remaining room. A cut by itself then keeps nothing.
    pub fn is_digested(&self) -> bool {
        self.policy.stages.contains(&StageName::Digest)
    }

    fn shorten(&mut self, stage: StageName, place: ItemPlace, keep: usize) {
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
        // A gap beside another one extends it; a gap between two others joins them.
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

    /// Removes the older notes in the message before a gap from `start` on, because the new note replaces them.
    fn replace_notes(&mut self, start: usize) {
        let messages = &self.conversation.messages;
        let before = match self.opening_before(start) {
            Some(opening) => Some(opening.request),
            None => (0..start).rev().find(|message| messages[*message].role != Role::System),
        };
        let Some(before) = before.filter(|message| self.may_touch(*message) && self.replaced[*message] == 0) else {
            return;
        };
        let parts = messages[before].parts.iter().enumerate().filter(|(_, part)| read_removal_note(part).is_some());
        self.replaced[before] = parts.map(|(part, _)| self.tokens.part(before, part)).sum();
        self.total -= self.replaced[before];
    }

    /// Returns the opening of the last turn, if a gap from `start` on is in that turn.
    pub fn opening_before(&self, start: usize) -> Option<Opening> {
        self.opening.filter(|opening| opening.request < start)
    }

    /// Undoes every shortening.
    pub fn restore(&mut self) {
        for slot in 0..self.cuts.len() {
            if let Some((_, cut)) = self.cuts[slot].take() {
                self.total = self.total + cut.tokens_before - self.most_of(&cut);
            }
        }
        self.restore_parts();
    }

    /// Returns the most tokens of the message with the edits so far.
    pub fn message_tokens(&self, message: usize) -> usize {
        let cuts = self.cuts[self.tokens.items_of(message)].iter().flatten();
        cuts.fold(self.tokens.message(message) - self.replaced[message], |total, (_, cut)| {
            total - cut.tokens_before + self.most_of(cut)
        }) - self.saved_in_parts(message)
    }

    /// Returns the shortenings, in the order of the conversation.
    pub fn cuts(&self) -> impl Iterator<Item = (ItemPlace, Cut)> + '_ {
        self.cuts.iter().flatten().cloned()
    }

    /// Returns the gaps: maximal ranges of removed messages.
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

    /// Returns the largest remaining messages first, with their upper bounds in tokens.
    pub fn remaining(&self) -> Vec<(usize, usize)> {
        let mut rest: Vec<(usize, usize)> = (0..self.removed.len())
            .filter(|message| !self.removed[*message])
            .map(|message| (self.conversation.entry(message), self.message_tokens(message)))
            .collect();
        rest.sort_by_key(|(message, tokens)| (std::cmp::Reverse(*tokens), *message));
        rest
    }
}
