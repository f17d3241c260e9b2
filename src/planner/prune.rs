//! Writes the texts for pruned parts other than results: shorter arguments of calls, and removed reasoning.

use super::plan::{Artifact, Source};
use super::rendering::{References, Rendering};
use super::shorten::RenderedCut;
use crate::compress::condense;
use crate::edit::{Action, Edit, ItemPlace};
use crate::message::{Part, Role, Text};
use crate::store::{
    Reference, Storing, Went, Whereabouts, argument_marked, marked, noted_removals, removal_note, text_marked,
};
use crate::tokens::{CountTokens, TextKind};
use crate::wire::{Arguments, Step};
use crate::working_copy::{ArgumentsRewrite, PartChange, PartCut, WorkingCopy};

/// The tool name under which reasoning is stored.
const REASONING: &str = "reasoning";

/// The tool names under which words of the user and of the model are stored.
const REQUEST: &str = "request";
const ANSWER: &str = "answer";

/// Renders the parts that `working_copy` changes. A part is `None` if its new form is not shorter. O(length of those
/// parts).
pub(super) fn parts<T: Text>(working_copy: &WorkingCopy<'_, T>, with: &Rendering<'_>) -> Vec<Option<RenderedCut>> {
    let rendered = |((message, part), cut): ((usize, usize), &PartCut)| {
        let (stored, change) = match (&working_copy.conversation.messages[message].parts[part], &cut.change) {
            (Part::Reasoning { text, .. }, PartChange::Drop) => ((REASONING, &**text), None),
            (Part::Call { name, input, .. }, PartChange::Rewrite(rewriting)) => {
                ((&**name, &**input), Some((rewriting, input)))
            }
            (Part::Text(text), PartChange::Condense(keep)) => {
                let written = LongText { place: ItemPlace { message, part, item: 0 }, text, keep: *keep };
                return written.rendered(working_copy.conversation.messages[message].role, cut, with);
            }
            _ => return None, // A draft changes only these.
        };
        let (tool, text) = stored;
        let reference = match with.referring.storing {
            Storing::On => Some(Reference::salted(tool, text.as_bytes(), with.referring.salt)),
            Storing::Off => None,
        };
        let (tokens_after, action) = match change {
            None => (0, Action::Drop { message, part }),
            Some((rewriting, input)) => {
                let arguments = rewritten(input, rewriting, reference.as_ref());
                let count = |text: &str| with.counter.count(text, TextKind::Json);
                let rest = cut.tokens_before.checked_sub(count(input))?;
                (rest + count(&arguments.input), Action::Rewrite { message, part, arguments })
            }
        };
        if tokens_after >= cut.tokens_before {
            return None;
        }
        let artifact = reference.clone().map(|reference| Artifact {
            reference,
            tool: tool.to_owned(),
            source: Source::Part { message, part },
        });
        let (stage, tokens_before) = (cut.stage, cut.tokens_before);
        Some((Edit { stage, action, tokens_before, tokens_after, reference, superseded_by: None }, artifact))
    };
    working_copy.part_cuts().map(rendered).collect()
}

/// A text of a message that is to be shortened.
struct LongText<'a> {
    place: ItemPlace,
    text: &'a str,
    keep: usize,
}

impl LongText<'_> {
    /// Renders the cut. Returns `None` if the result is not shorter.
    fn rendered(&self, role: Role, cut: &PartCut, with: &Rendering<'_>) -> Option<RenderedCut> {
        let (text, to_store, stored_before) = self.short(role, with)?;
        let count = |text: &str| with.counter.count(text, TextKind::Prose);
        let tokens_after = cut.tokens_before.checked_sub(count(self.text))? + count(&text);
        if tokens_after >= cut.tokens_before {
            return None;
        }
        let artifact = to_store.clone().map(|reference| Artifact {
            reference,
            tool: tool_of(role).to_owned(),
            source: Source::Item(self.place),
        });
        let edit = Edit {
            stage: cut.stage,
            tokens_before: cut.tokens_before,
            tokens_after,
            reference: to_store.or(stored_before),
            superseded_by: None,
            action: Action::Shorten { place: self.place, text },
        };
        Some((edit, artifact))
    }

    /// Returns the shorter text, the reference to store the whole under, and the reference under which it is stored
    /// already.
    fn short(&self, role: Role, with: &Rendering<'_>) -> Option<(String, Option<Reference>, Option<Reference>)> {
        let References { storing, salt, distrusted, .. } = with.referring;
        if let Some(noted) = noted_removals(self.text) {
            let whereabouts = noted.reference.as_ref().map_or(Whereabouts::Lost, Whereabouts::Stored);
            let line = removal_note(noted.messages, &whereabouts, "");
            return Some((line, None, noted.reference.clone()));
        }
        if let Some(marked) = marked(self.text, storing, distrusted) {
            let body = condense(marked.body, self.keep, &with.counter)?;
            return Some((marked.around(&body), None, marked.reference));
        }
        let body = condense(self.text, self.keep, &with.counter)?;
        let reference = match storing {
            Storing::On => Some(Reference::salted(tool_of(role), self.text.as_bytes(), salt)),
            Storing::Off => None,
        };
        let whereabouts = reference.as_ref().map_or(Whereabouts::Lost, Whereabouts::Stored);
        Some((text_marked(self.text.chars().count(), &whereabouts, &body), reference, None))
    }
}

/// Returns the tool name under which the words of a role are stored.
fn tool_of(role: Role) -> &'static str {
    if role == Role::User { REQUEST } else { ANSWER }
}

/// Returns the arguments of a call with a line in place of each of these texts. Everything else stays byte for byte.
fn rewritten(input: &str, rewriting: &ArgumentsRewrite, reference: Option<&Reference>) -> Arguments {
    let whereabouts = reference.map_or(Whereabouts::Lost, Whereabouts::Stored);
    let mut arguments = Arguments { input: String::new(), texts: Vec::with_capacity(rewriting.texts.len()) };
    let mut copied = 0;
    for text in &rewriting.texts {
        let name = match (text.went, text.steps.iter().rev().find_map(Step::name)) {
            (Went::As, Some(name)) => name,
            _ => &rewriting.path,
        };
        let line = argument_marked(text.characters, text.went, name, &whereabouts);
        arguments.input.push_str(&input[copied..text.literal.start]);
        arguments.input.push_str(&serde_json::Value::from(&*line).to_string());
        copied = text.literal.end;
        arguments.texts.push((text.steps.clone(), line));
    }
    arguments.input.push_str(&input[copied..]);
    arguments
}
