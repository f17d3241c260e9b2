//! Shortens required content, least important first: arguments of answered calls, results, the digest of an earlier
//! compaction, pasted blocks, the middle of other texts, and finally the words of the last request. The planner uses
//! this only if the budget cannot be met in any other way.

use crate::calls::long_strings;
use crate::compress::pasted;
use crate::message::{Message, Part, Pin, Role, Text};
use crate::policy::Level;
use crate::store::{Went, is_ours};
use crate::working_copy::{
    ArgumentsRewrite, PartChange, PartCut, Proposal, RewrittenArgument, WorkingCopy, last_requests, read_removal_note,
};

/// A shorter argument is hardly longer than the line that would replace it.
const LEAST_ARGUMENT: usize = 240;

/// Tokens of a text that are always kept: a request of a few sentences.
const LEAST_TEXT: usize = 48;

/// Tokens to which all texts are first shortened, and the factor by which that falls each time.
const MOST_TEXT: usize = 16_384;
const STEP: (usize, usize) = (9, 10);

/// Typed text may have a larger share of the tokens than of the bytes, by one part in this many of its tokens.
const MARGIN: usize = 8;

/// Tokens of the line in place of a pasted block.
const GAP: usize = 12;

/// Proposes to shorten required content; see the module's documentation. O(length).
pub(super) fn propose<T: Text>(working_copy: &WorkingCopy<'_, T>) -> Vec<Proposal> {
    let level = Level::least();
    let preview = working_copy.policy.offload_preview;
    let results = |keep| working_copy.shortenable(&level).map(move |(place, _)| Proposal::Shorten { place, keep });
    let (notes, texts) = texts(working_copy);
    let mut proposals = arguments(working_copy);
    proposals.extend(results(preview));
    proposals.extend(notes.into_iter().map(|(message, part)| Proposal::Condense { message, part, keep: 0 }));
    proposals.extend(condensing(&texts, |text| text.said));
    proposals.extend(results(0));
    let last: Vec<usize> = last_requests(working_copy.conversation).collect();
    let (last, others): (Vec<_>, Vec<_>) = texts.into_iter().partition(|text| last.contains(&text.message));
    for texts in [others, last] {
        proposals.extend(condensing(&texts, |_| LEAST_TEXT));
    }
    proposals
}

/// True if the cut removes words of the last request that are not a paste. O(length of the request).
pub fn cuts_last_request<T: Text>(working_copy: &WorkingCopy<'_, T>) -> bool {
    let cuts_words = |((message, part), cut): ((usize, usize), &PartCut)| {
        let block = &working_copy.conversation.messages[message].parts[part];
        match (block, &cut.change) {
            (Part::Text(text), PartChange::Condense(keep)) => {
                read_removal_note(block).is_none() && *keep < unpasted_tokens(text, cut.tokens_before)
            }
            _ => false,
        }
    };
    let last: Vec<usize> = last_requests(working_copy.conversation).collect();
    working_copy.part_cuts().filter(|((message, _), _)| last.contains(message)).any(cuts_words)
}

/// Estimates the tokens of a text without its pasted blocks, with room for the lines in their place. Never too low.
fn unpasted_tokens(text: &str, tokens: usize) -> usize {
    let pastes: Vec<_> = pasted(text).collect();
    let bytes = text.len() - pastes.iter().map(ExactSizeIterator::len).sum::<usize>();
    let said = tokens * bytes / text.len();
    (said + said / MARGIN + pastes.len() * GAP).max(LEAST_TEXT)
}

/// A text of a kept message.
struct KeptText {
    message: usize,
    part: usize,
    tokens: usize,
    /// Estimated tokens of the typed text.
    said: usize,
}

/// Returns the notes of earlier compactions, and the written texts: the model's first, and of each role the longest
/// first.
fn texts<T: Text>(working_copy: &WorkingCopy<'_, T>) -> (Vec<(usize, usize)>, Vec<KeptText>) {
    let (mut notes, mut texts) = (Vec::new(), Vec::new());
    for (message, part, block) in parts(working_copy) {
        let Part::Text(text) = block else { continue };
        if read_removal_note(block).is_some() {
            notes.push((message, part));
            continue;
        }
        let tokens = working_copy.tokens.part(message, part);
        // Replacement characters mark bytes that cannot be restored.
        if tokens > LEAST_TEXT && !text.contains(char::REPLACEMENT_CHARACTER) {
            texts.push(KeptText { message, part, tokens, said: unpasted_tokens(text, tokens) });
        }
    }
    let role = |text: &KeptText| working_copy.conversation.messages[text.message].role;
    texts.sort_by_key(|text| (role(text) == Role::User, std::cmp::Reverse(text.tokens)));
    (notes, texts)
}

/// Shortens all of these texts to the same size, then again to a smaller one, but none below its `least`.
fn condensing<'a>(
    texts: &'a [KeptText],
    least: impl Fn(&KeptText) -> usize + Copy + 'a,
) -> impl Iterator<Item = Proposal> + 'a {
    let sizes = std::iter::successors(Some(MOST_TEXT), |size| (*size > LEAST_TEXT).then_some(size * STEP.0 / STEP.1));
    sizes.flat_map(move |size| {
        let long = texts.iter().filter(move |text| text.tokens > size.max(least(text)));
        long.map(move |text| Proposal::Condense { message: text.message, part: text.part, keep: size.max(least(text)) })
    })
}

/// Returns every long string in the arguments of answered calls, oldest first.
fn arguments<T: Text>(working_copy: &WorkingCopy<'_, T>) -> Vec<Proposal> {
    let answered = working_copy
        .pairs
        .calls()
        .iter()
        .filter(|call| call.result.is_some() && !working_copy.is_removed(call.message));
    let rewriting = answered.filter_map(|call| {
        let Part::Call { input, .. } = &working_copy.conversation.messages[call.message].parts[call.part] else {
            return None;
        };
        if input.len() < LEAST_ARGUMENT || input.contains(char::REPLACEMENT_CHARACTER) {
            return None;
        }
        let texts = long_strings(input, LEAST_ARGUMENT).into_iter().filter_map(|string| {
            let text: String = serde_json::from_str(&input[string.literal.clone()]).ok()?;
            let characters = text.chars().count();
            let (steps, literal) = (string.steps, string.literal);
            (!is_ours(&text)).then_some(RewrittenArgument { steps, literal, characters, went: Went::As })
        });
        let rewriting = ArgumentsRewrite { path: String::new(), texts: texts.collect() };
        (!rewriting.texts.is_empty()).then_some(Proposal::Rewrite { message: call.message, part: call.part, rewriting })
    });
    rewriting.collect()
}

/// Returns the parts of kept messages that may be changed.
fn parts<'d, T: Text>(working_copy: &'d WorkingCopy<'_, T>) -> impl Iterator<Item = (usize, usize, &'d Part<T>)> {
    let may_touch = |(index, message): &(usize, &Message<T>)| {
        !working_copy.is_removed(*index) && message.pin == Pin::Free && message.role != Role::System
    };
    let messages = working_copy.conversation.messages.iter().enumerate().filter(may_touch);
    messages.flat_map(|(message, content)| {
        content.parts.iter().enumerate().map(move |(part, block)| (message, part, block))
    })
}
