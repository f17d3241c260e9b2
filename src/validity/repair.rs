//! Finds the nearest history that a provider accepts.
//!
//! As much as possible is kept. A call without a result gets one that says so. A late result is moved after its call. A
//! result without a call becomes words. Consecutive messages with the same role become one if roles must alternate.

use super::working::{RepairedMessage, part_of};
use crate::invariants::{Demand, first_accompanied, first_apart, is_blank};
use crate::message::{Conversation, Part, Pin, Role, Text};
use crate::wire::{Change, Piece};

/// The treatment of calls that were never answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenCalls {
    /// The call gets a result that says that there is none.
    Answer,
    /// The call is removed.
    Remove,
    /// A call that may still be answered stays unchanged. Any other call is answered.
    Wait,
}

/// A single repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The rule that was broken.
    pub rule: &'static str,
    /// Index of the message in the original list.
    pub message: usize,
    /// The description of the repair.
    pub what: String,
}

/// A repaired conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The changes to the original history.
    pub changes: Vec<Change<'static>>,
    /// The repairs, in the order of the messages; empty for a valid history.
    pub repairs: Vec<Repair>,
}

/// Appended to a message that would otherwise end with reasoning.
const STOPPED: &str = "[ullage: the model stopped here]";
/// Put before a conversation that would otherwise begin with the model.
const BEGINNING: &str = "[ullage: the conversation continues here]";

/// Repairs a conversation until it breaks no rule that all providers share, and none of `demands`. O(parts).
pub fn repair<T: Text>(conversation: &Conversation<T>, demands: &[Demand], open: OpenCalls) -> Repaired {
    let mut mending = Repairer { conversation, demands, repaired_messages: Vec::new(), repairs: Vec::new() };
    mending.split_by_role();
    mending.drop_blanks();
    mending.move_system();
    mending.name_apart();
    mending.name_tools();
    mending.pair(open);
    mending.drop_empty();
    mending.end_reasoning();
    mending.alternate();
    mending.part_results();
    mending.gather_results();
    mending.order_results();
    mending.begin_with_user();
    mending.repairs.sort_by_key(|repair| repair.message);
    Repaired {
        changes: mending.repaired_messages.into_iter().map(RepairedMessage::into_change).collect(),
        repairs: mending.repairs,
    }
}

pub(super) struct Repairer<'a, T> {
    pub(super) conversation: &'a Conversation<T>,
    demands: &'a [Demand],
    pub(super) repaired_messages: Vec<RepairedMessage>,
    repairs: Vec<Repair>,
}

