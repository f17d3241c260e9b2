//! An entry of a list of messages, after reading.

use crate::message::{Part, Pin, Role, Tie};

/// The content of an entry of the list.
pub(super) struct Entry<T> {
    pub(super) role: Role,
    pub(super) parts: Vec<Part<T>>,
    pub(super) pin: Pin,
    pub(super) joins: Joins,
    /// Ties, by the index of their part in the entry.
    pub(super) ties: Vec<(usize, Tie<T>)>,
}

/// The neighbours with which an entry forms one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joins {
    /// It is a message by itself.
    Nothing,
    /// Consecutive results are one message.
    Results,
    /// Words of the user right after results are one message with them, as in formats whose roles alternate.
    Words,
    /// Consecutive entries of a model's answer are one message.
    Answer,
    /// The same without calls, if a result must directly follow its call: only calls join after a call.
    Thought,
    /// The same with calls, if not even other calls may precede the results.
    Asks,
}

impl Joins {
    /// True if it is one message with the entry before it.
    pub(super) fn joins(self, before: Joins) -> bool {
        matches!(
            (before, self),
            (Joins::Results, Joins::Results | Joins::Words)
                | (Joins::Answer, Joins::Answer)
                | (Joins::Thought, Joins::Thought | Joins::Answer | Joins::Asks)
        )
    }

    /// Returns the value for an entry in a format that has the user's results in such entries, as most formats do.
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
