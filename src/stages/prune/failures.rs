//! Finds failed calls that succeeded later.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::answers::{CallAnswer, Extent};
use super::{RemainingForm, SupersededOutput, newest_first, successor};
use crate::store::shown;

/// The target of a call, by which a retry is recognized: the same file, the same command, or the same arguments.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Target<'a> {
    File(&'a str),
    Command(&'a str),
    Question(u128),
}

/// Returns every output of a failed call that succeeded later, oldest first. O(answers).
pub(super) fn find(answers: &[CallAnswer<'_>]) -> Vec<SupersededOutput> {
    let mut went_well: HashMap<(&str, Target<'_>), usize, RandomState> = HashMap::default();
    let mut times: HashMap<(&str, Target<'_>), usize, RandomState> = HashMap::default();
    let mut found = Vec::new();
    let tries = || {
        let there = newest_first(answers).map(|(_, answer)| answer).filter(|answer| answer.extent != Extent::Gone);
        there.map(|answer| ((answer.tool, target(answer)), answer))
    };
    tries().for_each(|(key, _)| *times.entry(key).or_default() += 1);
    // A call that was made once has no later success.
    for (key, answer) in tries().filter(|(key, _)| times[key] > 1) {
        match (answer.failed(), went_well.get(&key)) {
            (true, Some(message)) => {
                let by = successor(*message, &format!("a later call of {} that went well", shown(answer.tool)));
                found.push(SupersededOutput { place: answer.place, by, form: RemainingForm::Newer });
            }
            (true, None) => {}
            (false, _) => {
                went_well.insert(key, answer.place.message);
            }
        }
    }
    found.reverse();
    found
}

fn target<'b>(answer: &'b CallAnswer<'_>) -> Target<'b> {
    match (&answer.said.path, &answer.said.command) {
        (Some(path), _) => Target::File(path),
        (None, Some(command)) => Target::Command(bare(command)),
        (None, None) => Target::Question(answer.question),
    }
}

/// Returns a command without a leading change of folder, and without pipes that shorten its output.
pub(super) fn bare(command: &str) -> &str {
    let command = command.trim();
    let command = match command.split_once("&&") {
        Some((first, rest)) if first.trim_start().starts_with("cd ") => rest,
        _ => command,
    };
    let command = command.split('|').next().unwrap_or_default().trim();
    command.strip_suffix("2>&1").unwrap_or(command).trim()
}