impl<T: Text> Repairer<'_, T> {
    pub(super) fn demanded(&self, demand: Demand) -> bool {
        self.demands.contains(&demand)
    }

    pub(super) fn note(&mut self, rule: &'static str, message: Option<usize>, what: impl Into<String>) {
        self.repairs.push(Repair { rule, message: message.unwrap_or_default(), what: what.into() });
    }

    /// Splits messages that mix roles: calls and reasoning are the model's, and results are the user's.
    fn split_by_role(&mut self) {
        for message in 0..self.conversation.messages.len() {
            let whole = RepairedMessage::of(self.conversation, message);
            let role_of = |piece: &Piece| match part_of(self.conversation, piece) {
                Some(Part::Call { .. } | Part::Reasoning { .. }) => Role::Assistant,
                Some(Part::Result { .. }) => Role::User,
                _ => whole.role,
            };
            if whole.pieces.iter().all(|piece| role_of(piece) == whole.role) {
                self.repaired_messages.push(whole);
                continue;
            }
            let first = self.repaired_messages.len();
            for piece in whole.pieces.clone() {
                let role = role_of(&piece);
                match self.repaired_messages[first..].last_mut() {
                    Some(last) if last.role == role => last.pieces.push(piece),
                    _ => self.repaired_messages.push(RepairedMessage {
                        like: Some(message),
                        role,
                        pieces: vec![piece],
                        changed: true,
                    }),
                }
            }
            self.note("role-allows-block", Some(message), "its blocks were moved to messages with their roles");
        }
    }

    fn drop_blanks(&mut self) {
        if !self.demanded(Demand::NoBlanks) {
            return;
        }
        for index in 0..self.repaired_messages.len() {
            let conversation = self.conversation;
            let repaired = &mut self.repaired_messages[index];
            let before = repaired.pieces.len();
            repaired.retain(|piece| part_of(conversation, piece).is_none_or(|part| !is_blank(part)));
            if repaired.pieces.len() < before {
                let like = repaired.like;
                self.note("no-blank-text", like, "its blank texts were removed");
            }
        }
    }

    fn move_system(&mut self) {
        if !self.demanded(Demand::SystemApart) {
            return;
        }
        for index in 0..self.repaired_messages.len() {
            if self.repaired_messages[index].role == Role::System {
                self.repaired_messages[index].role = Role::User;
                self.repaired_messages[index].changed = true;
                let like = self.repaired_messages[index].like;
                self.note("system-not-in-messages", like, "the system message became a user message");
            }
        }
    }

    fn drop_empty(&mut self) {
        let all = self.demanded(Demand::NoEmptyMessage);
        let gone: Vec<Option<usize>> = self
            .repaired_messages
            .iter()
            .filter(|repaired| repaired.pieces.is_empty() && all && !repaired.changed)
            .map(|repaired| repaired.like)
            .collect();
        for like in gone {
            self.note("no-empty-message", like, "the empty message was removed");
        }
        self.repaired_messages.retain(|repaired| !repaired.pieces.is_empty() || !repaired.changed && !all);
    }

    fn end_reasoning(&mut self) {
        if !self.demanded(Demand::ReasoningLeads) {
            return;
        }
        for index in 0..self.repaired_messages.len() {
            let last = self.repaired_messages[index].pieces.last().and_then(|piece| part_of(self.conversation, piece));
            if matches!(last, Some(Part::Reasoning { .. })) {
                self.repaired_messages[index].pieces.push(Piece::Text { text: STOPPED.to_owned(), of: None });
                self.repaired_messages[index].changed = true;
                let like = self.repaired_messages[index].like;
                self.note("reasoning-not-last", like, "a word was added after its reasoning");
            }
        }
    }

    fn alternate(&mut self) {
        if !self.demanded(Demand::Alternation) {
            return;
        }
        let mut joined: Vec<RepairedMessage> = Vec::with_capacity(self.repaired_messages.len());
        for mut repaired in std::mem::take(&mut self.repaired_messages) {
            if let Some(message) = repaired.like
                && !self.conversation.messages[message].span.later_entries().is_empty()
            {
                repaired.changed = true;
                self.note("roles-alternate", Some(message), "it was joined with the next message of the same role");
            }
            match joined.last_mut() {
                Some(before) if before.role == repaired.role => {
                    // The pinned message gives its other fields, otherwise the first.
                    let is_pinned = |like: &usize| self.conversation.messages[*like].pin == Pin::Pinned;
                    if before.like.is_none_or(|like| !is_pinned(&like)) {
                        before.like = repaired.like.filter(is_pinned).or(before.like);
                    }
                    before.pieces.extend(repaired.pieces);
                    before.changed = true;
                    self.note(
                        "roles-alternate",
                        repaired.like.or(before.like),
                        "it was joined with the message before it",
                    );
                }
                _ => joined.push(repaired),
            }
        }
        self.repaired_messages = joined;
    }

    /// Gives results that share an entry with other parts an entry of their own when the message is written.
    fn part_results(&mut self) {
        if !self.demanded(Demand::ResultsAlone) {
            return;
        }
        for index in 0..self.repaired_messages.len() {
            let Some(message) =
                self.repaired_messages[index].like.filter(|_| self.repaired_messages[index].role == Role::User)
            else {
                continue;
            };
            if first_accompanied(&self.conversation.messages[message]).is_some() {
                self.repaired_messages[index].changed = true;
                self.note("results-not-mixed", Some(message), "its results were put into a content of their own");
            }
        }
    }

    /// Puts the results of parallel calls into one entry when the message is written.
    fn gather_results(&mut self) {
        if !self.demanded(Demand::ResultsTogether) {
            return;
        }
        for index in 0..self.repaired_messages.len() {
            let Some(message) =
                self.repaired_messages[index].like.filter(|_| self.repaired_messages[index].role == Role::User)
            else {
                continue;
            };
            if first_apart(&self.conversation.messages[message]).is_some() {
                self.repaired_messages[index].changed = true;
                self.note("parallel-results-together", Some(message), "its results were put into one content");
            }
        }
    }

    fn order_results(&mut self) {
        for index in 0..self.repaired_messages.len() {
            let conversation = self.conversation;
            let repaired = &mut self.repaired_messages[index];
            let before = repaired.pieces.clone();
            repaired.pieces.sort_by_key(|piece| !piece.is_result(conversation));
            if repaired.pieces == before {
                continue;
            }
            if repaired.changed || self.demands.contains(&Demand::ResultsFirst) {
                repaired.changed = true;
                let like = repaired.like;
                self.note("results-first", like, "its results were moved to the beginning");
            } else {
                repaired.pieces = before;
            }
        }
    }

    fn begin_with_user(&mut self) {
        let first = self.repaired_messages.iter().position(|repaired| repaired.role != Role::System);
        if let Some(at) =
            first.filter(|at| self.repaired_messages[*at].role != Role::User && self.demanded(Demand::FirstIsUsers))
        {
            let like = self.repaired_messages[at].like;
            self.note("starts-with-user", like, "a user message was added at the beginning");
            self.repaired_messages.insert(
                at,
                RepairedMessage::new(Role::User, vec![Piece::Text { text: BEGINNING.to_owned(), of: None }]),
            );
        }
    }
}
