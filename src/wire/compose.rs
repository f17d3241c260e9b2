//! Composes messages: entries of the list that stay unchanged, and new entries between them.

use std::ops::Range;

use super::change::Piece;
use super::format::Format;
use crate::message::{Conversation, Role};

/// A message to be composed, as values of the host.
pub(super) struct Composition<'a, N> {
    /// Any message of the list, as a sample of the host's type.
    pub(super) sample: &'a N,
    /// The entry whose other fields it takes.
    pub(super) like: Option<&'a N>,
    /// Other entries that it is composed of, and that no longer have a message of their own.
    pub(super) others: Vec<N>,
    pub(super) role: Role,
    pub(super) materials: Vec<Material<'a, N>>,
}

/// The source of a piece: see [`Piece`].
#[derive(Clone)]
pub(super) enum Material<'a, N> {
    Part {
        node: N,
        place: EntryPart,
        id: Option<&'a str>,
        tool: Option<&'a str>,
    },
    Text {
        text: &'a str,
        /// The entry of the result whose words these are.
        of: Option<N>,
    },
    Picture {
        /// The item of a result; `None` if it is not found.
        picture: Option<N>,
        /// The entry of that result.
        of: N,
    },
    Answer {
        call: N,
        id: &'a str,
        tool: &'a str,
        text: &'a str,
    },
}

impl<N> Material<'_, N> {
    /// Returns its entry; `None` for new text.
    pub(super) fn source(&self) -> Option<&N> {
        match self {
            Material::Part { node, .. } => Some(node),
            Material::Text { of, .. } => of.as_ref(),
            Material::Picture { of, .. } => Some(of),
            Material::Answer { .. } => None,
        }
    }
}

/// A part of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryPart {
    pub(super) entry: usize,
    pub(super) part: usize,
}

/// The pieces that share an entry, in a format whose messages may span several entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SharedEntries {
    /// All of them. `openai_responses` itself makes an item of each part.
    All,
    /// New pieces and the text beside them, and all results, because Anthropic requires results in the next message.
    Beside,
    /// All results, but nothing else with them. Gemini refuses parallel responses in several contents
    /// (<https://github.com/langchain-ai/langchainjs/issues/10341>).
    Results,
    /// Only those that shared an entry before.
    Own,
}

impl SharedEntries {
    fn of(format: Format) -> SharedEntries {
        match format {
            Format::Bedrock | Format::OpenAiResponses => SharedEntries::All,
            Format::Anthropic => SharedEntries::Beside,
            Format::Gemini => SharedEntries::Results,
            Format::OpenAi | Format::AiSdk => SharedEntries::Own,
        }
    }

    /// True if the results at the beginning of a message share an entry. `stay` tells if they may stay in several.
    fn of_results(self, stay: bool) -> bool {
        self == SharedEntries::Results || self == SharedEntries::Beside && !stay
    }

    /// True if adjacent runs share an entry, one of which is new.
    fn of_new(self, before: &Run, after: &Run) -> bool {
        let changes = |run: &Run| run.like.is_some() && run.stays.is_none();
        let one_is_new = before.like.is_none() || after.like.is_none();
        one_is_new && (self == SharedEntries::Beside || changes(before) || changes(after))
    }

    /// True if adjacent runs of a model's answer share an entry, because the format would not read them as one message:
    /// in Gemini words after calls, in Chat and the AI SDK anything after calls.
    fn of_answers(self, before: &Run, after: &Run) -> bool {
        match self {
            SharedEntries::Results => before.calls && !after.calls,
            SharedEntries::Own => before.calls,
            SharedEntries::All | SharedEntries::Beside => false,
        }
    }
}

/// Consecutive pieces that become one entry, or the entries that a format makes of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// The entry that they form, whole and unchanged.
    pub(super) stays: Option<usize>,
    /// The entry whose other fields they take.
    pub(super) like: Option<usize>,
    pub(super) pieces: Range<usize>,
    /// True if one of them is a call.
    calls: bool,
}

