//! Finds texts that calls wrote into files or replaced there. The file now contains the former, and no longer the
//! latter.

use super::RemainingForm;
use super::answers::CallAnswer;
use super::files::Files;
use crate::calls::{Sense, WriteExtent, texts};
use crate::message::{Part, Text};
use crate::store::{Went, is_ours};
use crate::working_copy::{ArgumentsRewrite, Proposal, RewrittenArgument, WorkingCopy};

/// A shorter text is hardly longer than the line that would replace it.
const LEAST: usize = 240;

/// A call with long texts.
#[derive(Debug)]
pub(super) struct LongArguments {
    /// Message of the call.
    pub message: usize,
    /// The weakest form in which one of its texts is still visible.
    form: RemainingForm,
    part: usize,
    rewriting: ArgumentsRewrite,
}

impl LongArguments {
    pub(super) fn proposal(self) -> Proposal {
        let LongArguments { message, part, rewriting, .. } = self;
        Proposal::Rewrite { message, part, rewriting }
    }
}

/// Returns every call with long texts for a file that may be removed, oldest first. Calls whose texts are all visible
/// later come before the others. Failed calls are left out. O(length of their arguments).
pub(super) fn find<T: Text>(
    working_copy: &WorkingCopy<'_, T>,
    answers: &[CallAnswer<'_>],
    files: &Files,
    goes: impl Fn(RemainingForm) -> bool,
) -> Vec<LongArguments> {
    let mut found = Vec::new();
    for (index, answer) in answers.iter().enumerate() {
        let (message, part) = answer.call;
        let Part::Call { input, .. } = &working_copy.conversation.messages[message].parts[part] else { continue };
        let writes = answer.said.writing != WriteExtent::Nothing && !answer.failed();
        // Replacement characters mark bytes that cannot be restored.
        if !writes || input.len() < LEAST || input.contains(char::REPLACEMENT_CHARACTER) {
            continue;
        }
        let Some(path) = &answer.said.path else { continue };
        let mut forms = Vec::new();
        let texts = texts(input).into_iter().filter_map(|text| {
            let (went, form) = match text.sense {
                Sense::Written => (Went::Into, files.remaining_form(index, &text.text)?),
                Sense::Replaced => (Went::OutOf, RemainingForm::Newer),
            };
            if text.text.len() < LEAST || is_ours(&text.text) || !goes(form) {
                return None;
            }
            forms.push(form);
            let characters = text.text.chars().count();
            Some(RewrittenArgument { steps: text.steps, literal: text.literal, characters, went })
        });
        let texts: Vec<_> = texts.collect();
        if let Some(form) = forms.into_iter().max() {
            found.push(LongArguments {
                message,
                part,
                form,
                rewriting: ArgumentsRewrite { path: path.clone(), texts },
            });
        }
    }
    // A stable sort, so each kind keeps its order.
    found.sort_by_key(|found| found.form);
    found
}
