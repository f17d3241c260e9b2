//! Making the texts of a plan: what a draft decided becomes edits, references and exact counts.

use std::collections::HashMap;
use std::ops::Range;

use super::plan::{Artifact, Plan, Source};
use crate::budget::Budget;
use crate::compress::head_and_tail;
use crate::draft::{Cut, Draft};
use crate::edit::{Action, Answer, Edit, Note, Place, Standing};
use crate::error::Result;
use crate::invariants::{Pairs, Seam, seam};
use crate::ledger::{Ledger, fingerprint, item_text};
use crate::message::{Conversation, Message, Part, Text};
use crate::numbers::thousands;
use crate::policy::StageName;
use crate::stages::{Storing, reason};
use crate::store::{
    NOTE_ANSWER, Reference, Whereabouts, marked_reference, noted_removals, output_mark,
    removal_note, split_mark,
};
use crate::tokens::{CountTokens, TextKind};
use crate::wire::Format;

/// The tool that removed messages are stored under.
const TRANSCRIPT: &str = "transcript";

/// The tool of a result whose call is not in the conversation.
const UNKNOWN_TOOL: &str = "tool";

/// Gives removed messages back as the host has them: one message to a line, as JSON.
pub trait Transcripts {
    /// The lines of these messages.
    fn transcript(&self, messages: Range<usize>) -> Result<Vec<u8>>;
}

/// The plan that a draft decided on.
///
/// # Errors
/// Those of rendering a transcript.
pub fn seal<T: Text>(
    draft: &Draft<'_, T>,
    format: Format,
    budget: Budget,
    ledger: &Ledger,
    storing: Storing,
    transcripts: &impl Transcripts,
) -> Result<Plan> {
    let conversation = draft.conversation;
    let mut plan = Plan {
        format,
        messages: conversation.messages.len(),
        fingerprint: fingerprint(conversation),
        budget,
        tokens_before: draft.tokens.iter().map(|message| message.total).sum(),
        tokens_after: 0,
        edits: Vec::new(),
        artifacts: Vec::new(),
        warnings: Vec::new(),
    };
    let tools = ToolNames::of(conversation);
    for (place, cut) in draft.cuts() {
        seal_cut(&mut plan, conversation, place, cut, &tools, ledger, storing);
    }
    for gap in draft.gaps() {
        seal_gap(&mut plan, draft, gap, ledger, storing, transcripts)?;
    }
    plan.edits.sort_by_key(Edit::first_message);
    let (gone, come) = plan.edits.iter().fold((0, 0), |(gone, come), edit| {
        (gone + edit.tokens_before, come + edit.tokens_after)
    });
    plan.tokens_after = plan.tokens_before + come - gone;
    if !plan.edits.is_empty() && plan.tokens_after > budget.low {
        plan.warnings.push(format!(
            "{} tokens stay, over the low mark of {}: what is left is pinned, recent or too small to shorten",
            thousands(plan.tokens_after),
            thousands(budget.low)
        ));
    }
    Ok(plan)
}

fn seal_cut<T: Text>(
    plan: &mut Plan,
    conversation: &Conversation<T>,
    place: Place,
    cut: Cut,
    tools: &ToolNames<'_>,
    ledger: &Ledger,
    storing: Storing,
) {
    let Part::Result { items, .. } = &conversation.messages[place.message].parts[place.part] else {
        return; // OK because a draft only accepts items of results.
    };
    let Some((text, kind)) = item_text(&items[place.item]) else {
        return; // OK because a draft only accepts items with text.
    };
    let tool = tools.of_result(place.message, place.part);
    let Some(short) = shorten(tool, text, cut.keep, kind, ledger.counter(), storing) else {
        return;
    };
    // The text takes the place of an item of whatever kind, and is counted as what it is from then on.
    let tokens_after = ledger.count_text(&short.text, TextKind::ToolOutput);
    if tokens_after >= cut.tokens_before {
        return;
    }
    if let Some(reference) = &short.to_store {
        plan.artifacts.push(Artifact {
            reference: reference.clone(),
            tool: tool.to_owned(),
            source: Source::Item(place),
        });
    }
    plan.edits.push(Edit {
        stage: cut.stage,
        why: reason(cut.stage).to_owned(),
        tokens_before: cut.tokens_before,
        tokens_after,
        reference: short.to_store.or(short.stored_before),
        action: Action::Shorten {
            place,
            text: short.text,
        },
    });
}

