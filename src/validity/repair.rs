//! The nearest history that a provider takes.
//!
//! Nothing goes away that can stay: a call without a result gets one that says so, a result that comes late is put
//! behind its call, one without a call becomes words, and messages of one role in a row become one where roles must
//! alternate.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::working::{Draft, is_result, part_of, place_of, words_of};
use crate::invariants::{Demand, Pairs, is_blank};
use crate::message::{Conversation, Part, Role, Text};
use crate::wire::{Change, Piece};

/// What becomes of a call that was never answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenCalls {
    /// It gets a result that says that there is none.
    Answer,
    /// It is removed.
    Remove,
}

/// One thing that was mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The rule that was broken.
    pub rule: &'static str,
    /// Index of the message as it came.
    pub message: usize,
    /// What was done.
    pub what: String,
}

/// A mended conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// How it is made of the old one.
    pub changes: Vec<Change<'static>>,
    /// What was done, in the order of the messages; nothing for a history that breaks no rule.
    pub repairs: Vec<Repair>,
}

/// What a call is answered with that was never answered.
const NO_RESULT: &str = "[ullage: this tool call was never answered]";
/// What stands above a result whose call is gone.
const LOST_CALL: &str = "[ullage: the result of a tool call that is no longer in this conversation]";
/// What ends a message that would end in reasoning.
const STOPPED: &str = "[ullage: the model stopped here]";
/// What a conversation begins with that would begin with the model.
const BEGINNING: &str = "[ullage: the conversation goes on here]";

/// Mends a conversation until no rule is broken that all providers share, nor any of `demands`. O(parts).
pub fn repair<T: Text>(conversation: &Conversation<T>, demands: &[Demand], open: OpenCalls) -> Repaired {
    let mut mending = Mending { conversation, demands, drafts: Vec::new(), repairs: Vec::new() };
    mending.split_by_role();
    mending.drop_blanks();
    mending.move_system();
    mending.name_apart();
    mending.pair(open);
    mending.drop_empty();
    mending.end_reasoning();
    mending.alternate();
    mending.order_results();
    mending.begin_with_user();
    mending.repairs.sort_by_key(|repair| repair.message);
    Repaired { changes: mending.drafts.into_iter().map(Draft::into_change).collect(), repairs: mending.repairs }
}

struct Mending<'a, T> {
    conversation: &'a Conversation<T>,
    demands: &'a [Demand],
    drafts: Vec<Draft>,
    repairs: Vec<Repair>,
}

