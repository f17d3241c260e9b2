//! Finds the references in a text, both plain and in file names.

use std::collections::BTreeSet;

use super::Reference;
use super::reference::{HASH_DIGITS, LONGEST_TOOL, is_of_hash, is_of_tool};

/// Bytes between the tool and the hash in a file name: `_20261121_180953_`.
const DATED: usize = 17;

/// Returns every reference in `text`, and some false ones: the end of a longer hash counts too. O(length), at the speed
/// of searching for hyphens and underscores.
pub fn mentions(text: &[u8]) -> BTreeSet<Reference> {
    mentions_in(text)
        .filter_map(|Mention { tool_end, hash }| {
            let named = text[..tool_end].iter().rev().take(LONGEST_TOOL).take_while(|b| is_of_tool(**b)).count();
            let tool = std::str::from_utf8(&text[tool_end - named..tool_end]).ok()?;
            Reference::parse(&format!("{tool}-{hash}")).ok()
        })
        .collect()
}

/// Returns the hashes of those references. Content is in use if its hash occurs, because a name that touches the word
/// before it would hide a reference.
pub(super) fn hashes(text: &[u8]) -> impl Iterator<Item = &str> {
    mentions_in(text).map(|found| found.hash)
}

struct Mention<'a> {
    /// The end of the tool's name.
    tool_end: usize,
    hash: &'a str,
}

/// Returns every hash after the name of a tool and a hyphen, or after a date and a time.
fn mentions_in(text: &[u8]) -> impl Iterator<Item = Mention<'_>> {
    let separators = text.iter().enumerate().filter(|(_, byte)| matches!(byte, b'-' | b'_'));
    separators.filter_map(|(at, separator)| {
        let digits = text.get(at + 1..at + 1 + HASH_DIGITS)?;
        if !digits.iter().copied().all(is_of_hash) {
            return None;
        }
        let tool_end = if *separator == b'-' { at } else { (at + 1).checked_sub(DATED)? };
        let dated = *separator == b'-' || is_dated(&text[tool_end..=at]);
        let named = tool_end > 0 && is_of_tool(text[tool_end - 1]);
        let hash = std::str::from_utf8(digits).ok()?;
        (dated && named).then_some(Mention { tool_end, hash })
    })
}

/// True if this is a date and a time as in a file name.
fn is_dated(text: &[u8]) -> bool {
    const FORM: &[u8; DATED] = b"_00000000_000000_";
    text.len() == DATED
        && text.iter().zip(FORM).all(|(byte, form)| if *form == b'_' { *byte == b'_' } else { byte.is_ascii_digit() })
}
