//! Brings calls and their results together.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::repair::{OpenCalls, Repairer};
use super::working::{RepairedMessage, part_of, pictures_of, place_of, words_of};
use crate::error::shown;
use crate::invariants::{Awaits, Demand, Pairs};
use crate::message::{Part, Role, Text};
use crate::wire::Piece;

/// The result of a call that was never answered.
const NO_RESULT: &str = "[ullage: this tool call was never answered]";
/// The line before a result whose call is missing. It has the user's role, but is not a request.
pub const LOST_CALL: &str = "[ullage: the result of a tool call that is no longer in this conversation]";

/// A message and a part of it.
type PartOfMessage = (usize, usize);

impl<T: Text> Repairer<'_, T> {
    /// Gives new ids to calls that share one in a message, and to their results.
    pub(super) fn name_apart(&mut self) {
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
        let mut renamed: HashMap<PartOfMessage, String, RandomState> = HashMap::default();
        let repeated: HashSet<PartOfMessage, RandomState> = pairs.repeated().iter().copied().collect();
        // For each id, the first number that may be free. All smaller ones are taken.
        let mut next: HashMap<&str, usize, RandomState> = HashMap::default();
        let conversation = self.conversation;
        for call in pairs.calls().iter().filter(|call| repeated.contains(&(call.message, call.part))) {
            let Part::Call { id, .. } = &conversation.messages[call.message].parts[call.part] else { continue };
            let first = next.entry(id).or_insert(2);
            // One of this many numbers is free.
            let mut names = (*first..taken.len() + 3).map(|number| (number, format!("{}-{number}", &**id)));
            let Some((number, fresh)) = names.find(|(_, new)| !taken.contains(new)) else { continue };
            *first = number + 1;
            taken.insert(fresh.clone());
            self.note(
                "call-ids-unique",
                Some(call.message),
                format!("a second call '{}' became '{}'", shown(id), shown(&fresh)),
            );
            renamed.extend(call.result.map(|result| (result, fresh.clone())));
            renamed.insert((call.message, call.part), fresh);
        }
        for repaired in &mut self.repaired_messages {
            for piece in &mut repaired.pieces {
                if let Piece::Part { message, part, id, .. } = piece
                    && let Some(fresh) = renamed.get(&(*message, *part))
                {
                    *id = Some(fresh.clone());
                    repaired.changed = true;
                }
            }
        }
    }

    /// Gives each result the name of its call's tool.
    pub(super) fn name_tools(&mut self) {
        if !self.demanded(Demand::ResultsNameTheirTool) {
            return;
        }
        let conversation = self.conversation;
        let pairs = Pairs::of(conversation);
        let misnamed: Vec<(PartOfMessage, &str)> = pairs.misnamed(conversation).collect();
        for ((message, _), _) in &misnamed {
            self.note("result-names-tool", Some(*message), "a result got the name of the tool that was called");
        }
        let named: HashMap<PartOfMessage, &str, RandomState> = misnamed.into_iter().collect();
        for repaired in &mut self.repaired_messages {
            for piece in &mut repaired.pieces {
                if let Piece::Part { message, part, tool, .. } = piece
                    && let Some(name) = named.get(&(*message, *part))
                {
                    *tool = Some((*name).to_owned());
                    repaired.changed = true;
                }
            }
        }
    }

    /// Puts every result right after its call, answers calls without a result, and turns results without a call into
    /// words.
    pub(super) fn pair(&mut self, open: OpenCalls) {
        let mut messages = std::mem::take(&mut self.repaired_messages);
        let pairs = Pairs::of(self.conversation);
        let result_of: HashMap<PartOfMessage, Option<PartOfMessage>, RandomState> =
            pairs.calls().iter().map(|call| ((call.message, call.part), call.result)).collect();
        let lawful = pairs.calls().iter().filter(|call| call.awaits == Awaits::Approval);
        let lawful: HashSet<PartOfMessage, RandomState> = lawful.map(|call| (call.message, call.part)).collect();
        let orphans: HashSet<PartOfMessage, RandomState> = pairs.orphans().iter().copied().collect();
        for repaired in &mut messages {
            self.let_orphans_speak(repaired, &orphans);
        }
        // After the results without a call became words, because words after a call end its wait.
        let last_word = messages.iter().rposition(|repaired| !self.only_answers(repaired)).unwrap_or(0);
        let last_speaker = messages.iter().rposition(|repaired| repaired.role != Role::System);
        let mut here: HashMap<PartOfMessage, Piece, RandomState> = HashMap::default();
        for piece in messages.iter().flat_map(|repaired| &repaired.pieces) {
            if let Piece::Part { message, part, .. } = piece {
                here.insert((*message, *part), piece.clone());
            }
        }

        // The results of the previous calls, in order.
        let mut due: Vec<Piece> = Vec::new();
        let mut moved: HashSet<PartOfMessage, RandomState> = HashSet::default();
        for (index, mut repaired) in messages.into_iter().enumerate() {
            let here_already: HashSet<PartOfMessage, RandomState> = match repaired.role {
                Role::User if !due.is_empty() => repaired.pieces.iter().filter_map(place_of).collect(),
                _ => HashSet::default(),
            };
            let stays = |piece: &Piece| place_of(piece).is_some_and(|place| here_already.contains(&place));
            if due.iter().all(stays) {
                due.drain(..).filter_map(|piece| place_of(&piece)).for_each(|place| {
                    moved.remove(&place);
                });
            }
            let late = due.iter().any(|piece| place_of(piece).is_some() && !stays(piece));
            repaired.retain(|piece| place_of(piece).is_none_or(|place| !moved.contains(&place)));
            if late {
                self.note("result-follows-call", repaired.like, "late results were moved after their calls");
            }
            if repaired.role == Role::User {
                repaired.changed |= !due.is_empty();
                repaired.pieces.splice(0..0, due.drain(..));
            } else {
                self.insert_due(&mut due);
            }
            let mut pieces = Vec::with_capacity(repaired.pieces.len());
            for piece in std::mem::take(&mut repaired.pieces) {
                let Some((Part::Call { id, name, .. }, Piece::Part { message, part, id: new, .. })) =
                    part_of(self.conversation, &piece).map(|part| (part, &piece))
                else {
                    pieces.push(piece);
                    continue;
                };
                let result = result_of.get(&(*message, *part)).copied().flatten();
                match result.and_then(|place| here.get(&place)) {
                    Some(result) => due.push(result.clone()),
                    None if lawful.contains(&(*message, *part)) => {}
                    None if Some(index) == last_speaker && !self.demanded(Demand::NoOpenCallAtTheEnd) => {}
                    None if open == OpenCalls::Wait && index >= last_word => {}
                    None if open == OpenCalls::Remove => {
                        self.note(
                            "call-has-result",
                            Some(*message),
                            format!("the open call of '{}' was removed", shown(name)),
                        );
                        repaired.changed = true;
                        continue;
                    }
                    None => {
                        self.note(
                            "call-has-result",
                            Some(*message),
                            format!("the open call of '{}' was answered", shown(name)),
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
            repaired.pieces = pieces;
            moved.extend(due.iter().filter_map(place_of));
            self.repaired_messages.push(repaired);
        }
        self.insert_due(&mut due);
    }

    /// True if a message only answers calls, or will be removed.
    fn only_answers(&self, repaired: &RepairedMessage) -> bool {
        let is_result = |piece: &Piece| piece.is_result(self.conversation);
        repaired.role == Role::System
            || repaired.pieces.is_empty() && repaired.changed
            || !repaired.pieces.is_empty() && repaired.pieces.iter().all(is_result)
    }

    fn let_orphans_speak(&mut self, repaired: &mut RepairedMessage, orphans: &HashSet<PartOfMessage, RandomState>) {
        let mut pieces = Vec::with_capacity(repaired.pieces.len());
        for piece in std::mem::take(&mut repaired.pieces) {
            let Piece::Part { message, part, .. } = &piece else {
                pieces.push(piece);
                continue;
            };
            if !orphans.contains(&(*message, *part)) {
                pieces.push(piece);
                continue;
            }
            repaired.changed = true;
            let (message, part) = (*message, *part);
            let result = &self.conversation.messages[message].parts[part];
            let (words, pictures) = (words_of(result), pictures_of(result));
            let what = match (&words, pictures.is_empty()) {
                (Some(_), true) => "a result without a call became words",
                (Some(_), false) => "a result without a call became words and pictures",
                (None, false) => "a result without a call became pictures",
                (None, true) => "a result without a call and words was removed",
            };
            self.note("result-follows-call", Some(message), what);
            if words.is_some() || !pictures.is_empty() {
                let text = words.map_or_else(|| LOST_CALL.to_owned(), |words| format!("{LOST_CALL}\n{words}"));
                pieces.push(Piece::Text { text, of: Some((message, part)) });
            }
            pieces.extend(pictures.into_iter().map(|item| Piece::Picture { message, part, item }));
        }
        repaired.pieces = pieces;
    }

    /// Puts the due results into a message of their own, right after their calls.
    fn insert_due(&mut self, due: &mut Vec<Piece>) {
        if due.is_empty() {
            return;
        }
        self.repaired_messages.push(RepairedMessage::new(Role::User, std::mem::take(due)));
    }
}