/// A text that was shortened, and where the whole of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortText {
    /// The mark, the head and the tail.
    pub text: String,
    /// The reference under which the whole must be stored.
    pub to_store: Option<Reference>,
    /// The reference under which it is stored already.
    pub stored_before: Option<Reference>,
}

/// The output of `tool`, cut to about `keep` tokens behind a line that says what it was and where the whole is; `None`
/// if there is nothing to leave out. What ullage has shortened or retrieved before keeps its line and its reference.
pub fn shorten(
    tool: &str,
    text: &str,
    keep: usize,
    kind: TextKind,
    counter: &dyn CountTokens,
    storing: Storing,
) -> Option<ShortText> {
    if let Some((mark, body)) = split_mark(text) {
        let short = head_and_tail(body, keep, kind, counter)?;
        let stored_before = marked_reference(text);
        return Some(ShortText {
            text: format!("{mark}\n{}", short.text),
            to_store: None,
            stored_before,
        });
    }
    let short = head_and_tail(text, keep, kind, counter)?;
    let to_store = match storing {
        Storing::On => Some(Reference::of(tool, text.as_bytes())),
        Storing::Off => None,
    };
    let whereabouts = to_store
        .as_ref()
        .map_or(Whereabouts::Lost, Whereabouts::Stored);
    let mark = output_mark(tool, text.chars().count(), &whereabouts);
    Some(ShortText {
        text: format!("{mark}\n{}", short.text),
        to_store,
        stored_before: None,
    })
}

fn seal_gap<T: Text>(
    plan: &mut Plan,
    draft: &Draft<'_, T>,
    gap: Range<usize>,
    ledger: &Ledger,
    storing: Storing,
    transcripts: &impl Transcripts,
) -> Result<()> {
    let messages = &draft.conversation.messages;
    let neighbour =
        |index: Option<usize>| index.and_then(|i| messages.get(i)).map(|m| (m.role, m.pin));
    let before = gap.start.checked_sub(1);
    let standing = match seam(neighbour(before), neighbour(Some(gap.end))) {
        Seam::AppendBefore => note_in(messages, gap.start - 1, plan),
        Seam::AppendAfter => note_in(messages, gap.end, plan),
        Seam::Insert(role) => Standing::Own {
            role,
            answer: Answer::None,
        },
        Seam::InsertPair(role) => Standing::Own {
            role,
            answer: Answer::Follows,
        },
    };
    let reference = match storing {
        Storing::On => {
            let mut content = replaced_notes(messages, &standing);
            content.extend(transcripts.transcript(gap.clone())?);
            let reference = Reference::of(TRANSCRIPT, &content);
            plan.artifacts.push(Artifact {
                reference: reference.clone(),
                tool: TRANSCRIPT.to_owned(),
                source: Source::Transcript(content),
            });
            Some(reference)
        }
        Storing::Off => None,
    };
    let whereabouts = reference
        .as_ref()
        .map_or(Whereabouts::Lost, Whereabouts::Stored);
    let text = removal_note(removed_in_all(messages, &gap, &standing), &whereabouts);
    let (freed, added) = tokens_of_gap(draft, &gap, &standing, &text, ledger);
    plan.edits.push(Edit {
        stage: StageName::Window,
        why: reason(StageName::Window).to_owned(),
        tokens_before: freed,
        tokens_after: added,
        reference,
        action: Action::Remove {
            messages: gap,
            note: Note { text, standing },
        },
    });
    Ok(())
}

