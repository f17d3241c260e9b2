//! The references that stand in a text.

use std::collections::BTreeSet;

use super::Reference;
use super::reference::{HASH_DIGITS, LONGEST_TOOL, is_of_hash, is_of_tool};

/// Every reference that stands anywhere in `text`, and some that only look like one: the tail of a longer hash counts
/// too. O(length), at the speed of looking for hyphens.
pub fn mentions(text: &[u8]) -> BTreeSet<Reference> {
    found(text)
        .filter_map(|(hyphen, end)| {
            let start = hyphen - text[..hyphen].iter().rev().take(LONGEST_TOOL).take_while(|b| is_of_tool(**b)).count();
            Reference::parse(std::str::from_utf8(&text[start..end]).ok()?).ok()
        })
        .collect()
}

/// The hashes of those references. By them alone content is told to be in use: a name that is glued to the word before
/// it would otherwise hide a reference.
pub(super) fn hashes(text: &[u8]) -> impl Iterator<Item = &str> {
    found(text).filter_map(|(hyphen, end)| std::str::from_utf8(&text[hyphen + 1..end]).ok())
}

/// Where a hyphen stands that a tool's name and then a hash are around, and where the hash ends.
fn found(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let hyphens = text.iter().enumerate().filter(|(_, byte)| **byte == b'-').map(|(at, _)| at);
    hyphens.filter_map(|at| {
        let digits = text.get(at + 1..at + 1 + HASH_DIGITS)?;
        let is_hash = digits.iter().copied().all(is_of_hash);
        let named = at > 0 && is_of_tool(text[at - 1]);
        (is_hash && named).then_some((at, at + 1 + HASH_DIGITS))
    })
}
