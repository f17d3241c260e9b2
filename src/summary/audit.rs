//! What a summary lost: lines of the messages that hold words which a later step is likely to repeat, and which stand
//! neither in the summary nor in what stays.

use super::Removed;
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
    let older: Vec<&str> = [&*removed.previous, &*removed.lines].into_iter().filter(|text| !text.is_empty()).collect();
    let past = Past {
        conversation: removed.conversation,
        tokens: measured,
        pairs: &Pairs::of(removed.conversation),
        gaps: &removed.ranges,
        cuts: &[],
        older: older.into_iter().map(|text| (0, text)).collect(),
        beside,
    };
    let lines = digest(&past, tokens, counter).gaps;
    lines.into_iter().filter(|lines| !lines.is_empty()).collect::<Vec<_>>().join("\n")
}