/// Returns the runs of a composed message. Each has the other fields of its pieces' entry. New pieces have those of the
/// message `like`, unless other pieces have them. If several entries become one, it has the fields of the first pinned
/// entry, or else of the first. O(pieces).
pub(super) fn runs<T>(
    conversation: &Conversation<T>,
    format: Format,
    like: Option<usize>,
    role: Role,
    pieces: &[Piece],
    is_pinned: impl Fn(usize) -> bool,
) -> Vec<Run> {
    let sharing = SharedEntries::of(format);
    if sharing == SharedEntries::All {
        let own = like.map(|message| conversation.messages[message].span.entries()).unwrap_or_default();
        let of_pieces = pieces.iter().filter_map(|piece| entry_of(conversation, piece));
        let entries: Vec<usize> = if own.is_empty() { of_pieces.collect() } else { own.collect() };
        let like = entries.iter().copied().find(|entry| is_pinned(*entry)).or(entries.first().copied());
        return vec![Run { stays: None, like, pieces: 0..pieces.len(), calls: false }];
    }
    let like = like.map(|message| conversation.entry(message));
    let mut by_entry: Vec<Run> = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let (entry, calls) = (entry_of(conversation, piece), piece.is_call(conversation));
        match by_entry.last_mut() {
            Some(run) if run.like == entry => {
                run.pieces.end = index + 1;
                run.calls |= calls;
            }
            _ => by_entry.push(Run { stays: None, like: entry, pieces: index..index + 1, calls }),
        }
    }
    for run in &mut by_entry {
        let pieces = &pieces[run.pieces.clone()];
        let results = pieces.iter().filter(|piece| piece.is_result(conversation)).count();
        let parts_ways = sharing == SharedEntries::Results && results > 0 && results < pieces.len();
        run.stays = run.like.filter(|_| !parts_ways && is_whole(conversation, role, pieces));
    }
    let begins_with_result = |run: &Run| pieces[run.pieces.start].is_result(conversation);
    let length = by_entry.iter().take_while(|run| begins_with_result(run)).count();
    // Results in several consecutive entries may stay so if they were so before.
    let results = &by_entry[..length];
    let stay = results.iter().all(|run| run.stays.is_some())
        && results.windows(2).all(|pair| pair[0].stays.map(|entry| entry + 1) == pair[1].stays);
    let mut runs: Vec<Run> = Vec::with_capacity(by_entry.len());
    for (index, run) in by_entry.into_iter().enumerate() {
        match runs.last_mut() {
            Some(before)
                if before.like == run.like
                    || (index < length && sharing.of_results(stay))
                    || sharing.of_new(before, &run)
                    || (role == Role::Assistant && sharing.of_answers(before, &run)) =>
            {
                before.pieces.end = run.pieces.end;
                before.calls |= run.calls;
                let is_pinned = |like: Option<usize>| like.is_some_and(&is_pinned);
                if before.like.is_none() || is_pinned(run.like) && !is_pinned(before.like) {
                    before.like = run.like;
                }
                before.stays = None;
            }
            _ => runs.push(run),
        }
    }
    let free = like.filter(|like| runs.iter().all(|run| run.like != Some(*like)));
    runs.iter_mut().filter(|run| run.like.is_none()).for_each(|run| run.like = free);
    runs
}

impl Run {
    /// Returns the entries of its pieces, some of them more than once.
    pub(super) fn sources<T>(&self, conversation: &Conversation<T>, pieces: &[Piece]) -> impl Iterator<Item = usize> {
        pieces[self.pieces.clone()].iter().filter_map(|piece| match piece {
            Piece::Text { of: Some((message, part)), .. } | Piece::Picture { message, part, .. } => {
                Some(conversation.messages[*message].span.entry_of(*part).0)
            }
            Piece::Part { .. } | Piece::Text { of: None, .. } | Piece::Answer { .. } => entry_of(conversation, piece),
        })
    }
}

/// Returns the entry of a piece; `None` for a piece that replaces several.
fn entry_of<T>(conversation: &Conversation<T>, piece: &Piece) -> Option<usize> {
    match piece {
        Piece::Part { message, part, .. } => Some(conversation.messages[*message].span.entry_of(*part).0),
        Piece::Text { .. } | Piece::Picture { .. } | Piece::Answer { .. } => None,
    }
}

/// True if pieces of one entry are the whole entry, unchanged and in a message of its role.
fn is_whole<T>(conversation: &Conversation<T>, role: Role, pieces: &[Piece]) -> bool {
    let Some(Piece::Part { message, part: first, .. }) = pieces.first() else { return false };
    let of = &conversation.messages[*message];
    let all = of.span.parts_with(*first, of.parts.len());
    let same = |(piece, at): (&Piece, usize)| match piece {
        Piece::Part { message: from, part, id: None, tool: None } => from == message && *part == at,
        _ => false,
    };
    of.role == role && all.len() == pieces.len() && pieces.iter().zip(all).all(same)
}
