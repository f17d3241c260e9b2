//! Making the texts of a plan: what a draft decided becomes edits, references and exact counts.

use super::Urgency;
use super::gap::seal_gaps;
use super::plan::Plan;
use super::shorten::{Referring, seal_cut};
use super::tools::ToolNames;
use crate::budget::Budget;
use crate::draft::Draft;
use crate::edit::Edit;
use crate::ledger::Counting;
use crate::message::Text;
use crate::numbers::thousands;
use crate::parallel;
use crate::wire::Format;

/// From this many texts on, cutting them is shared among threads: about a millisecond of work.
const CUTS_WORTH_A_THREAD: usize = 64;

/// What the plan of a draft is made with.
#[derive(Debug)]
pub struct Sealing<'a> {
    /// The wire format of the conversation.
    pub format: Format,
    /// What the draft fits.
    pub budget: Budget,
    /// What counts.
    pub counter: Counting<'a>,
    /// How references are made.
    pub referring: Referring<'a>,
    /// Whether the low mark was asked for at once, so that missing it is worth a word.
    pub urgency: Urgency,
}

/// The plan that a draft decided on. O(what stays of the texts that are cut).
pub fn seal<T: Text + Sync>(draft: &Draft<'_, T>, with: &Sealing<'_>) -> Plan {
    let messages = draft.conversation.messages.len();
    let mut plan = Plan {
        format: with.format,
        spans: draft.conversation.spans(),
        fingerprint: draft.tokens.digest(0..messages),
        budget: with.budget,
        tokens_before: draft.tokens.total(),
        tokens_after: draft.tokens.total(),
        edits: Vec::new(),
        artifacts: Vec::new(),
        pending: None,
        summary: None,
        warnings: Vec::new(),
    };
    let cuts: Vec<_> = draft.cuts().collect();
    let tools = if cuts.is_empty() { ToolNames::default() } else { ToolNames::of(draft.conversation, &draft.pairs) };
    let sealed = parallel::map(
        &cuts,
        |_| 1,
        CUTS_WORTH_A_THREAD,
        |(place, cut)| seal_cut(draft.conversation, *place, *cut, &tools, with),
    );
    for (edit, artifact) in sealed.into_iter().flatten() {
        plan.edits.push(edit);
        plan.artifacts.extend(artifact);
    }
    seal_gaps(&mut plan, draft, with);
    plan.edits.sort_by_cached_key(Edit::first_message);
    for edit in &plan.edits {
        plan.tokens_after = plan.tokens_after + edit.tokens_after - edit.tokens_before;
    }
    let asked = with.urgency == Urgency::Hard || !plan.edits.is_empty();
    if asked && plan.tokens_after > with.budget.low {
        plan.warnings.push(format!(
            "{} tokens stay, over the low mark of {}: what is left is pinned, recent or too small to shorten",
            thousands(plan.tokens_after),
            thousands(with.budget.low)
        ));
    }
    plan
}
