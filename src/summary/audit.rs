//! Finds what a summary lost: lines with words that a later step is likely to repeat, and that are neither in the summary
//! nor in the messages that stay.

use super::{Removed, joined};
use crate::digest::{Past, digest};
use crate::invariants::Pairs;
use crate::ledger::Measured;
use crate::message::Text;
use crate::tokens::CountTokens;

/// Lines of `removed`, and of what was kept of older messages, that are worth most beside what stays of the conversation and
/// the texts `beside` it, in at most `tokens`. Empty where nothing is lost, or nothing has room. O(length of the
/// conversation).
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
