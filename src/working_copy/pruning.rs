//! Accepts proposals about superseded content: a line in place of an item, shorter arguments, removed reasoning.

use std::ops::Range;
use std::sync::Arc;

use super::{Cut, Keeping, WorkingCopy, read_removal_note};
use crate::edit::ItemPlace;
use crate::message::{Part, Role, Text};
use crate::policy::StageName;
use crate::store::Went;
use crate::wire::Step;

/// The content that supersedes other content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successor {
    /// Its message. As long as this is kept, the superseded content is not needed.
    pub message: usize,
    /// Its description without a semicolon, such as `a later read of src/lib.rs`.
    pub named: Arc<str>,
}

/// Texts in the arguments of a call that will each be replaced by a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentsRewrite {
    /// The path of their file.
    pub path: String,
    /// The texts, in order.
    pub texts: Vec<RewrittenArgument>,
}

/// One of these texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenArgument {
    /// The path to it.
    pub steps: Vec<Step>,
    /// Its position in the JSON of the arguments.
    pub literal: Range<usize>,
    /// Its number of characters.
    pub characters: usize,
    /// The action of the call on it.
    pub went: Went,
}

/// The change of a part that is not a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartChange {
    /// Texts in the arguments of a call become lines.
    Rewrite(ArgumentsRewrite),
    /// This many tokens of a text are kept.
    Condense(usize),
    /// The part is removed.
    Drop,
}

/// An accepted change of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartCut {
    /// The stage that proposed it.
    pub stage: StageName,
    /// The change.
    pub change: PartChange,
    /// Tokens of the part before the change.
    pub tokens_before: usize,
    /// The most tokens of the part after the change.
    pub(super) at_most: usize,
}

impl<T: Text> WorkingCopy<'_, T> {
    pub(super) fn supersede(&mut self, stage: StageName, place: ItemPlace, by: Successor) {
        let (now, then) = (self.item_tokens(place), self.bounds.superseded);
        // A required message may be kept while its successor is removed. Any other older message is removed before its
        // successor.
        let outlives = self.kept[place.message] == Keeping::Must && self.kept[by.message] == Keeping::May;
        if !self.may_touch(place.message) || self.removed[by.message] || outlives || then >= now {
            return;
        }
        let tokens_before = self.tokens.item(place.message, place.part, place.item);
        let index = self.index_of(place);
        let superseded_by = Some(by.named);
        self.cuts[index] = Some((place, Cut { stage, keep: 0, tokens_before, superseded_by }));
        self.total = self.total - now + then;
    }

    pub(super) fn rewrite(&mut self, stage: StageName, message: usize, part: usize, rewriting: ArgumentsRewrite) {
        if let Part::Call { id, name, input } = &self.conversation.messages[message].parts[part] {
            let at_most = self.most_of_call(&rewriting, [id, name, input]);
            self.change_part(stage, (message, part), PartChange::Rewrite(rewriting), at_most);
        }
    }

    pub(super) fn condense(&mut self, stage: StageName, message: usize, part: usize, keep: usize) {
        let content = &self.conversation.messages[message];
        let is_note = read_removal_note(&content.parts[part]).is_some();
        // A gap of this plan removes its older notes.
        if content.role == Role::System || is_note && self.replaced[message] > 0 {
            return;
        }
        let at_most = if is_note { self.bounds.note } else { keep + self.bounds.text };
        self.change_part(stage, (message, part), PartChange::Condense(keep), at_most);
    }

    pub(super) fn drop_reasoning(&mut self, stage: StageName, message: usize) {
        let first = self.droppable.partition_point(|(other, _)| *other < message);
        let here = self.droppable[first..].iter().copied().take_while(|(other, _)| *other == message);
        for place in here.collect::<Vec<_>>() {
            self.change_part(stage, place, PartChange::Drop, 0);
        }
    }

    fn change_part(&mut self, stage: StageName, place: (usize, usize), change: PartChange, at_most: usize) {
        let (message, part) = place;
        let tokens_before = self.tokens.part(message, part);
        let now = self.parts.get(&(message, part)).map_or(tokens_before, |cut| cut.at_most);
        if !self.may_touch(message) || at_most >= now {
            return;
        }
        self.total = self.total - now + at_most;
        self.parts.insert(place, PartCut { stage, change, tokens_before, at_most });
    }

    /// Returns the most tokens of a call with other arguments.
    fn most_of_call(&self, rewriting: &ArgumentsRewrite, [id, name, input]: [&T; 3]) -> usize {
        /// Bytes for each token of names and short values: only random ones have fewer. If this is wrong, the plan
        /// comes out too large and is made again, tighter.
        const BYTES_A_TOKEN: usize = 2;
        let gone: usize = rewriting.texts.iter().map(|text| text.literal.len()).sum();
        let stays = id.len() + name.len() + input.len() - gone;
        self.bounds.call + stays.div_ceil(BYTES_A_TOKEN) + rewriting.texts.len() * self.bounds.argument
    }

    /// Returns the accepted changes of parts in kept messages, in the order of the conversation.
    pub fn part_cuts(&self) -> impl Iterator<Item = ((usize, usize), &PartCut)> {
        self.parts.iter().map(|(place, cut)| (*place, cut))
    }

    /// Returns the tokens that the changes of its parts save in a message.
    pub(super) fn saved_in_parts(&self, message: usize) -> usize {
        self.parts.range((message, 0)..(message + 1, 0)).map(|(_, cut)| cut.tokens_before - cut.at_most).sum()
    }

    /// Undoes the changes in a message that is removed.
    pub(super) fn forget(&mut self, message: usize) {
        self.cuts[self.tokens.items_of(message)].fill(None);
        let parts: Vec<_> = self.parts.range((message, 0)..(message + 1, 0)).map(|(place, _)| *place).collect();
        for place in parts {
            self.parts.remove(&place);
        }
    }

    pub(super) fn restore_parts(&mut self) {
        self.total += self.parts.values().map(|cut| cut.tokens_before - cut.at_most).sum::<usize>();
        self.parts.clear();
    }
}
