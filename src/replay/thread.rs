//! The knowledge that an agent needs to continue: its own last sentences, its list of tasks, the files that it changed, and the
//! words of the user.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use serde::Serialize;

use super::Share;
use crate::calls::{Tasks, WriteExtent, read};
use crate::message::{Message, Part, Role, Text};
use crate::text::sentences;

/// Number of messages before the cut whose sentences count.
const LAST: usize = 20;

/// Minimum number of words in a sentence that counts.
const LEAST_WORDS: usize = 3;

/// Minimum number of letters in a word of the user that counts. Shorter words are in any text.
const LEAST_LETTERS: usize = 4;

/// The agent's current work before a cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Thread {
    sentences: Vec<String>,
    tasks: Vec<String>,
    files: Vec<String>,
    user: Vec<String>,
}

/// The share of that work in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Continuity {
    /// Sentences in the agent's last messages.
    pub sentences: Share,
    /// Tasks in its list.
    pub tasks: Share,
    /// Files that it changed, by name.
    pub files: Share,
    /// Words of the user.
    pub user_words: Share,
}

impl Thread {
    /// Reads the agent's current work from the messages before a cut. O(length).
    pub(super) fn of<T: Text>(before: &[Message<T>]) -> Thread {
        let mut tasks = Tasks::default();
        let (mut files, mut user) = (Vec::new(), Vec::new());
        for message in before {
            for part in &message.parts {
                match part {
                    Part::Call { name, input, .. } => {
                        tasks.follow(name, input);
                        let call = read(input);
                        files.extend(
                            call.path.filter(|_| call.writing != WriteExtent::Nothing).map(|path| name_of(&path)),
                        );
                    }
                    Part::Text(text) if message.role == Role::User => user.extend(words(text)),
                    _ => {}
                }
            }
        }
        let last = &before[before.len().saturating_sub(LAST)..];
        let said = last.iter().filter(|message| message.role == Role::Assistant).flat_map(|message| &message.parts);
        let said = said.filter_map(|part| if let Part::Text(text) = part { Some(&**text) } else { None });
        let sentences = said.flat_map(str::lines).flat_map(sentences).map(normal);
        Thread {
            sentences: sentences.filter(|sentence| sentence.split(' ').count() >= LEAST_WORDS).collect(),
            tasks: tasks.all().map(|task| normal(&task.text)).collect(),
            files: different(files),
            user: different(user),
        }
    }

    /// Measures how much of it is in `context`.
    pub(super) fn kept_in(&self, context: &str) -> Continuity {
        let normal = normal(context);
        let user: HashSet<String, RandomState> = words(context).collect();
        let count = |kept: usize, all: &[String]| Share::of(kept, all.len());
        let stands = |all: &[String]| count(all.iter().filter(|text| normal.contains(text.as_str())).count(), all);
        Continuity {
            sentences: stands(&self.sentences),
            tasks: stands(&self.tasks),
            files: stands(&self.files),
            user_words: count(self.user.iter().filter(|word| user.contains(*word)).count(), &self.user),
        }
    }
}

/// Returns a text in which each run of spaces is one space.
fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn name_of(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= LEAST_LETTERS);
    words.map(str::to_lowercase)
}

fn different(mut all: Vec<String>) -> Vec<String> {
    all.sort_unstable();
    all.dedup();
    all
}
