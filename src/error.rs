//! Errors as data. `Display` writes the text. Python has one exception class for each kind.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use crate::numbers::thousands;

/// The most characters of a caller's name, id or path that an error quotes. A caller may pass a whole output by
/// mistake.
const SHOWN: usize = 80;

/// Returns the part of a text that an error quotes.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => Cow::Owned(format!("{}...", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Number of characters kept at the beginning and at the end of a long text. A problem may quote a regular expression
/// or the host's own error, which may be long.
const BEGINNING: usize = 700;
const END: usize = 300;

/// Returns the text, without its middle if it is long.
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
    /// Returns the error with the index of its message, if it does not have one yet.
    pub(crate) fn at(self, index: usize) -> Error {
        match self {
            Error::Conversation { problem, remedy } => Error::Message { index, problem, remedy },
            other => other,
        }
    }

    /// Returns the error with indices in the caller's list, if another list was read. `places` has the caller's index
    /// of each message that was read, or `None` for a message that is not in the caller's list. Messages with the same
    /// index count as one.
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

/// The errors of the core, by kind.
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
        /// Tokens beside the messages that the provider's reports have shown. The budget does not include them.
        learned: usize,
        /// Tokens that cannot be removed.
        floor: usize,
        /// The messages that make up the floor, largest first: index in the caller's list, and tokens.
        messages: Vec<(usize, usize)>,
        /// The largest content, and how to make it smaller.
        cause: Option<Occupant>,
    },

    /// The budget leaves no room for any message.
    #[error("{problem}; {remedy}")]
    NoRoom {
        /// Tokens taken before any message.
        taken: usize,
        /// The problem.
        problem: String,
        /// A way to fix it.
        remedy: String,
    },

    /// A message is not valid in its wire format.
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

    /// The plan was made for other messages.
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

    /// Settings of a policy are unknown, out of their range, or contradict each other. The error has all of them.
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

    /// A store failed to write, read or find something.
    #[error("{}; {}", bounded(problem), bounded(remedy))]
    Store {
        /// The problem, with the path or reference.
        problem: String,
        /// A way to fix it.
        remedy: String,
    },
}

/// The message that takes the most room, the reason, and a remedy, as a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    /// Index of the message in the caller's list.
    pub index: usize,
    /// Name of the place, if people know it better by a name than by its index.
    pub name: Option<&'static str>,
    /// The content, and the remedy.
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

/// Formats one problem on the same line, and several as a list.
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
    format!(" ({} more are kept free, because the provider counts them beside the messages)", thousands(learned))
}

/// Lists the largest of these messages, for people.
fn largest(messages: &[(usize, usize)]) -> String {
    /// More messages would hide the largest.
    const NAMED: usize = 4;
    let name = |(message, tokens): &(usize, usize)| format!("message {message} ({} tokens)", thousands(*tokens));
    let mut parts: Vec<String> = messages.iter().take(NAMED).map(name).collect();
    if messages.len() > NAMED {
        let others = messages.len() - NAMED;
        parts.push(format!("{} smaller {}", thousands(others), if others == 1 { "message" } else { "messages" }));
    }
    match parts.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => parts.concat(),
    }
}
