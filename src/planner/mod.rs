//! Makes a plan from a conversation and a budget.
//!
//! [`outline`] decides: it runs the stages over a working copy until the target is met, level by level. [`render`] then
//! writes the texts and references, and counts the outcome exactly.

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
mod render;
mod rendering;
mod shorten;
mod tools;

pub use deadline::Deadline;
pub use occupant::occupant;
pub use pending::{SummaryAnswer, request_of, reserve, resumed, wait_for_summary, worded};
pub use plan::{Artifact, PendingSummary, Plan, Source};
pub use render::render;
pub use rendering::{LastLoop, References, Rendering, Urgency};
pub use shorten::{ShortText, marked_short, shorten};

use crate::budget::{Budget, progressed};
use crate::error::{Error, Result};
use crate::invariants::Pairs;
use crate::ledger::Measured;
use crate::message::{Conversation, Text};
use crate::numbers::{part_of, share};
use crate::policy::{Level, Policy, StageName};
use crate::stages::propose;
use crate::store::Storing;
use crate::working_copy::{Bounds, Proposal, WorkingCopy};

/// Returns a working copy that brings `conversation` as far towards the target as possible. `unused` is the number of
/// tokens that the previous working copy left over. O(length) for each level of the ladder.
///
/// # Errors
/// `Message` if the original conversation breaks a rule of the providers.
pub fn outline<'a, T: Text>(
    conversation: &'a Conversation<T>,
    tokens: &'a Measured,
    policy: &'a Policy,
    bounds: Bounds,
    with: &Rendering<'_>,
    unused: usize,
) -> Result<WorkingCopy<'a, T>> {
    let (budget, storing) = (with.aim, with.referring.storing);
    let pairs = Pairs::of(conversation);
    if let Some(violation) = pairs.broken(conversation).into_iter().next() {
        return Err(violation.refusal(conversation.entry(violation.message)));
    }
    let recent = share(with.budget.limit, policy.keep_recent_share);
    let mut working_copy = WorkingCopy::new(conversation, tokens, pairs, policy, bounds).with_recent(recent);
    if with.last_loop == LastLoop::MayGo {
        working_copy.release_last_loop();
    }
    let starts_at = match with.urgency {
        Urgency::Soft => budget.high,
        Urgency::Hard => budget.low,
    };
    // First, because the number of kept messages must not depend on the budget.
    thin_out(&mut working_copy, storing);
    if working_copy.total() > starts_at {
        let aims = Aims::of(&working_copy, budget, unused, with.urgency);
        climb(&mut working_copy, aims, with);
    }
    Ok(working_copy)
}

/// Runs the stages, level by level, until the target is met. After the deadline, it runs the last level at once.
fn climb<T: Text>(working_copy: &mut WorkingCopy<'_, T>, aims: Aims, with: &Rendering<'_>) {
    let levels = &working_copy.policy.levels;
    let mut next = 0;
    while next < levels.len() {
        run_stages(working_copy, aims.structure, &levels[..=next], with.referring.storing);
        let enough = if next == 0 { aims.enough } else { aims.enough.max(aims.last) };
        if working_copy.total() <= enough {
            break;
        }
        next = if with.deadline.is_over() { (levels.len() - 1).max(next + 1) } else { next + 1 };
    }
}

/// Removes the oldest messages if there are more than the policy allows, as far as the first level with a window
/// permits.
fn thin_out<T: Text>(working_copy: &mut WorkingCopy<'_, T>, storing: Storing) {
    let (policy, count) = (working_copy.policy, working_copy.conversation.messages.len());
    let Some(most) = policy.max_messages.filter(|most| count > *most) else { return };
    let Some(level) = policy.levels.iter().find(|level| level.runs(StageName::Window)) else { return };
    // The note of a gap is a message too.
    let mut over = count + 1 - share(most, policy.low_messages).max(1);
    for proposal in propose(StageName::Window, working_copy, level, storing) {
        let Proposal::Remove { messages } = &proposal else { continue };
        let messages = messages.clone();
        working_copy.accept(StageName::Window, proposal);
        if working_copy.is_removed(messages.start) {
            over = over.saturating_sub(messages.len());
        }
        if over == 0 {
            return;
        }
    }
}

