//! Making the texts of what is pruned outside of results: shorter arguments of calls, and reasoning that goes.

use super::plan::{Artifact, Source};
use super::seal::Sealing;
use super::shorten::SealedCut;
use crate::draft::{Draft, PartChange, PartCut, Rewriting};
use crate::edit::{Action, Edit};
use crate::message::{Part, Text};
use crate::store::{Reference, Storing, Whereabouts, argument_marked};
use crate::tokens::{CountTokens, TextKind};
use crate::wire::Arguments;

/// The tool that reasoning is stored under.
const REASONING: &str = "reasoning";

/// What becomes of the parts that `draft` changes; `None` where that is no shorter. O(length of those parts).
pub(super) fn parts<T: Text>(draft: &Draft<'_, T>, with: &Sealing<'_>) -> Vec<Option<SealedCut>> {
    let sealed = |((message, part), cut): ((usize, usize), &PartCut)| {
        let (stored, change) = match (&draft.conversation.messages[message].parts[part], &cut.change) {
            (Part::Reasoning { text, .. }, PartChange::Drop) => ((REASONING, &**text), None),
            (Part::Call { name, input, .. }, PartChange::Rewrite(rewriting)) => {
                ((&**name, &**input), Some((rewriting, input)))
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
    draft.part_cuts().map(sealed).collect()
}

/// The arguments of a call with a line in place of each of these texts; all else stays byte for byte.
fn rewritten(input: &str, rewriting: &Rewriting, reference: Option<&Reference>) -> Arguments {
    let whereabouts = reference.map_or(Whereabouts::Lost, Whereabouts::Stored);
    let mut arguments = Arguments { input: String::new(), texts: Vec::with_capacity(rewriting.texts.len()) };
    let mut copied = 0;
    for text in &rewriting.texts {
        let line = argument_marked(text.characters, text.went, &rewriting.path, &whereabouts);
        arguments.input.push_str(&input[copied..text.literal.start]);
        arguments.input.push_str(&serde_json::Value::from(&*line).to_string());
        copied = text.literal.end;
        arguments.texts.push((text.steps.clone(), line));
    }
    arguments.input.push_str(&input[copied..]);
    arguments
}
