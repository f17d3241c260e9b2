//! The note that replaces removed messages: its position, its text and its references.

use std::collections::HashSet;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::neighbours::{Neighbour, Neighbours};
use super::plan::{Artifact, Source};
use super::rendering::Rendering;
use crate::edit::{Action, Edit, Note, NoteAnswer, NotePlace};
use crate::invariants::{Seam, seam};
use crate::message::{Message, Part, Pin, Role, Text};
use crate::policy::StageName;
use crate::store::{NOTE_ANSWER, Reference, RemovalNote, Storing, Whereabouts, removal_note};
use crate::tokens::{CountTokens, TextKind};
use crate::working_copy::{WorkingCopy, read_removal_note};

/// A body for measuring the text around one.
pub(super) const SOME: &str = "-";

/// The tool name under which removed messages are stored.
const TRANSCRIPT: &str = "transcript";

/// Removed messages, and the note that replaces them, still without its body.
#[derive(Debug)]
pub(super) struct Gap {
    /// The messages.
    pub messages: Range<usize>,
    /// Position of the note.
    pub standing: NotePlace,
    /// The place where the messages will be stored.
    pub reference: Option<Reference>,
    /// The number of removed messages that the note states.
    removed: usize,
    /// Freed tokens, including those of older notes.
    freed: usize,
}

/// Returns the gaps of `working_copy`, and the content to store for them. O(messages).
pub(super) fn gaps<T: Text>(working_copy: &WorkingCopy<'_, T>, with: &Rendering<'_>) -> (Vec<Gap>, Vec<Artifact>) {
    let mut neighbours = Neighbours::default();
    let mut noted_in = HashSet::default();
    let (mut gaps, mut artifacts) = (Vec::new(), Vec::new());
    for messages in working_copy.gaps() {
        let beside = neighbours.of(&messages, working_copy);
        let standing = match working_copy.opening_before(messages.start) {
            Some(opening) => with_request(working_copy, opening.request, &mut noted_in),
            None => note_position(&working_copy.conversation.messages, messages.start, beside, &mut noted_in),
        };
        neighbours.add(&standing);
        let artifact = match with.referring.storing {
            Storing::On => Some(transcript(working_copy, &messages, &standing, with)),
            Storing::Off => None,
        };
        let reference = artifact.as_ref().map(|artifact| artifact.reference.clone());
        artifacts.extend(artifact);
        let removed = removed_in_all(working_copy, &messages, &standing);
        let freed = freed(working_copy, &messages, &standing);
        gaps.push(Gap { messages, standing, reference, removed, freed });
    }
    (gaps, artifacts)
}

impl Gap {
    /// Returns the edit that removes the messages, with a note that has this body if that makes it shorter. O(body).
    pub(super) fn edit(self, body: &str, with: &Rendering<'_>) -> Edit {
        let mut text = self.note(body);
        let mut tokens_after = self.added(&text, with);
        if tokens_after >= self.freed {
            text = self.note("");
            tokens_after = self.added(&text, with);
        }
        Edit {
            stage: StageName::Window,
            tokens_before: self.freed,
            tokens_after,
            reference: self.reference,
            superseded_by: None,
            action: Action::Remove { messages: self.messages, note: Note { text, standing: self.standing } },
        }
    }

    /// Returns the tokens that it saves if its note has hardly any body.
    pub(super) fn saves(&self, with: &Rendering<'_>) -> usize {
        self.freed.saturating_sub(self.added(&self.note(SOME), with))
    }

    fn note(&self, body: &str) -> String {
        let whereabouts = self.reference.as_ref().map_or(Whereabouts::Lost, Whereabouts::Stored);
        removal_note(self.removed, &whereabouts, body)
    }

    /// Returns the tokens that its note adds.
    fn added(&self, text: &str, with: &Rendering<'_>) -> usize {
        let overhead = with.counter.overhead();
        let count = |text: &str| with.counter.count(text, TextKind::Prose) + overhead.block;
        match &self.standing {
            NotePlace::In { answer: NoteAnswer::None, .. } => count(text),
            NotePlace::In { answer: NoteAnswer::Follows, .. } => count(text) + overhead.message + count(NOTE_ANSWER),
            NotePlace::Own { answer: NoteAnswer::None, .. } => count(text) + overhead.message,
            NotePlace::Own { answer: NoteAnswer::Follows, .. } => {
                count(text) + count(NOTE_ANSWER) + overhead.message + overhead.message
            }
        }
    }
}

/// Returns the position of the note about messages removed from a tool loop in which the model has thought: in the
/// request of the turn, or before it if the request is pinned.
fn with_request<T: Text>(
    working_copy: &WorkingCopy<'_, T>,
    request: usize,
    noted_in: &mut HashSet<usize, RandomState>,
) -> NotePlace {
    let messages = &working_copy.conversation.messages;
    let holds = |message: usize| messages[message].pin == Pin::Free && !working_copy.is_removed(message);
    // The note of an earlier compaction may precede it, with an answer in between.
    let earlier = request.checked_sub(2).filter(|note| {
        messages[*note].role == Role::User
            && (*note..request).all(|message| working_copy.is_note(message) && holds(message))
    });
    match if holds(request) { Some(request) } else { earlier } {
        Some(message) => {
            NotePlace::In { message, instead_of: replaced(messages, message, noted_in), answer: NoteAnswer::None }
        }
        None => NotePlace::Own { before: request, role: Role::User, answer: NoteAnswer::Follows },
    }
}

