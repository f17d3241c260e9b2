//! Finds repeated listings and statuses: only the newest is current.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::answers::{CallAnswer, Extent};
use super::failures::bare;
use super::{RemainingForm, SupersededOutput, newest_first, successor};
use crate::store::shown;

/// Words in the names of tools that list something or return a status.
const TOOLS: [&str; 13] =
    ["list", "ls", "status", "tree", "glob", "grep", "search", "find", "diff", "diagnostics", "todo", "test", "lint"];

/// Commands that list something or print a status.
const COMMANDS: [&str; 44] = [
    "ls",
    "dir",
    "tree",
    "find",
    "fd",
    "du",
    "df",
    "ps",
    "pwd",
    "wc",
    "stat",
    "grep",
    "rg",
    "git status",
    "git diff",
    "git log",
    "git branch",
    "git show",
    "git stash list",
    "docker ps",
    "docker images",
    "kubectl get",
    "kubectl describe",
    "pip list",
    "npm ls",
    "npm test",
    "npm run build",
    "npm run lint",
    "pytest",
    "python -m pytest",
    "python3 -m pytest",
    "tox",
    "cargo test",
    "cargo build",
    "cargo check",
    "cargo clippy",
    "go test",
    "go build",
    "go vet",
    "make",
    "tsc",
    "eslint",
    "ruff",
    "mypy",
];

/// Returns every listing and status that a newer one repeats, oldest first. O(answers).
pub(super) fn find(answers: &[CallAnswer<'_>]) -> Vec<SupersededOutput> {
    let mut newest: HashMap<u128, usize, RandomState> = HashMap::default();
    let mut found = Vec::new();
    for (_, answer) in
        newest_first(answers).filter(|(_, answer)| answer.extent != Extent::Gone && tells_a_state(answer))
    {
        match newest.get(&answer.question) {
            Some(message) => {
                let by = match &answer.said.command {
                    Some(command) => format!("a later run of {}", shown(command)),
                    None => format!("a later call of {} with the same arguments", shown(answer.tool)),
                };
                let by = successor(*message, &by);
                found.push(SupersededOutput { place: answer.place, by, form: RemainingForm::Newer });
            }
            None if !answer.failed() && answer.extent != Extent::Rest => {
                newest.insert(answer.question, answer.place.message);
            }
            None => {}
        }
    }
    found.reverse();
    found
}

fn tells_a_state(answer: &CallAnswer<'_>) -> bool {
    match &answer.said.command {
        Some(command) => {
            let bare = bare(command);
            // Another command on the same line may change something.
            let is_one = !bare.contains([';', '&', '>', '\n']);
            let is =
                |known: &str| bare.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
            is_one && COMMANDS.into_iter().any(is)
        }
        None => words(answer.tool).any(|word| TOOLS.contains(&&*word)),
    }
}

/// Returns the words of a tool's name: two for `listFiles` and for `list_files`.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && small) {
            words.push(String::new());
        }
        small = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.into_iter()
}