/// The targets of the stages.
#[derive(Clone, Copy)]
struct Aims {
    /// Tokens of messages that are kept whole.
    structure: usize,
    /// After the first level, more tokens than this require the next level.
    enough: usize,
    /// After later levels, more tokens than this do, if it is larger.
    last: usize,
}

/// The share of the target for messages that are kept whole is this times the ratio of the target to the whole. The
/// less is kept, the more of it is chosen line by line. `benches/retention.py` measures the effect.
const STRUCTURE: f64 = 0.5;

/// Minimum share of the target for the newest messages, before they too are kept as lines.
const LEAST_STRUCTURE: f64 = 0.1;

impl Aims {
    /// Computes the targets. `unused` tokens were left over when less was kept whole.
    fn of<T: Text>(working_copy: &WorkingCopy<'_, T>, budget: Budget, unused: usize, urgency: Urgency) -> Aims {
        let before = working_copy.tokens.total();
        // A compaction that waited for its mark must end well below it.
        let last = match urgency {
            Urgency::Soft if before > budget.escalate => budget.escalate.min(progressed(before)),
            Urgency::Soft | Urgency::Hard => budget.escalate,
        };
        if !working_copy.is_digested() {
            // Below that mark the next turn has room. A lower target would remove content that the model still works
            // with.
            return Aims { structure: budget.low, enough: last, last };
        }
        let part = part_of(budget.low, working_copy.tokens.total());
        let structure = share(budget.low, part * STRUCTURE) + unused;
        let enough = match working_copy.policy.escalate {
            // The caller set the point for the next level, so content that the first level spares stays whole.
            Some(_) => last,
            None => structure.max(share(budget.low, LEAST_STRUCTURE)),
        };
        Aims { structure, enough, last }
    }
}

/// Runs the policy's stages of the last of `levels`, in order, until the working copy meets `target`. The earlier
/// levels have run before.
fn run_stages<T: Text>(working_copy: &mut WorkingCopy<'_, T>, target: usize, levels: &[Level], storing: Storing) {
    let Some(level) = levels.last() else { return };
    let stages = &working_copy.policy.stages;
    // Content that must be kept is shortened separately, after all levels.
    let runs = |level: &Level, stage: &StageName| level.runs(*stage) && *stage != StageName::Trim;
    for (index, stage) in stages.iter().enumerate().filter(|(_, stage)| runs(level, stage)) {
        if *stage == StageName::Window && working_copy.is_digested() && working_copy.total() > target {
            // Lines of removed content are kept, so it need not be shortened first, and the rest may stay whole.
            working_copy.restore();
            run(working_copy, *stage, target, level, storing);
            for level in levels {
                for earlier in stages[..index].iter().filter(|stage| runs(level, stage)) {
                    run(working_copy, *earlier, target, level, storing);
                }
            }
        }
        run(working_copy, *stage, target, level, storing);
    }
}

/// Brings a working copy as far towards `target` as the last level can. Removes everything that the stages may remove,
/// and shortens required content as [`StageName::Trim`] proposes. The smallest result does not depend on the budget.
pub fn trim<T: Text>(working_copy: &mut WorkingCopy<'_, T>, target: usize, with: &Rendering<'_>) {
    let (least, storing) = (Level::least(), with.referring.storing);
    run_stages(working_copy, 0, std::slice::from_ref(&least), storing);
    run(working_copy, StageName::Trim, target, &least, storing);
}

/// Accepts the proposals of `stage` until the working copy meets `target`.
fn run<T: Text>(
    working_copy: &mut WorkingCopy<'_, T>,
    stage: StageName,
    target: usize,
    level: &Level,
    storing: Storing,
) {
    for proposal in propose(stage, working_copy, level, storing) {
        if working_copy.total() <= target {
            return;
        }
        working_copy.accept(stage, proposal);
    }
}

/// Returns the error for a working copy of `floor` tokens that does not fit. It names what takes up the room.
pub fn floor<T: Text>(working_copy: &WorkingCopy<'_, T>, budget: Budget, floor: usize) -> Error {
    let cause = occupant::occupant_of(working_copy);
    Error::Budget { budget: budget.limit, learned: budget.learned, floor, messages: working_copy.remaining(), cause }
}
