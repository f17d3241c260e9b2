//! A plan that waits for a summary: the room for it, the request, and the completed plan.

use super::gap::older_notes;
use super::plan::{PendingSummary, Plan};
use crate::budget::Budget;
use crate::edit::{Action, Edit, NotePlace};
use crate::ledger::{Counting, Measured};
use crate::message::{Conversation, Text};
use crate::numbers::{share, thousands};
use crate::policy::Policy;
use crate::report::{SummaryBy, SummaryReport};
use crate::store::{Whereabouts, noted_removals, removal_note};
use crate::summary::{Removed, SummaryFallback, SummaryRequest, body, bounded, lost_lines, quoted, request};
use crate::tokens::{CountTokens, TextKind};

/// A summary may take at most one in this many of the kept tokens. In a small budget the newest messages are more
/// useful.
const LARGEST_SHARE: usize = 5;

/// Lines with information that a summary lost take at most one in this many tokens of its room.
const LINES_SHARE: usize = 4;

/// A shorter summary is not worth a call.
const LEAST: usize = 32;

/// Tokens of the note for the length of its text, and for the headings.
const FRAMING: usize = 32;

/// The outcome of a request for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryAnswer<'a> {
    /// A summary.
    Text(&'a str),
    /// No summary, for this reason.
    Nothing(&'a str),
}

/// Returns the tokens that a plan for `budget` keeps free for a summary.
pub fn reserve(policy: &Policy, budget: Budget) -> usize {
    policy.summary_tokens.saturating_add(policy.summary_lines).saturating_add(FRAMING).min(budget.low / LARGEST_SHARE)
}

/// Makes `plan` wait for a summary if it removes messages and there is room: the reserved room, or what is left below
/// the low mark.
pub fn wait_for_summary<T: Text>(
    plan: &mut Plan,
    conversation: &Conversation<T>,
    policy: &Policy,
    counter: Counting<'_>,
) {
    let removals = plan.edits.iter().enumerate().filter(|(_, edit)| matches!(edit.action, Action::Remove { .. }));
    // The last of several gaps, because the summary covers everything up to it.
    let Some((edit, _)) = removals.max_by_key(|(_, edit)| edit.first_message()) else { return };
    let removed = removed_by(plan, conversation);
    let previous = counter.count(&removed.previous, TextKind::Prose);
    let stands_for: usize = plan
        .edits
        .iter()
        .filter(|edit| matches!(edit.action, Action::Remove { .. }))
        .map(|edit| edit.tokens_before)
        .sum();
    let worth = share(stands_for.saturating_sub(previous), policy.summary_ratio) + previous;
    let budget = plan.budget;
    let least = plan.tokens_after.saturating_add(reserve(policy, budget)).min(budget.limit);
    // Never more than the messages that it replaces.
    let room = budget.low.max(least).min(plan.tokens_before).saturating_sub(plan.tokens_after);
    let lines = policy.summary_lines.min(room / LINES_SHARE);
    let tokens = policy.summary_tokens.min(room.saturating_sub(lines + FRAMING)).min(worth);
    if tokens < LEAST {
        if worth >= LEAST {
            plan.warnings.push("there is no room for a summary of the messages that were removed".to_owned());
        }
        return;
    }
    plan.pending = Some(PendingSummary { edit, room: tokens + lines + FRAMING, tokens });
}

/// Returns the request for the summary that `plan`, made for `conversation`, waits for. `None` if it waits for none.
pub fn request_of<T: Text + Sync>(
    plan: &Plan,
    conversation: &Conversation<T>,
    policy: &Policy,
    counter: Counting<'_>,
) -> Option<SummaryRequest> {
    let pending = plan.pending?;
    let removed = removed_by(plan, conversation);
    let measured = counter.measure(conversation);
    let sizes: Vec<usize> = removed.messages().map(|message| measured.message(message)).collect();
    Some(request(&removed, &sizes, policy.summary_prompt, pending.tokens, policy.summary_input, &counter))
}

/// Returns `plan`, made for `conversation`, with its summary: the answer within its limit, or an account written
/// without a model. Lines with information that the summary lost follow it. The plan stays within its budget.
pub fn resumed<T: Text>(
    mut plan: Plan,
    conversation: &Conversation<T>,
    measured: &Measured,
    answer: SummaryAnswer<'_>,
    policy: &Policy,
    counter: Counting<'_>,
) -> Plan {
    let Some(pending) = plan.pending.take() else { return plan };
    let removed = removed_by(&plan, conversation);
    let count = |text: &str| counter.count(text, TextKind::Prose);
    let (summary, by) = worded(&removed, answer, pending.tokens, policy.summary_fallback, &counter, &mut plan.warnings);
    let others: Vec<String> = notes(&plan.edits).map(str::to_owned).collect();
    let Action::Remove { note, .. } = &mut plan.edits[pending.edit].action else { return plan };
    let before = count(&note.text);
    let Some(noted) = noted_removals(&note.text) else { return plan };
    let whereabouts = noted.reference.as_ref().map_or(Whereabouts::Lost, Whereabouts::Stored);
    // The room that a short summary leaves is not filled with more lines than planned.
    let mut room = pending.room.saturating_sub(pending.tokens.max(count(&summary)) + FRAMING);
    let (text, lines) = loop {
        let beside = others.iter().map(String::as_str).chain([&*summary]).collect();
        let lines = lost_lines(&removed, measured, beside, room, &counter);
        let text = removal_note(noted.messages, &whereabouts, &body(&summary, &[noted.body, &lines]));
        let over = count(&text).saturating_sub(before.saturating_add(pending.room));
        if over == 0 {
            break (text, lines.lines().count());
        }
        if room == 0 {
            // Joining the texts took more tokens than expected. The note fits without a summary.
            break (note.text.clone(), 0);
        }
        room = room.saturating_sub(over);
    };
    let tokens = count(&text).saturating_sub(before);
    note.text = text;
    // A plan that was read back may have any number.
    let edit = &mut plan.edits[pending.edit];
    edit.tokens_after = edit.tokens_after.saturating_add(tokens);
    plan.tokens_after = plan.tokens_after.saturating_add(tokens);
    plan.summary = (tokens > 0).then_some(SummaryReport { by, tokens, lines });
    plan
}

/// Returns the text of a summary in at most `tokens`, and its author: the answer, or an account written without a
/// model. Adds a warning if the answer was cut or there was none.
pub fn worded<T: Text>(
    removed: &Removed<'_, T>,
    answer: SummaryAnswer<'_>,
    tokens: usize,
    fallback: SummaryFallback,
    counter: &dyn CountTokens,
    warnings: &mut Vec<String>,
) -> (String, SummaryBy) {
    let reason = match answer {
        SummaryAnswer::Text(text) if !text.trim().is_empty() => {
            let whole = quoted(text.trim());
            let summary = bounded(&whole, tokens, counter);
            if summary.len() != whole.len() {
                warnings.push(format!("the summary was longer than {} tokens and was cut", thousands(tokens)));
            }
            return (summary, SummaryBy::Summarizer);
        }
        SummaryAnswer::Text(_) => "the summarizer returned no text",
        SummaryAnswer::Nothing(reason) => reason,
    };
    warnings.push(format!("the summary was made without a model: {reason}"));
    (fallback.text(removed, tokens, counter), SummaryBy::Engine)
}

/// Returns everything that `plan` removes from `conversation`, including the contents of older notes.
fn removed_by<'a, T: Text>(plan: &Plan, conversation: &'a Conversation<T>) -> Removed<'a, T> {
    let mut removals: Vec<(_, &NotePlace)> = plan
        .edits
        .iter()
        .filter_map(|edit| match &edit.action {
            Action::Remove { messages, note } => Some((messages.clone(), &note.standing)),
            _ => None,
        })
        .collect();
    removals.sort_unstable_by_key(|(messages, _)| messages.start);
    let notes =
        removals.iter().flat_map(|(messages, standing)| older_notes(&conversation.messages, messages, standing));
    let ranges = removals.iter().map(|(messages, _)| messages.clone()).collect();
    Removed::of(conversation, ranges, notes.map(|note| note.body))
}

/// Returns the notes of the edits.
fn notes(edits: &[Edit]) -> impl Iterator<Item = &str> {
    edits.iter().filter_map(|edit| match &edit.action {
        Action::Remove { note, .. } => Some(&*note.text),
        _ => None,
    })
}
