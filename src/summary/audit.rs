//! Finds what a summary lost: lines with words that a later step will probably repeat, and that are neither in the
//! summary nor in the kept messages.

use super::{Removed, joined};
use crate::digest::{Past, digest};
use crate::invariants::Pairs;
use crate::ledger::Measured;
use crate::message::Text;
use crate::tokens::CountTokens;

/// Returns the most useful lines of `removed`, and of the kept parts of older messages, in at most `tokens`. Lines that
/// the kept messages or the texts `beside` the conversation contain are left out. Empty if nothing is lost, or nothing
/// fits. O(length of the conversation).
pub fn lost_lines<'a, T: Text>(
    removed: &'a Removed<'a, T>,
    measured: &'a Measured,
    beside: Vec<&'a str>,
    tokens: usize,
    counter: &dyn CountTokens,
) -> String {
    let older = std::iter::once(&removed.previous).chain(&removed.lines).map(|text| &**text);
    let past = Past {
        conversation: removed.conversation,
        tokens: measured,
        pairs: &Pairs::of(removed.conversation),
        gaps: &removed.ranges,
        cuts: &[],
        older: older.filter(|text| !text.is_empty()).map(|text| (0, text)).collect(),
        beside,
        account: "",
    };
    joined(digest(&past, tokens, counter).gaps.iter().map(|lines| &**lines))
}
