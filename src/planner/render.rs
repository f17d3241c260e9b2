//! Writes the texts of a plan: decisions of a working copy become edits, references and exact counts.

use super::fill::fill;
use super::gap::{Gap, gaps};
use super::occupant::occupant_of;
use super::plan::Plan;
use super::prune::parts;
use super::rendering::{Rendering, Urgency};
use super::shorten::{FramedCut, RenderedCut};
use super::tools::ToolNames;
use crate::digest::Digest;
use crate::edit::Edit;
use crate::message::Text;
use crate::numbers::{share, thousands};
use crate::parallel;
use crate::working_copy::WorkingCopy;

/// With at least this many texts, threads share the cutting: it takes about a millisecond.
const CUTS_WORTH_A_THREAD: usize = 64;

/// At most this share of the removed content is kept as lines.
const MOST_LINES: f64 = 0.5;

/// Returns the texts of the gaps, and the cuts that become shorter, with lines of the content removed from `tokens`.
fn filled<T: Text + Sync>(
    working_copy: &WorkingCopy<'_, T>,
    gaps: &[Gap],
    mut cuts: Vec<FramedCut<'_>>,
    tokens: usize,
    with: &Rendering<'_>,
) -> (Vec<String>, Vec<RenderedCut>) {
    let by_gaps: usize = gaps.iter().map(|gap| gap.saves(with)).sum();
    let summary = if gaps.is_empty() { 0 } else { working_copy.bounds.summary };
    loop {
        let saves = |cut: &FramedCut<'_>| cut.saves(with);
        let by_cuts: usize = parallel::map(&cuts, |_| 1, CUTS_WORTH_A_THREAD, saves).into_iter().sum();
        let stays = tokens.saturating_sub(by_cuts + by_gaps);
        let room = with.aim.low.saturating_sub(stays + summary).saturating_sub(with.margin);
        // Below the low mark everything has room. Messages that are removed because of their number are removed to be
        // short.
        let room = room.min(share(by_cuts + by_gaps, MOST_LINES));
        let Digest { gaps: bodies, cuts: lines, names } = fill(working_copy, gaps, &cuts, room, with);
        let made: Vec<_> = cuts.iter().zip(&lines).map(|(cut, lines)| cut.with_body(lines, with)).collect();
        // A part stays whole if its new form is not shorter. Then the names in it stay too.
        let mut whole = cuts.iter().zip(&made).filter(|(_, made)| made.is_none());
        if !whole.any(|(cut, _)| names.iter().any(|name| cut.says(name))) {
            return (bodies, made.into_iter().flatten().collect());
        }
        let mut made = made.iter();
        cuts.retain(|_| made.next().is_some_and(Option::is_some));
    }
}

/// Writes the plan that a working copy decided on. O(length of the shortened texts).
pub fn render<T: Text + Sync>(working_copy: &WorkingCopy<'_, T>, with: &Rendering<'_>) -> Plan {
    let mut plan = Plan::idle(working_copy.conversation, working_copy.tokens, with.format, with.budget);
    let (gaps, artifacts) = gaps(working_copy, with);
    let cuts: Vec<_> = working_copy.cuts().collect();
    let tools = if cuts.is_empty() {
        ToolNames::default()
    } else {
        ToolNames::of(working_copy.conversation, &working_copy.pairs)
    };
    let cuts: Vec<_> =
        cuts.into_iter().filter_map(|cut| FramedCut::of(working_copy.conversation, cut, &tools)).collect();
    let (superseded, cuts): (Vec<_>, Vec<_>) = cuts.into_iter().partition(FramedCut::is_superseded);
    let mut rendered = parallel::map(&superseded, |_| 1, CUTS_WORTH_A_THREAD, |cut| cut.superseded(with));
    rendered.extend(parts(working_copy, with));
    let is_digested = working_copy.is_digested() && !(gaps.is_empty() && cuts.is_empty());
    let bodies = if is_digested {
        let pruned: usize = rendered.iter().flatten().map(|(edit, _)| edit.saved()).sum();
        let (bodies, filled) = filled(working_copy, &gaps, cuts, plan.tokens_before.saturating_sub(pruned), with);
        rendered.extend(filled.into_iter().map(Some));
        bodies
    } else {
        rendered.extend(parallel::map(&cuts, |_| 1, CUTS_WORTH_A_THREAD, |cut| cut.rendered(with)));
        vec![String::new(); gaps.len()]
    };
    for (edit, artifact) in rendered.into_iter().flatten() {
        plan.edits.push(edit);
        plan.artifacts.extend(artifact);
    }
    plan.artifacts.extend(artifacts);
    plan.edits.extend(gaps.into_iter().zip(bodies).map(|(gap, body)| gap.edit(&body, with)));
    plan.edits.sort_by_cached_key(Edit::first_message);
    for edit in &plan.edits {
        plan.tokens_after = plan.tokens_after + edit.tokens_after - edit.tokens_before;
    }
    if let Some(first) = plan.edits.iter().map(Edit::first_message).min() {
        plan.unchanged = (0..first).map(|message| working_copy.tokens.message(message)).sum();
    }
    let asked = with.urgency == Urgency::Hard || !plan.edits.is_empty() || plan.tokens_before > with.budget.high;
    if asked && plan.tokens_after > with.budget.low {
        let most = occupant_of(working_copy).map(|most| format!("; the largest: {most}")).unwrap_or_default();
        plan.warnings.push(format!(
            "the messages stay above the low mark of {} tokens: the rest is pinned, recent or too small to shorten{most}",
            thousands(with.budget.low)
        ));
    }
    if let Some(most) = working_copy.policy.max_messages.filter(|_| asked) {
        let staying = working_copy.message_count();
        if staying > most {
            plan.warnings.push(format!(
                "{} messages stay, more than the limit of {}: they are pinned or recent",
                thousands(staying),
                thousands(most)
            ));
        }
    }
    plan
}
