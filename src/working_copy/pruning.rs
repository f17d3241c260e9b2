//! Accepts proposals about superseded content: a line in place of an item, shorter arguments, removed reasoning.

use std::ops::Range;
use std::sync::Arc;

use super::{Cut, Keeping, WorkingCopy, read_removal_note};
use crate::edit::ItemPlace;
use crate::message::{Part, Role, Text};
use crate::policy::StageName;
use crate::store::Went;
use crate::wire::Step;

/// The content that supersedes something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successor {
    /// Its message: while this stays, what it supersedes is not needed.
    pub message: usize,
    /// Its description, such as `a later read of src/lib.rs`. Without a semicolon.
    pub named: Arc<str>,
}

/// Texts in the arguments of a call that are to give way to a line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentsRewrite {
    /// The file that they are of.
    pub path: String,
    /// The texts, in their order.
    pub texts: Vec<RewrittenArgument>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenArgument {
    /// The way to it.
    pub steps: Vec<Step>,
    /// Its position in the JSON of the arguments.
    pub literal: Range<usize>,
    /// Its characters.
    pub characters: usize,
    /// Its meaning for the file.
    pub went: Went,
}

/// The change of a part that is not a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartChange {
    /// Texts in the arguments of a call become lines.
    Rewrite(ArgumentsRewrite),
    /// So many tokens of a text are kept.
    Condense(usize),
    /// It goes away.
    Drop,
}

/// A change of a part that the planner accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartCut {
    /// The stage that proposed it.
    pub stage: StageName,
    /// The change.
    pub change: PartChange,
    /// Tokens of the part before.
    pub tokens_before: usize,
    /// The most that it takes afterwards.
    pub(super) at_most: usize,
}

impl<T: Text> WorkingCopy<'_, T> {
    pub(super) fn supersede(&mut self, stage: StageName, place: ItemPlace, by: Successor) {
        let (now, then) = (self.item_tokens(place), self.bounds.superseded);
        // A message that must stay can outlive a successor that may be removed; any other older message is removed
        // before it.
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
        // A gap of this plan takes its older notes away.
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

    /// The most tokens that a call takes with other arguments.
    fn most_of_call(&self, rewriting: &ArgumentsRewrite, [id, name, input]: [&T; 3]) -> usize {
        /// Bytes of names and short values for each token: denser than any but random ones. Where it is not enough, the
        /// plan comes out too large and is made again, tighter.
        const BYTES_A_TOKEN: usize = 2;
        let gone: usize = rewriting.texts.iter().map(|text| text.literal.len()).sum();
        let stays = id.len() + name.len() + input.len() - gone;
        self.bounds.call + stays.div_ceil(BYTES_A_TOKEN) + rewriting.texts.len() * self.bounds.argument
    }

    /// Returns the accepted changes of parts in kept messages, in the order of the conversation.
    pub fn part_cuts(&self) -> impl Iterator<Item = ((usize, usize), &PartCut)> {
        self.parts.iter().map(|(place, cut)| (*place, cut))
    }

    /// Tokens by which the changes of its parts make a message shorter.
    pub(super) fn saved_in_parts(&self, message: usize) -> usize {
        self.parts.range((message, 0)..(message + 1, 0)).map(|(_, cut)| cut.tokens_before - cut.at_most).sum()
    }

    /// Takes back what was done in a message that goes.
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
