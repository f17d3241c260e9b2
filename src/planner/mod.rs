//! From a conversation and a budget to a plan.
//!
//! [`outline`] decides: it runs the stages over a draft until the target is met, level by level. [`seal`] then
//! makes the texts and references of what was decided and counts the outcome exactly.

mod deadline;
mod exact;
mod explain;
mod fill;
mod fits;
mod gap;
mod neighbours;
mod occupant;
mod pending;
mod plan;
mod prune;
mod seal;
mod sealing;
mod shorten;
mod tools;

pub use deadline::Deadline;
pub use occupant::occupant;
pub use pending::{Answer, request_of, reserve, resumed, wait_for_summary, worded};
pub use plan::{Artifact, Pending, Plan, Source};
pub use seal::seal;
pub use sealing::{Referring, Sealing, Urgency};
pub use shorten::{ShortText, marked_short, shorten};

use crate::budget::{Budget, progressed};
use crate::draft::{Bounds, Draft, Proposal};
use crate::error::{Error, Result};
use crate::invariants::Pairs;
use crate::ledger::Measured;
use crate::message::{Conversation, Text};
use crate::numbers::{part_of, share};
use crate::policy::{Level, Policy, StageName};
use crate::stages::propose;
use crate::store::Storing;

/// The draft that brings `conversation` as far inside the budget that is aimed at as it can be brought; `unused` tokens were
/// left over by one before. O(length) for each level of the ladder.
///
/// # Errors
/// `Message` if the conversation breaks a rule of the providers as it came.
pub fn outline<'a, T: Text>(
    conversation: &'a Conversation<T>,
    tokens: &'a Measured,
    policy: &'a Policy,
    bounds: Bounds,
    with: &Sealing<'_>,
    unused: usize,
) -> Result<Draft<'a, T>> {
    let (budget, storing) = (with.aim, with.referring.storing);
    let pairs = Pairs::of(conversation);
    if let Some(violation) = pairs.broken(conversation).into_iter().next() {
        return Err(violation.refusal(conversation.entry(violation.message)));
    }
    let recent = share(with.budget.limit, policy.keep_recent_share);
    let mut draft = Draft::new(conversation, tokens, pairs, policy, bounds).with_recent(recent);
    let starts_at = match with.urgency {
        Urgency::Soft => budget.high,
        Urgency::Hard => budget.low,
    };
    // First, since the number of messages that stay is not to depend on the budget.
    thin_out(&mut draft, storing);
    if draft.total() > starts_at {
        let aims = Aims::of(&draft, budget, unused, with.urgency);
        climb(&mut draft, aims, with);
    }
    Ok(draft)
}

/// Runs the stages, level by level, until enough is taken; out of time, the last level at once.
fn climb<T: Text>(draft: &mut Draft<'_, T>, aims: Aims, with: &Sealing<'_>) {
    let levels = &draft.policy.levels;
    let mut next = 0;
    while next < levels.len() {
        run_stages(draft, aims.structure, &levels[..=next], with.referring.storing);
        let enough = if next == 0 { aims.enough } else { aims.enough.max(aims.last) };
        if draft.total() <= enough {
            break;
        }
        next = if with.deadline.is_over() { (levels.len() - 1).max(next + 1) } else { next + 1 };
    }
}

/// Where there are more messages than the policy wants, removes the oldest as far as the first level with a window lets them go.
fn thin_out<T: Text>(draft: &mut Draft<'_, T>, storing: Storing) {
    let (policy, count) = (draft.policy, draft.conversation.messages.len());
    let Some(most) = policy.max_messages.filter(|most| count > *most) else { return };
    let Some(level) = policy.levels.iter().find(|level| level.runs(StageName::Window)) else { return };
    // A gap has a note, which is a message too.
    let mut over = count + 1 - share(most, policy.low_messages).max(1);
    for proposal in propose(StageName::Window, draft, level, storing) {
        let Proposal::Remove { messages } = &proposal else { continue };
        let messages = messages.clone();
        draft.accept(StageName::Window, proposal);
        if draft.is_removed(messages.start) {
            over = over.saturating_sub(messages.len());
        }
        if over == 0 {
            return;
        }
    }
}

