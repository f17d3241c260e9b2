//! The note in place of removed messages: where it stands, what it says, what it leads to.

use std::collections::HashSet;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::neighbours::{Neighbour, Neighbours};
use super::plan::{Artifact, Plan, Source};
use super::seal::Sealing;
use crate::draft::{Draft, noted};
use crate::edit::{Action, Answer, Edit, Note, Standing};
use crate::invariants::{Seam, seam};
use crate::message::{Message, Part, Pin, Role, Text};
use crate::policy::StageName;
use crate::store::{NOTE_ANSWER, Reference, Storing, Whereabouts, removal_note};
use crate::tokens::{CountTokens, TextKind};

/// The tool that removed messages are stored under.
const TRANSCRIPT: &str = "transcript";

/// Adds the edits that remove the gaps of `draft`. O(messages), without the texts of their notes.
pub(super) fn seal_gaps<T: Text>(plan: &mut Plan, draft: &Draft<'_, T>, with: &Sealing<'_>) {
    let mut neighbours = Neighbours::default();
    let mut noted_in = HashSet::default();
    for gap in draft.gaps() {
        let standing = standing(&draft.conversation.messages, neighbours.of(&gap, draft), &mut noted_in);
        neighbours.add(&standing);
        seal_gap(plan, draft, gap, standing, with);
    }
}

/// Where the note stands between its neighbours; `noted_in` are the messages that hold a note of this plan.
fn standing<T: Text>(
    messages: &[Message<T>],
    (before, after): (Option<Neighbour>, Option<Neighbour>),
    noted_in: &mut HashSet<usize, RandomState>,
) -> Standing {
    let state = |neighbour: Neighbour| match neighbour {
        Neighbour::Message(index) => (messages[index].role, messages[index].pin),
        Neighbour::Inserted(role) => (role, Pin::Pinned),
    };
    match (seam(before.map(state), after.map(state)), before, after) {
        (Seam::AppendBefore, Some(Neighbour::Message(message)), _)
        | (Seam::AppendAfter, _, Some(Neighbour::Message(message))) => {
            // Another gap of this plan may have replaced the older notes there already.
            let instead_of = if noted_in.insert(message) { notes_in(&messages[message]) } else { Vec::new() };
            Standing::In { message, instead_of }
        }
        (Seam::InsertPair(role), ..) => Standing::Own { role, answer: Answer::Follows },
        (Seam::Insert(role), ..) => Standing::Own { role, answer: Answer::None },
        // A seam appends to a message that is there, and to none that was inserted.
        (Seam::AppendBefore | Seam::AppendAfter, ..) => Standing::Own { role: Role::User, answer: Answer::None },
    }
}

/// The parts of a message that are notes.
fn notes_in<T: Text>(message: &Message<T>) -> Vec<usize> {
    let parts = message.parts.iter().enumerate();
    parts.filter(|(_, part)| noted(part).is_some()).map(|(index, _)| index).collect()
}

/// Adds the edit that removes the messages of `gap`.
fn seal_gap<T: Text>(plan: &mut Plan, draft: &Draft<'_, T>, gap: Range<usize>, standing: Standing, with: &Sealing<'_>) {
    let reference = match with.referring.storing {
        Storing::On => {
            let artifact = transcript(draft, &gap, &standing, with);
            let reference = artifact.reference.clone();
            plan.artifacts.push(artifact);
            Some(reference)
        }
        Storing::Off => None,
    };
    let whereabouts = reference.as_ref().map_or(Whereabouts::Lost, Whereabouts::Stored);
    let text = removal_note(removed_in_all(draft, &gap, &standing), &whereabouts);
    let (tokens_before, tokens_after) = tokens_of_gap(draft, &gap, &standing, &text, with);
    plan.edits.push(Edit {
        stage: StageName::Window,
        tokens_before,
        tokens_after,
        reference,
        action: Action::Remove { messages: gap, note: Note { text, standing } },
    });
}

/// What is stored of a gap: the older notes that the new one replaces, which lead to what was removed before, and the
/// messages as the host has them.
///
/// The reference is made from the digest of the messages, which is at hand, rather than from the bytes: rendering a long
/// history takes longer than deciding about it, and a dry run needs the reference but not the bytes.
fn transcript<T: Text>(draft: &Draft<'_, T>, gap: &Range<usize>, standing: &Standing, with: &Sealing<'_>) -> Artifact {
    let mut notes = String::new();
    if let Standing::In { message, instead_of } = standing {
        for part in instead_of {
            if let Part::Text(text) = &draft.conversation.messages[*message].parts[*part] {
                notes.push_str(&serde_json::json!({ "ullage": &**text }).to_string());
                notes.push('\n');
            }
        }
    }
    let digest = draft.tokens.told(gap.clone());
    // Two gaps of one plan may hold the same words; their places tell them apart.
    let place = gap.start.to_le_bytes();
    let identity = [&digest.to_le_bytes(), &place[..], notes.as_bytes()].concat();
    Artifact {
        reference: Reference::salted(TRANSCRIPT, &identity, with.referring.salt),
        tool: TRANSCRIPT.to_owned(),
        source: Source::Transcript { notes, messages: gap.clone() },
    }
}

/// The removals that the note speaks of: the messages that go now, and those that older notes spoke of. Anybody can write
/// a note with any number, so the sum saturates.
fn removed_in_all<T: Text>(draft: &Draft<'_, T>, gap: &Range<usize>, standing: &Standing) -> usize {
    let messages = &draft.conversation.messages;
    let gone = gap.clone().filter(|message| !draft.is_note(*message)).count();
    let in_gap = messages[gap.clone()].iter().flat_map(|message| &message.parts).filter_map(noted);
    let replaced: Vec<usize> = match standing {
        Standing::In { message, instead_of } => {
            instead_of.iter().filter_map(|part| noted(&messages[*message].parts[*part])).collect()
        }
        Standing::Own { .. } => Vec::new(),
    };
    in_gap.chain(replaced).fold(gone, usize::saturating_add)
}

/// Tokens that a gap frees, older notes included, and tokens that its note adds.
fn tokens_of_gap<T: Text>(
    draft: &Draft<'_, T>,
    gap: &Range<usize>,
    standing: &Standing,
    text: &str,
    with: &Sealing<'_>,
) -> (usize, usize) {
    let counter = &with.counter;
    let overhead = counter.overhead();
    let count = |text: &str| counter.count(text, TextKind::Prose) + overhead.block;
    let mut freed: usize = gap.clone().map(|message| draft.tokens.message(message)).sum();
    let mut added = count(text);
    match standing {
        Standing::In { message, instead_of } => {
            freed += instead_of.iter().map(|part| draft.tokens.part(*message, *part)).sum::<usize>();
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
