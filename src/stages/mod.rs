//! The stages. Each reads a working copy and proposes edits, and does nothing else.
//!
//! A stage's proposals do not depend on the budget: the planner accepts them in order and stops at its target. So a
//! bigger budget accepts fewer of the same proposals, and never keeps less.

mod compress;
mod offload;
mod prune;
mod trim;
mod window;

use crate::message::Text;
use crate::policy::{Level, StageName};
use crate::store::Storing;
use crate::working_copy::{Proposal, WorkingCopy};
pub use trim::cuts_last_request;

/// Returns the proposals of the stage `name` for `working_copy` at `level`, in order of preference. O(parts), and for
/// superseded content O(length).
pub fn propose<T: Text>(
    name: StageName,
    working_copy: &WorkingCopy<'_, T>,
    level: &Level,
    storing: Storing,
) -> Vec<Proposal> {
    match name {
        StageName::Offload => match storing {
            Storing::On => offload::propose(working_copy, level),
            Storing::Off => Vec::new(),
        },
        StageName::Compress => compress::propose(working_copy, level),
        StageName::Prune => prune::propose(working_copy, level, storing),
        StageName::Window => window::propose(working_copy, level),
        StageName::Trim => trim::propose(working_copy),
        // These remove nothing. The planner keeps lines and requests summaries after the removed messages are known.
        StageName::Digest | StageName::Summarize => Vec::new(),
    }
}
