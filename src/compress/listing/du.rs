//! `du`: keeps the largest entries first.

use super::super::outline::{Outline, Rank};
use super::super::ranked::{RankedLines, Reports};

/// The number of largest entries that are essential.
const LARGEST: usize = 30;

/// Parses `1.2G ./target`: a size with an optional unit, and a path after a tab. Sizes are returned in one common unit.
pub(super) fn entry(line: &str) -> Option<(u64, &str)> {
    const POWERS: [char; 5] = ['K', 'M', 'G', 'T', 'P'];
    let (size, path) = line.split_once('\t')?;
    let size = size.trim();
    let (number, power) = match size.chars().last().filter(char::is_ascii_alphabetic) {
        Some(unit) => (&size[..size.len() - 1], POWERS.iter().position(|power| unit == *power)? + 1),
        None => (size, 0),
    };
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let tenths = whole.parse::<u64>().ok()?.saturating_mul(10).saturating_add(tenths.parse::<u64>().ok()?);
    let bytes = (0..power).fold(tenths, |bytes, _| bytes.saturating_mul(1024));
    // Numbered lines of code look much the same.
    (path == "." || path.contains('/') && !path.contains(['\t', '(', ';'])).then_some((bytes, path))
}

/// Splits the list into pieces.
pub(super) fn outline(text: &str) -> Outline<'_> {
    let mut list = RankedLines::of(text, Reports::ByForm);
    let mut entries: Vec<(u64, usize)> =
        (0..list.len()).filter_map(|index| Some((entry(list.line(index))?.0, index))).collect();
    // The last entry is the total, whatever its size.
    let total = entries.last().map(|(_, index)| *index);
    entries.sort_by(|one, two| two.0.cmp(&one.0).then(one.1.cmp(&two.1)));
    for (_, index) in entries.iter().take(LARGEST) {
        list.set(*index, Rank::Sample);
    }
    if let Some(total) = total {
        list.set(total, Rank::Key);
    }
    list.outline()
}
