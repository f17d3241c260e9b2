//! What calls wrote into files, and what they replaced there: by now it stands in the file, or no longer does.

use super::Form;
use super::answers::{Answer, Outcome};
use super::files::Files;
use crate::calls::{Sense, texts};
use crate::draft::{Draft, PartChange, Proposal, Rewriting, Rewritten};
use crate::message::{Part, Text};
use crate::store::{Went, is_ours};

/// A shorter text is hardly longer than the line that would stand for it.
const LEAST: usize = 240;

/// A call with long texts.
#[derive(Debug)]
pub(super) struct Found {
    /// Message of the call.
    pub message: usize,
    /// Whether what it wrote is seen further down.
    pub form: Form,
    part: usize,
    rewriting: Rewriting,
}

impl Found {
    pub(super) fn proposal(self) -> Proposal {
        let Found { message, part, rewriting, .. } = self;
        Proposal::Change { message, part, change: PartChange::Rewrite(rewriting) }
    }
}

/// Every call with long texts that are of a file, oldest first, those before the others of which all is seen further down.
/// A call that failed is none, nor is one that something else was left out for. O(length of their arguments).
pub(super) fn find<T: Text>(draft: &Draft<'_, T>, answers: &[Answer<'_>], files: &Files) -> Vec<Found> {
    let mut found = Vec::new();
    for (index, answer) in answers.iter().enumerate() {
        let (message, part) = answer.call;
        let (Some(path), Some(form)) = (&answer.said.path, files.written(index)) else { continue };
        let Part::Call { input, .. } = &draft.conversation.messages[message].parts[part] else { continue };
        // What stands for characters that are none would not come back as it was.
        let is_text = !input.contains(char::REPLACEMENT_CHARACTER);
        if answer.outcome == Outcome::Failed || input.len() < LEAST || !is_text {
            continue;
        }
        let long = texts(input).into_iter().filter(|text| text.text.len() >= LEAST && !is_ours(&text.text));
        let texts: Vec<_> = long
            .map(|text| Rewritten {
                steps: text.steps,
                literal: text.literal,
                characters: text.text.chars().count(),
                went: if text.sense == Sense::Written { Went::Into } else { Went::OutOf },
            })
            .collect();
        if !texts.is_empty() {
            found.push(Found { message, part, form, rewriting: Rewriting { path: path.clone(), texts } });
        }
    }
    // Stable, so each kind stays in its order.
    found.sort_by_key(|found| found.form == Form::Newer);
    found
}