/// Returns the older notes in a message that the next note there replaces. Another gap of this plan may have replaced
/// them.
fn replaced<T: Text>(
    messages: &[Message<T>],
    message: usize,
    noted_in: &mut HashSet<usize, RandomState>,
) -> Vec<usize> {
    if noted_in.insert(message) { notes_in(&messages[message]) } else { Vec::new() }
}

/// Returns the position of the note about messages from `start` on, between its neighbours. `noted_in` lists the
/// messages with a note of this plan.
fn note_position<T: Text>(
    messages: &[Message<T>],
    start: usize,
    (before, after): (Option<Neighbour>, Option<Neighbour>),
    noted_in: &mut HashSet<usize, RandomState>,
) -> NotePlace {
    let state = |neighbour: Neighbour| match neighbour {
        Neighbour::Message(index) => (messages[index].role, messages[index].pin),
        Neighbour::Inserted(role) => (role, Pin::Pinned),
    };
    let seam = seam(before.map(state), after.map(state));
    match (seam, before, after) {
        (Seam::AppendBefore | Seam::AppendBeforeAnswered, Some(Neighbour::Message(message)), _)
        | (Seam::AppendAfter, _, Some(Neighbour::Message(message))) => {
            let instead_of = replaced(messages, message, noted_in);
            let answer = if seam == Seam::AppendBeforeAnswered { NoteAnswer::Follows } else { NoteAnswer::None };
            NotePlace::In { message, instead_of, answer }
        }
        (Seam::InsertPair(role), ..) => NotePlace::Own { before: start, role, answer: NoteAnswer::Follows },
        (Seam::Insert(role), ..) => NotePlace::Own { before: start, role, answer: NoteAnswer::None },
        // A seam appends to an existing message, and not to an inserted one.
        (Seam::AppendBefore | Seam::AppendBeforeAnswered | Seam::AppendAfter, ..) => {
            NotePlace::Own { before: start, role: Role::User, answer: NoteAnswer::None }
        }
    }
}

/// Returns the parts of a message that are notes.
fn notes_in<T: Text>(message: &Message<T>) -> Vec<usize> {
    let parts = message.parts.iter().enumerate();
    parts.filter(|(_, part)| read_removal_note(part).is_some()).map(|(index, _)| index).collect()
}

/// Returns the content to store for a gap: the older notes that the new one replaces, which refer to content removed
/// before, and the host's messages.
///
/// The reference is made from the digest of the messages, which is known, instead of from the bytes. Rendering a long
/// history takes longer than planning, and a dry run needs the reference but not the bytes.
fn transcript<T: Text>(
    working_copy: &WorkingCopy<'_, T>,
    gap: &Range<usize>,
    standing: &NotePlace,
    with: &Rendering<'_>,
) -> Artifact {
    let mut notes = String::new();
    if let NotePlace::In { message, instead_of, .. } = standing {
        for part in instead_of {
            if let Part::Text(text) = &working_copy.conversation.messages[*message].parts[*part] {
                notes.push_str(&serde_json::json!({ "ullage": &**text }).to_string());
                notes.push('\n');
            }
        }
    }
    let digest = working_copy.tokens.text_digest(gap.clone());
    // Two gaps of a plan may have the same text. Their positions distinguish them.
    let place = gap.start.to_le_bytes();
    let identity = [&digest.to_le_bytes(), &place[..], notes.as_bytes()].concat();
    Artifact {
        reference: Reference::salted(TRANSCRIPT, &identity, with.referring.salt),
        tool: TRANSCRIPT.to_owned(),
        source: Source::Transcript { notes, messages: gap.clone() },
    }
}

/// Returns the number of removed messages for the note: those removed now, and those that older notes state. Anyone can
/// write a note with any number, so the sum saturates.
fn removed_in_all<T: Text>(working_copy: &WorkingCopy<'_, T>, gap: &Range<usize>, standing: &NotePlace) -> usize {
    let gone = gap.clone().filter(|message| !working_copy.is_note(*message)).count();
    older_notes(&working_copy.conversation.messages, gap, standing)
        .fold(gone, |sum, note| sum.saturating_add(note.messages))
}

/// Returns the notes that a gap removes, in order: those in a kept message, which the new note replaces, and those in
/// the gap.
pub(super) fn older_notes<'d, T: Text>(
    messages: &'d [Message<T>],
    gap: &Range<usize>,
    standing: &'d NotePlace,
) -> impl Iterator<Item = RemovalNote<'d>> {
    let gone = messages[gap.clone()].iter().flat_map(|message| &message.parts).filter_map(read_removal_note);
    replaced_notes(messages, standing).chain(gone)
}

/// Returns the older notes in a kept message that a new note replaces.
pub(super) fn replaced_notes<'d, T: Text>(
    messages: &'d [Message<T>],
    standing: &'d NotePlace,
) -> impl Iterator<Item = RemovalNote<'d>> {
    let (message, parts) = match standing {
        NotePlace::In { message, instead_of, .. } => (*message, &instead_of[..]),
        NotePlace::Own { .. } => (0, &[][..]),
    };
    parts.iter().filter_map(move |part| read_removal_note(&messages[message].parts[*part]))
}

/// Returns the tokens that a gap frees, including those of older notes.
fn freed<T: Text>(working_copy: &WorkingCopy<'_, T>, gap: &Range<usize>, standing: &NotePlace) -> usize {
    let messages = gap.clone().map(|message| working_copy.tokens.message(message));
    match standing {
        NotePlace::In { message, instead_of, .. } => {
            messages.chain(instead_of.iter().map(|part| working_copy.tokens.part(*message, *part))).sum()
        }
        NotePlace::Own { .. } => messages.sum(),
    }
}
