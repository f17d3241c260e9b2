//! The rules of providers, and the places where they allow a history to be cut.
//!
//! Each rule is a file that quotes its provider. `pairs` and `thinking` forbid the cuts that would break a history,
//! `ties` binds other parts together, and `roles` decides how a gap is closed. A history may be cut wherever no rule
//! forbids it. The messages between two such places are a *group*, which is kept or removed whole.

mod content;
mod order;
mod pairs;
mod roles;
mod system;
mod thinking;
mod ties;

use std::ops::Range;

pub use content::is_blank;
pub use order::{first_accompanied, first_apart};
pub use pairs::{Awaits, CallSite, Pairs, waiting_from, waits};
pub use roles::{Seam, seam};
pub use thinking::{Opening, droppable, opening};

use crate::error::Error;
use crate::message::{Conversation, Text};

/// A provider's rule that a history breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Name of the rule.
    pub rule: &'static str,
    /// Index of the message.
    pub message: usize,
    /// Index of the part, if it concerns a single part.
    pub part: Option<usize>,
    /// The problem.
    pub problem: String,
    /// A way to fix it.
    pub remedy: &'static str,
}

impl Violation {
    /// Returns the error for a caller that repairs nothing. `entry` is the place in the caller's list.
    pub fn refusal(&self, entry: usize) -> Error {
        Error::Message {
            index: entry,
            problem: format!("{} ({})", self.problem, self.rule),
            remedy: self.remedy.to_owned(),
        }
    }
}

/// A rule that only some providers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// The first message that is not a system message is the user's.
    FirstIsUsers,
    /// No two adjacent messages have the same role.
    Alternation,
    /// No text is blank.
    NoBlanks,
    /// Every message has content.
    NoEmptyMessage,
    /// System messages are not in the list.
    SystemApart,
    /// In a message, results come before everything else.
    ResultsFirst,
    /// No result shares an entry with anything else.
    ResultsAlone,
    /// The results to the calls of one message share an entry.
    ResultsTogether,
    /// A result that names a tool names the tool of its call.
    ResultsNameTheirTool,
    /// No system message is between calls and their results.
    NothingBetween,
    /// The last message has no open calls.
    NoOpenCallAtTheEnd,
    /// A message of the model does not end with reasoning.
    ReasoningLeads,
}

/// Returns the violations of the rules that all providers share, and of one provider's `demands`. Sorted by message.
/// O(parts).
pub fn violations<T: Text>(conversation: &Conversation<T>, pairs: &Pairs, demands: &[Demand]) -> Vec<Violation> {
    let mut violations = pairs.violations(conversation);
    violations.extend(order::of_speakers(conversation));
    for demand in demands {
        match demand {
            Demand::FirstIsUsers => violations.extend(roles::first(conversation)),
            Demand::Alternation => violations.extend(roles::repeated(conversation)),
            Demand::NoBlanks => violations.extend(content::blanks(conversation)),
            Demand::NoEmptyMessage => violations.extend(content::empty(conversation)),
            Demand::SystemApart => violations.extend(system::in_the_list(conversation)),
            Demand::ResultsFirst => violations.extend(order::results_behind(conversation)),
            Demand::ResultsAlone => violations.extend(order::results_accompanied(conversation)),
            Demand::ResultsTogether => violations.extend(order::results_apart(conversation)),
            Demand::ResultsNameTheirTool => violations.extend(pairs.misnaming(conversation)),
            Demand::NothingBetween => violations.extend(pairs.parted(conversation)),
            Demand::NoOpenCallAtTheEnd => violations.extend(pairs.open_at_the_end(conversation)),
            Demand::ReasoningLeads => violations.extend(thinking::at_the_end(conversation)),
        }
    }
    violations.sort_by_key(|violation| (violation.message, violation.part));
    violations
}

/// The positions at which a history may be cut: position `i` is between message `i - 1` and message `i`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutPoints {
    legal: Vec<bool>,
}

impl CutPoints {
    /// Returns the positions at which the kept messages may begin. O(parts).
    pub fn of<T: Text>(conversation: &Conversation<T>, pairs: &Pairs) -> CutPoints {
        CutPoints::beside(None, conversation, pairs)
    }

    /// Returns the positions at which removed messages may begin or end while `opening` is kept. O(parts).
    pub fn beside<T: Text>(opening: Option<Opening>, conversation: &Conversation<T>, pairs: &Pairs) -> CutPoints {
        let mut cuts = CutPoints { legal: vec![true; conversation.messages.len() + 1] };
        pairs.forbid(&mut cuts);
        thinking::forbid(conversation, opening, &mut cuts);
        cuts
    }

    /// True if a cut before message `position` is allowed.
    pub fn is_legal(&self, position: usize) -> bool {
        self.legal.get(position).copied().unwrap_or(false)
    }

    fn forbid(&mut self, position: usize) {
        self.legal[position] = false;
    }

    /// Returns the ranges of messages between adjacent cut points, oldest first.
    pub fn groups(&self) -> Vec<Range<usize>> {
        let mut groups = Vec::new();
        let mut start = 0;
        for position in 1..self.legal.len() {
            if self.legal[position] || position + 1 == self.legal.len() {
                groups.push(start..position);
                start = position;
            }
        }
        groups
    }
}