/// A note in `message`, in place of the older notes there, unless another gap of this plan has replaced those already.
fn note_in<T: Text>(messages: &[Message<T>], message: usize, plan: &Plan) -> Standing {
    let taken = plan.edits.iter().any(|edit| {
        matches!(&edit.action, Action::Remove { note: Note { standing: Standing::In { message: m, .. }, .. }, .. } if *m == message)
    });
    let is_note =
        |part: &Part<T>| matches!(part, Part::Text(text) if noted_removals(text).is_some());
    let parts = messages[message].parts.iter().enumerate();
    let notes = parts
        .filter(|(_, part)| !taken && is_note(part))
        .map(|(index, _)| index);
    Standing::In {
        message,
        instead_of: notes.collect(),
    }
}

/// The older notes that a new one replaces, as the first lines of what is stored: they lead to what was removed before.
fn replaced_notes<T: Text>(messages: &[Message<T>], standing: &Standing) -> Vec<u8> {
    let Standing::In {
        message,
        instead_of,
    } = standing
    else {
        return Vec::new();
    };
    let mut lines = String::new();
    for part in instead_of {
        if let Part::Text(text) = &messages[*message].parts[*part] {
            lines.push_str(&serde_json::json!({ "ullage": &**text }).to_string());
            lines.push('\n');
        }
    }
    lines.into_bytes()
}

/// The removals that the note speaks of: the messages that go now, and those that older notes spoke of, which lead on
/// from what is stored now.
fn removed_in_all<T: Text>(
    messages: &[Message<T>],
    gap: &Range<usize>,
    standing: &Standing,
) -> usize {
    let noted = |part: &Part<T>| match part {
        Part::Text(text) => noted_removals(text),
        _ => None,
    };
    let gone: usize = messages[gap.clone()]
        .iter()
        .map(|message| {
            let earlier: Vec<usize> = message.parts.iter().filter_map(noted).collect();
            let is_note = earlier.len() == message.parts.len() && !earlier.is_empty();
            earlier.iter().sum::<usize>() + usize::from(!is_note)
        })
        .sum();
    let replaced: usize = match standing {
        Standing::In {
            message,
            instead_of,
        } => instead_of
            .iter()
            .filter_map(|part| noted(&messages[*message].parts[*part]))
            .sum(),
        Standing::Own { .. } => 0,
    };
    gone + replaced
}

/// Tokens that a gap frees, older notes included, and tokens that its note adds.
fn tokens_of_gap<T: Text>(
    draft: &Draft<'_, T>,
    gap: &Range<usize>,
    standing: &Standing,
    text: &str,
    ledger: &Ledger,
) -> (usize, usize) {
    let overhead = ledger.counter().overhead();
    let count = |text: &str| ledger.count_text(text, TextKind::Prose) + overhead.block;
    let mut freed: usize = draft.tokens[gap.clone()]
        .iter()
        .map(|message| message.total)
        .sum();
    let mut added = count(text);
    match standing {
        Standing::In {
            message,
            instead_of,
        } => {
            freed += instead_of
                .iter()
                .map(|part| draft.tokens[*message].parts[*part].total)
                .sum::<usize>();
        }
        Standing::Own { answer, .. } => {
            added += overhead.message;
            if *answer == Answer::Follows {
                added += overhead.message + count(NOTE_ANSWER);
            }
        }
    }
    (freed, added)
}

/// The tool behind each result.
struct ToolNames<'a> {
    by_result: HashMap<(usize, usize), &'a str>,
}

impl<'a> ToolNames<'a> {
    fn of<T: Text>(conversation: &'a Conversation<T>) -> ToolNames<'a> {
        let mut by_result = HashMap::new();
        for call in Pairs::of(conversation).calls() {
            if let (Some(result), Part::Call { name, .. }) = (
                call.result,
                &conversation.messages[call.message].parts[call.part],
            ) {
                by_result.insert(result, &**name);
            }
        }
        ToolNames { by_result }
    }

    fn of_result(&self, message: usize, part: usize) -> &'a str {
        self.by_result
            .get(&(message, part))
            .copied()
            .unwrap_or(UNKNOWN_TOOL)
    }
}
