//! An entry of a list of messages, as it was read.

use crate::message::{Part, Pin, Role, Tie};

/// The content of an entry of the list.
pub(super) struct Entry<T> {
    pub(super) role: Role,
    pub(super) parts: Vec<Part<T>>,
    pub(super) pin: Pin,
    pub(super) joins: Joins,
    /// By the places of parts in the entry.
    pub(super) ties: Vec<(usize, Tie<T>)>,
}

/// The kinds of entries that form one message with their neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joins {
    /// It is a message by itself.
    Nothing,
    /// Results that are in a row.
    Results,
    /// Words of the user: right after results they are one message with them, as in formats whose roles alternate.
    Words,
    /// Consecutive entries of a model's answer.
    Answer,
    /// The same without calls, where a result must follow right after its call: nothing joins after a call but calls.
    Thought,
    /// The same with calls, where not even calls may follow before the results.
    Asks,
}

impl Joins {
    /// True if it is one message with what is before it.
    pub(super) fn joins(self, before: Joins) -> bool {
        matches!(
            (before, self),
            (Joins::Results, Joins::Results | Joins::Words)
                | (Joins::Answer, Joins::Answer)
                | (Joins::Thought, Joins::Thought | Joins::Answer | Joins::Asks)
        )
    }

    /// For an entry in a format that has the results of the user in such entries, as most have.
    pub(super) fn of<T>(role: Role, parts: &[Part<T>], calling: Joins) -> Joins {
        let has = |such: fn(&Part<T>) -> bool| parts.iter().any(such);
        match role {
            Role::System => Joins::Nothing,
            Role::User if has(|part| matches!(part, Part::Result { .. })) => Joins::Results,
            Role::User => Joins::Words,
            Role::Assistant if has(|part| matches!(part, Part::Call { .. })) => calling,
            Role::Assistant => Joins::Thought,
        }
    }
}
