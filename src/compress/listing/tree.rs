//! `tree`: keeps the upper levels first, then the first entries of each folder.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::super::outline::{Outline, Rank};
use super::super::ranked::{RankedLines, Reports};
use super::suffixes::Suffixes;

/// Number of essential entries of each folder, and the depth up to which folders have them.
const SAMPLES: usize = 2;
const DEEPEST: usize = 4;

/// The number of rare files in the whole list that are essential.
const RARE: usize = 30;

/// Returns the depth of an entry; `None` if the line has no branch. Branches are drawn as lines or as `|--`.
pub(super) fn depth(line: &str) -> Option<usize> {
    let at = ["├── ", "└── ", "|-- ", "`-- "].iter().filter_map(|branch| line.find(branch)).min()?;
    // Each level is four characters wide, and some of them are not ASCII.
    Some(line[..at].chars().count() / 4 + 1)
}

/// Returns the name after the branch.
fn name(line: &str) -> &str {
    line.rsplit("── ").next().and_then(|rest| rest.rsplit("-- ").next()).unwrap_or(line)
}

/// Splits the list into pieces.
pub(super) fn outline(text: &str) -> Outline<'_> {
    let mut list = RankedLines::of(text, Reports::ByForm);
    let depths: Vec<usize> = (0..list.len()).map(|index| depth(list.line(index)).unwrap_or(0)).collect();
    let is_folder = |index: usize| depths.get(index + 1).is_some_and(|next| *next > depths[index]);
    let mut suffixes = Suffixes::default();
    (0..list.len()).filter(|index| !is_folder(*index)).for_each(|index| suffixes.add(name(list.line(index))));
    let mut turns: HashMap<usize, usize, RandomState> = HashMap::default();
    let mut rare = 0;
    for (index, depth) in depths.iter().copied().enumerate() {
        // Deeper entries belong to a folder that has ended.
        turns.retain(|deeper, _| *deeper <= depth);
        let turn = turns.entry(depth).or_default();
        *turn += usize::from(!is_folder(index));
        let is_rare = !is_folder(index) && suffixes.is_rare(name(list.line(index)));
        rare += usize::from(is_rare);
        let rank = match depth {
            0 => Rank::Key,
            1 if is_folder(index) => Rank::Key,
            2 if is_folder(index) => Rank::Sample,
            1..=DEEPEST if *turn <= SAMPLES && !is_folder(index) => Rank::Sample,
            _ if is_rare && rare <= RARE => Rank::Sample,
            _ if is_folder(index) => Rank::Ordinary,
            _ => Rank::Bulk,
        };
        list.set(index, rank);
    }
    list.outline()
}
