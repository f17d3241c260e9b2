//! Lists of files: `ls -l`, `ls -lR`, `find`, `git ls-files`, `tree`, `du`, `git status`. Each folder is named once,
//! with a summary of its content. A few of its entries are kept, and those that stand out.

mod du;
mod entry;
mod long;
mod paths;
mod status;
mod suffixes;
mod tree;

use super::outline::Outline;
use super::sample::Sample;

/// The least percentage of lines that are entries.
const ENTRIES: usize = 80;

/// Fewer lines are not a list.
const LEAST: usize = 8;

/// True if most lines are entries of one of these tools.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    if sample.lines.len() < LEAST {
        return false;
    }
    let is_long = |line: &str| entry::entry(line).is_some() || long::is_frame(line);
    sample.any(|line| entry::entry(line).is_some()) && sample.share(is_long) >= ENTRIES
        || sample.share(|line| tree::depth(line).is_some()) >= ENTRIES
        || sample.share(|line| du::entry(line).is_some()) >= ENTRIES
        || sample.any(status::is_head) && sample.share(status::is_line) >= ENTRIES
        || sample.share(status::is_short) >= ENTRIES
        || sample.share(paths::is_path) >= ENTRIES && sample.any(|line| line.contains('/'))
}

/// Splits the text into entries, and names each folder once. `None` if it is not a list. O(length).
pub(super) fn outline(text: &str) -> Option<Outline<'_>> {
    let sample = Sample::of(text, "");
    let most = |is: &dyn Fn(&str) -> bool| sample.share(is) >= ENTRIES / 2;
    match () {
        () if most(&|line| entry::entry(line).is_some()) => Some(long::outline(text)),
        () if most(&|line| tree::depth(line).is_some()) => Some(tree::outline(text)),
        () if most(&|line| du::entry(line).is_some()) => Some(du::outline(text)),
        () if sample.any(status::is_head) || most(&status::is_short) => Some(status::outline(text)),
        () if most(&|line| long::is_frame(line)) => Some(long::outline(text)),
        () if most(&paths::is_path) => Some(paths::outline(text)),
        () => None,
    }
}