/// What the stages aim at.
#[derive(Clone, Copy)]
struct Aims {
    /// Tokens of what stays whole.
    structure: usize,
    /// More than this after the first level asks for the next.
    enough: usize,
    /// More than this after a later one does, where it is more.
    last: usize,
}

/// Of the target, the part that stays whole is this times the part of the whole that the target is: the less can stay, the
/// more of it is chosen line by line. The rest is for those lines. Found by replaying recorded sessions.
const STRUCTURE: f64 = 0.5;

/// The part of the target that the newest messages may take before they, too, are kept in lines.
const LEAST_STRUCTURE: f64 = 0.1;

impl Aims {
    /// `unused` tokens were left over when less was to stay whole.
    fn of<T: Text>(draft: &Draft<'_, T>, budget: Budget, unused: usize, urgency: Urgency) -> Aims {
        let before = draft.tokens.total();
        // A compaction that waited for its mark must get away from it.
        let last = match urgency {
            Urgency::Soft if before > budget.escalate => budget.escalate.min(progressed(before)),
            Urgency::Soft | Urgency::Hard => budget.escalate,
        };
        if !draft.is_digested() {
            // Below that mark the next turn has room; more would take what the model still works with.
            return Aims { structure: budget.low, enough: last, last };
        }
        let part = part_of(budget.low, draft.tokens.total());
        let structure = share(budget.low, part * STRUCTURE) + unused;
        let enough = match draft.policy.escalate {
            // Who says when the next level is due means it: what the first one leaves alone stays whole.
            Some(_) => last,
            None => structure.max(share(budget.low, LEAST_STRUCTURE)),
        };
        Aims { structure, enough, last }
    }
}

/// Runs the stages of the policy that the last of `levels` has, in their order, until the draft is down to `target`. The
/// others ran before it.
fn run_stages<T: Text>(draft: &mut Draft<'_, T>, target: usize, levels: &[Level], storing: Storing) {
    let Some(level) = levels.last() else { return };
    let stages = &draft.policy.stages;
    // What must stay is shortened by itself, after all levels.
    let runs = |level: &Level, stage: &StageName| level.runs(*stage) && *stage != StageName::Trim;
    for (index, stage) in stages.iter().enumerate().filter(|(_, stage)| runs(level, stage)) {
        if *stage == StageName::Window && draft.is_digested() && draft.total() > target {
            // Lines are kept of what goes, so it need not be shortened first, and what stays may stay whole.
            draft.restore();
            run(draft, *stage, target, level, storing);
            for level in levels {
                for earlier in stages[..index].iter().filter(|stage| runs(level, stage)) {
                    run(draft, *earlier, target, level, storing);
                }
            }
        }
        run(draft, *stage, target, level, storing);
    }
}

/// Brings a draft as far towards `target` as the last level can: all that the stages may take, and of what must stay what
/// [`StageName::Trim`] proposes. The least that this comes to does not depend on the budget.
pub fn trim<T: Text>(draft: &mut Draft<'_, T>, target: usize, with: &Sealing<'_>) {
    let (least, storing) = (Level::least(), with.referring.storing);
    run_stages(draft, 0, std::slice::from_ref(&least), storing);
    run(draft, StageName::Trim, target, &least, storing);
}

/// Takes what `stage` proposes until the draft is down to `target`.
fn run<T: Text>(draft: &mut Draft<'_, T>, stage: StageName, target: usize, level: &Level, storing: Storing) {
    for proposal in propose(stage, draft, level, storing) {
        if draft.total() <= target {
            return;
        }
        draft.accept(stage, proposal);
    }
}

/// The error for a draft that comes to `floor` tokens and does not fit: what takes the room.
pub fn floor<T: Text>(draft: &Draft<'_, T>, budget: Budget, floor: usize) -> Error {
    let cause = occupant::occupant_of(draft);
    Error::Budget { budget: budget.limit, learned: budget.learned, floor, messages: draft.remaining(), cause }
}