impl<T: Text> Mending<'_, T> {
    fn demanded(&self, demand: Demand) -> bool {
        self.demands.contains(&demand)
    }

    fn note(&mut self, rule: &'static str, message: Option<usize>, what: impl Into<String>) {
        self.repairs.push(Repair { rule, message: message.unwrap_or_default(), what: what.into() });
    }

    /// Calls and reasoning are the model's, results the user's: a message that mixes them becomes several.
    fn split_by_role(&mut self) {
        for message in 0..self.conversation.messages.len() {
            let whole = Draft::of(self.conversation, message);
            let role_of = |piece: &Piece| match part_of(self.conversation, piece) {
                Some(Part::Call { .. } | Part::Reasoning { .. }) => Role::Assistant,
                Some(Part::Result { .. }) => Role::User,
                _ => whole.role,
            };
            if whole.pieces.iter().all(|piece| role_of(piece) == whole.role) {
                self.drafts.push(whole);
                continue;
            }
            let first = self.drafts.len();
            for piece in whole.pieces.clone() {
                let role = role_of(&piece);
                match self.drafts[first..].last_mut() {
                    Some(last) if last.role == role => last.pieces.push(piece),
                    _ => self.drafts.push(Draft { like: Some(message), role, pieces: vec![piece], changed: true }),
                }
            }
            self.note("block-is-of-its-role", Some(message), "its blocks were put into messages of their roles");
        }
    }

    fn drop_blanks(&mut self) {
        if !self.demanded(Demand::NoBlanks) {
            return;
        }
        for index in 0..self.drafts.len() {
            let conversation = self.conversation;
            let draft = &mut self.drafts[index];
            let before = draft.pieces.len();
            draft.retain(|piece| part_of(conversation, piece).is_none_or(|part| !is_blank(part)));
            if draft.pieces.len() < before {
                let like = draft.like;
                self.note("text-is-not-blank", like, "its blank texts were removed");
            }
        }
    }

    fn move_system(&mut self) {
        if !self.demanded(Demand::SystemApart) {
            return;
        }
        for index in 0..self.drafts.len() {
            if self.drafts[index].role == Role::System {
                self.drafts[index].role = Role::User;
                self.drafts[index].changed = true;
                let like = self.drafts[index].like;
                self.note("system-stands-apart", like, "the system message became words of the user");
            }
        }
    }

    /// Gives ids of their own to calls that share one in a message, and to their results.
    fn name_apart(&mut self) {
        let pairs = Pairs::of(self.conversation);
        if pairs.repeated().is_empty() {
            return;
        }
        let parts = self.conversation.messages.iter().flat_map(|message| &message.parts);
        let mut taken: HashSet<String, RandomState> = parts
            .filter_map(|part| match part {
                Part::Call { id, .. } | Part::Result { id, .. } => Some(id.to_string()),
                _ => None,
            })
            .collect();
        let mut renamed: HashMap<(usize, usize), String, RandomState> = HashMap::default();
        let repeated: HashSet<(usize, usize), RandomState> = pairs.repeated().iter().copied().collect();
        for call in pairs.calls().iter().filter(|call| repeated.contains(&(call.message, call.part))) {
            let Part::Call { id, .. } = &self.conversation.messages[call.message].parts[call.part] else { continue };
            let fresh = (2_usize..).map(|number| format!("{}-{number}", &**id)).find(|new| !taken.contains(new));
            let Some(fresh) = fresh else { continue };
            taken.insert(fresh.clone());
            self.note("ids-are-unique", Some(call.message), format!("a second call '{}' became '{fresh}'", &**id));
            renamed.extend(call.result.map(|result| (result, fresh.clone())));
            renamed.insert((call.message, call.part), fresh);
        }
        for draft in &mut self.drafts {
            for piece in &mut draft.pieces {
                if let Piece::Part { message, part, id } = piece
                    && let Some(fresh) = renamed.get(&(*message, *part))
                {
                    *id = Some(fresh.clone());
                    draft.changed = true;
                }
            }
        }
    }

    /// Puts every result right behind its call, answers the calls that have none, and lets results without a call speak.
    fn pair(&mut self, open: OpenCalls) {
        let pairs = Pairs::of(self.conversation);
        let result_of: HashMap<(usize, usize), Option<(usize, usize)>, RandomState> =
            pairs.calls().iter().map(|call| ((call.message, call.part), call.result)).collect();
        let orphans: HashSet<(usize, usize), RandomState> = pairs.orphans().iter().copied().collect();
        let last_speaker = self.drafts.iter().rposition(|draft| draft.role != Role::System);
        let mut here: HashMap<(usize, usize), Piece, RandomState> = HashMap::default();
        for piece in self.drafts.iter().flat_map(|draft| &draft.pieces) {
            if let Piece::Part { message, part, .. } = piece {
                here.insert((*message, *part), piece.clone());
            }
        }

        let drafts = std::mem::take(&mut self.drafts);
        // The results that the calls before wait for, in their order.
        let mut due: Vec<Piece> = Vec::new();
        let mut moved: HashSet<(usize, usize), RandomState> = HashSet::default();
        for (index, mut draft) in drafts.into_iter().enumerate() {
            self.let_orphans_speak(&mut draft, &orphans);
            let speaks = draft.role != Role::System;
            if speaks && draft.role == Role::User && due.iter().all(|piece| draft.pieces.contains(piece)) {
                due.drain(..).filter_map(|piece| place_of(&piece)).for_each(|place| {
                    moved.remove(&place);
                });
            }
            let late = due.iter().any(|piece| place_of(piece).is_some() && !draft.pieces.contains(piece));
            draft.retain(|piece| place_of(piece).is_none_or(|place| !moved.contains(&place)));
            if speaks && !due.is_empty() {
                if late {
                    self.note("result-follows-its-call", draft.like, "late results were put behind their calls");
                }
                if draft.role == Role::User {
                    draft.pieces.splice(0..0, due.drain(..));
                    draft.changed = true;
                } else {
                    self.insert_due(&mut due);
                }
            }
            let mut pieces = Vec::with_capacity(draft.pieces.len());
            for piece in std::mem::take(&mut draft.pieces) {
                let Some((Part::Call { id, name, .. }, Piece::Part { message, part, id: new })) =
                    part_of(self.conversation, &piece).map(|part| (part, &piece))
                else {
                    pieces.push(piece);
                    continue;
                };
                let result = result_of.get(&(*message, *part)).copied().flatten();
                match result.and_then(|place| Some((place, here.get(&place)?.clone()))) {
                    Some((_, result)) => due.push(result),
                    None if open == OpenCalls::Remove => {
                        self.note(
                            "call-has-its-result",
                            Some(*message),
                            format!("the open call of '{}' was removed", &**name),
                        );
                        draft.changed = true;
                        continue;
                    }
                    None if Some(index) == last_speaker && !self.demanded(Demand::NoOpenCallAtTheEnd) => {}
                    None => {
                        self.note(
                            "call-has-its-result",
                            Some(*message),
                            format!("the open call of '{}' was answered", &**name),
                        );
                        let id = new.clone().unwrap_or_else(|| id.to_string());
                        due.push(Piece::Answer {
                            message: *message,
                            part: *part,
                            id,
                            tool: name.to_string(),
                            text: NO_RESULT.to_owned(),
                        });
                    }
                }
                pieces.push(piece);
            }
            draft.pieces = pieces;
            moved.extend(due.iter().filter_map(place_of));
            self.drafts.push(draft);
        }
        self.insert_due(&mut due);
    }

    fn let_orphans_speak(&mut self, draft: &mut Draft, orphans: &HashSet<(usize, usize), RandomState>) {
        let mut pieces = Vec::with_capacity(draft.pieces.len());
        for piece in std::mem::take(&mut draft.pieces) {
            let Piece::Part { message, part, .. } = &piece else {
                pieces.push(piece);
                continue;
            };
            if !orphans.contains(&(*message, *part)) {
                pieces.push(piece);
                continue;
            }
            draft.changed = true;
            match words_of(&self.conversation.messages[*message].parts[*part]) {
                Some(words) => {
                    self.note("result-follows-its-call", Some(*message), "a result without a call became words");
                    pieces.push(Piece::Text(format!("{LOST_CALL}\n{words}")));
                }
                None => self.note(
                    "result-follows-its-call",
                    Some(*message),
                    "a result without a call and words was removed",
                ),
            }
        }
        draft.pieces = pieces;
    }

    /// Puts the results that are due into a message of their own, right behind their calls.
    fn insert_due(&mut self, due: &mut Vec<Piece>) {
        if due.is_empty() {
            return;
        }
        // Behind the call itself, in front of system messages that came after it.
        let at = self.drafts.iter().rposition(|draft| draft.role != Role::System).map_or(0, |at| at + 1);
        self.drafts.insert(at, Draft::new(Role::User, std::mem::take(due)));
    }

    fn drop_empty(&mut self) {
        let all = self.demanded(Demand::NoBlanks) || self.demanded(Demand::NoEmptyMessage);
        let gone: Vec<Option<usize>> = self
            .drafts
            .iter()
            .filter(|draft| draft.pieces.is_empty() && all && !draft.changed)
            .map(|draft| draft.like)
            .collect();
        for like in gone {
            self.note("message-is-not-empty", like, "the empty message was removed");
        }
        self.drafts.retain(|draft| !draft.pieces.is_empty() || !draft.changed && !all);
    }

    fn end_reasoning(&mut self) {
        if !self.demanded(Demand::ReasoningLeads) {
            return;
        }
        for index in 0..self.drafts.len() {
            let last = self.drafts[index].pieces.last().and_then(|piece| part_of(self.conversation, piece));
            if matches!(last, Some(Part::Reasoning { .. })) {
                self.drafts[index].pieces.push(Piece::Text(STOPPED.to_owned()));
                self.drafts[index].changed = true;
                let like = self.drafts[index].like;
                self.note("reasoning-does-not-end-a-message", like, "a word was put behind its reasoning");
            }
        }
    }

    fn alternate(&mut self) {
        if !self.demanded(Demand::Alternation) {
            return;
        }
        let mut joined: Vec<Draft> = Vec::with_capacity(self.drafts.len());
        for draft in std::mem::take(&mut self.drafts) {
            match joined.last_mut() {
                Some(before) if before.role == draft.role => {
                    before.pieces.extend(draft.pieces);
                    before.changed = true;
                    self.note(
                        "roles-alternate",
                        draft.like.or(before.like),
                        "it was joined with the message before it",
                    );
                }
                _ => joined.push(draft),
            }
        }
        self.drafts = joined;
    }

    fn order_results(&mut self) {
        for index in 0..self.drafts.len() {
            let conversation = self.conversation;
            let draft = &mut self.drafts[index];
            let before = draft.pieces.clone();
            draft.pieces.sort_by_key(|piece| !is_result(conversation, piece));
            if draft.pieces == before {
                continue;
            }
            if draft.changed || self.demands.contains(&Demand::ResultsFirst) {
                draft.changed = true;
                let like = draft.like;
                self.note("results-come-first", like, "its results were put in front");
            } else {
                draft.pieces = before;
            }
        }
    }

    fn begin_with_user(&mut self) {
        let first = self.drafts.iter().position(|draft| draft.role != Role::System);
        if let Some(at) = first.filter(|at| self.drafts[*at].role != Role::User && self.demanded(Demand::FirstIsUsers))
        {
            let like = self.drafts[at].like;
            self.note("first-is-the-users", like, "a message of the user was put in front");
            self.drafts.insert(at, Draft::new(Role::User, vec![Piece::Text(BEGINNING.to_owned())]));
        }
    }
}
