//! `git status`, long and short: keeps changed files before untracked ones.

use super::super::outline::{Outline, Rank};
use super::super::ranked::{RankedLines, Reports};

/// Number of entries of a section that are essential.
const SAMPLES: usize = 10;

/// True if this is the first line of the long form.
pub(super) fn is_head(line: &str) -> bool {
    [
        "On branch ",
        "HEAD detached at ",
        "Changes to be committed:",
        "Changes not staged for commit:",
        "Untracked files:",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

/// True if a line may be part of the long form.
pub(super) fn is_line(line: &str) -> bool {
    is_head(line)
        || line.starts_with('\t')
        || line.starts_with("  (use ")
        || ["Your branch ", "nothing ", "no changes ", "Unmerged paths:", "You have ", "All conflicts "]
            .iter()
            .any(|start| line.starts_with(start))
}

/// True if a line is of the short form: ` M path`, `?? path`.
pub(super) fn is_short(line: &str) -> bool {
    let bytes = line.as_bytes();
    let is_sign = |byte: u8| matches!(byte, b' ' | b'M' | b'A' | b'D' | b'R' | b'C' | b'U' | b'T' | b'?' | b'!');
    bytes.len() > 3
        && is_sign(bytes[0])
        && is_sign(bytes[1])
        && bytes[2] == b' '
        && bytes[3] != b' '
        && &bytes[..2] != b"  "
        || line.starts_with("## ")
}

/// Splits the list into pieces.
pub(super) fn outline(text: &str) -> Outline<'_> {
    let mut list = RankedLines::of(text, Reports::ByForm);
    let mut turn = 0;
    let mut section = "";
    for index in 0..list.len() {
        let line = list.line(index);
        let is_entry = line.starts_with('\t') || is_short(line) && !line.starts_with("## ");
        // In the short form, a section consists of the entries with the same signs.
        let signs = if line.starts_with('\t') { section } else { line.get(..2).unwrap_or_default() };
        if !is_entry || signs != section {
            (section, turn) = (if is_entry { signs } else { "" }, 0);
        }
        turn += usize::from(is_entry);
        let rank = match () {
            () if line.starts_with("  (use ") => Rank::Bulk,
            () if !is_entry => Rank::Key,
            () if turn <= SAMPLES => Rank::Sample,
            () => Rank::Ordinary,
        };
        list.set(index, rank);
    }
    list.outline()
}
