//! Errors as data. The text is made in `Display`; Python has one exception class for each kind.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use crate::numbers::thousands;

/// Characters of a name, an id or a path of the caller's that an error quotes: it may be a whole output by mistake.
const SHOWN: usize = 80;

/// Returns the part of a text that an error quotes.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => Cow::Owned(format!("{}...", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Characters of a longer text at its beginning and at its end that an error keeps: a problem may quote a regular
/// expression or the host's own error, which have no bound.
const BEGINNING: usize = 700;
const END: usize = 300;

/// A part of an error's text, without its middle if it is long.
fn bounded(text: &str) -> Cow<'_, str> {
    if text.char_indices().nth(BEGINNING + END).is_none() {
        return Cow::Borrowed(text);
    }
    let head = text.char_indices().nth(BEGINNING).map_or(text.len(), |(at, _)| at);
    let tail = text.char_indices().rev().nth(END - 1).map_or(0, |(at, _)| at);
    Cow::Owned(format!("{} [...] {}", &text[..head], &text[tail..]))
}

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The same error, said of the message at `index`, if it is about a value and not yet about a message.
    pub(crate) fn at(self, index: usize) -> Error {
        match self {
            Error::Conversation { problem, remedy } => Error::Message { index, problem, remedy },
            other => other,
        }
    }

    /// The same error where the caller's list is another than the one that was read: `places` has the index in it of each
    /// message that was read, `None` for one that is not in it. Messages with one place are one.
    #[must_use]
    pub fn in_list(self, places: &[Option<usize>]) -> Error {
        let place = |index: usize| places.get(index).copied().flatten();
        match self {
            Error::Budget { budget, learned, floor, messages, cause } => {
                let mut tokens: BTreeMap<usize, usize> = BTreeMap::new();
                for (index, taken) in messages {
                    if let Some(index) = place(index) {
                        *tokens.entry(index).or_default() += taken;
                    }
                }
                let mut messages: Vec<_> = tokens.into_iter().collect();
                messages.sort_by_key(|(index, tokens)| (std::cmp::Reverse(*tokens), *index));
                let cause = cause.and_then(|cause| Some(Occupant { index: place(cause.index)?, ..cause }));
                Error::Budget { budget, learned, floor, messages, cause }
            }
            Error::Message { index, problem, remedy } => {
                Error::Message { index: place(index).unwrap_or(index), problem, remedy }
            }
            other => other,
        }
    }
}

/// Everything that the core refuses, by kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The conversation cannot be brought inside its budget.
    #[error(
        "the conversation cannot be made smaller than {} tokens, over its budget of {}{}: {} must stay; \
         raise the budget, shorten those messages or unpin them{}",
        thousands(*floor), thousands(*budget), kept_free(*learned), largest(messages), in_brackets(cause.as_ref())
    )]
    Budget {
        /// Tokens that may be used.
        budget: usize,
        /// Tokens of the window that reports have shown beside the messages, and so are not in the budget.
        learned: usize,
        /// Tokens that cannot be removed.
        floor: usize,
        /// The messages that make up the floor, largest first: index in the caller's list, and tokens.
        messages: Vec<(usize, usize)>,
        /// The largest content, and a way to make it smaller.
        cause: Option<Occupant>,
    },

    /// The budget leaves no room for any message.
    #[error("{problem}; {remedy}")]
    NoRoom {
        /// Tokens that are taken before any message.
        taken: usize,
        /// The problem.
        problem: String,
        /// A way to fix it.
        remedy: String,
    },

    /// A message is not what its wire format asks for.
    #[error("message {index}: {}; {}", bounded(problem), bounded(remedy))]
    Message {
        /// Index of the message in the caller's list.
        index: usize,
        /// The problem.
        problem: String,
        /// A way to fix it.
        remedy: String,
    },

    /// The list as a whole is not a conversation.
    #[error("{}; {}", bounded(problem), bounded(remedy))]
    Conversation {
        /// The problem.
        problem: String,
        /// A way to fix it.
        remedy: String,
    },

    /// The messages are not those that a plan was made for.
    #[error("the messages have changed since the plan was made; make a new plan for them")]
    Changed,

    /// An argument is unknown or out of its range.
    #[error("{}: {}", bounded(setting), bounded(problem))]
    Policy {
        /// Name of the setting.
        setting: String,
        /// The problem, and the allowed values.
        problem: String,
    },

    /// Settings of a policy are unknown, out of their range, or contradict each other: all of them.
    #[error("{}", listed(problems))]
    Settings {
        /// The problem of each wrong setting.
        problems: Vec<SettingProblem>,
    },

    /// A store has other content under a reference.
    #[error("other content is already stored as {reference}; delete it, or use another store")]
    Taken {
        /// The reference.
        reference: String,
    },

    /// A store could not write, read or find.
    #[error("{}; {}", bounded(problem), bounded(remedy))]
    Store {
        /// The problem, with the path or reference.
        problem: String,
        /// A way to fix it.
        remedy: String,
    },
}

/// The message that takes the most room, why, and what would help: a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    /// Index of the message in the caller's list.
    pub index: usize,
    /// Name of the place, if it is better known by a name than by its index.
    pub name: Option<&'static str>,
    /// Its content, and what would help.
    pub content: String,
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "{name} {}", self.content),
            None => write!(f, "message {} {}", self.index, self.content),
        }
    }
}

fn in_brackets(cause: Option<&Occupant>) -> String {
    cause.map(|cause| format!(" ({cause})")).unwrap_or_default()
}

/// A problem with one setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", bounded(path), bounded(problem))]
pub struct SettingProblem {
    /// The path of the setting, such as `high` or `levels[2].recent`.
    pub path: String,
    /// The allowed values, and the actual one.
    pub problem: String,
}

/// A single problem in its own line, several as a list.
fn listed(problems: &[SettingProblem]) -> String {
    if let [problem] = problems {
        return problem.to_string();
    }
    let lines: Vec<String> = problems.iter().map(SettingProblem::to_string).collect();
    format!("{} settings are wrong:\n  {}", problems.len(), lines.join("\n  "))
}

fn kept_free(learned: usize) -> String {
    if learned == 0 {
        return String::new();
    }
    format!(" ({} more are kept free for what the provider has reported beside the messages)", thousands(learned))
}

/// The largest of these messages in words.
fn largest(messages: &[(usize, usize)]) -> String {
    /// More would hide the largest.
    const NAMED: usize = 4;
    let name = |(message, tokens): &(usize, usize)| format!("message {message} ({} tokens)", thousands(*tokens));
    let mut parts: Vec<String> = messages.iter().take(NAMED).map(name).collect();
    if messages.len() > NAMED {
        parts.push(format!("{} smaller ones", thousands(messages.len() - NAMED)));
    }
    parts.join(", ")
}
