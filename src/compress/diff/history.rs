//! `git log`, with or without `--stat`, and `git diff --stat`: commits with their subjects and the size of their
//! changes.

use super::super::outline::{Outline, Rank};
use super::super::ranked::{RankedLines, Reports};
use super::super::sample::Sample;
use crate::numbers::thousands;

/// The least percentage of lines with the change of a file, if there are no commits.
const COUNTS: usize = 80;

/// The least number of commits that distinguishes a history from a text that quotes one.
const COMMITS: usize = 2;

/// Number of letters of a commit's hash that are shown. It is unique even in large repositories.
const NAME: usize = 12;

/// Number of files of a commit that are essential if there are many commits: the files that changed most.
const FILES: usize = 2;

/// Number of essential files if the text is one list of files.
const FILES_OF_ONE: usize = 30;

/// Written once, at the beginning.
const NOTE: &str = "[dates, bodies and files of commits stand only where there was room for them]";

/// True if the text is a list of commits, or of files with the size of their changes.
pub(in crate::compress) fn claims(sample: &Sample<'_>) -> bool {
    let commits = sample.lines.windows(2).filter(|pair| name(pair[0]).is_some() && is_header(pair[1])).count();
    commits >= COMMITS && name(sample.lines[0]).is_some()
        || sample.share(|line| changed(line).is_some() || is_sum(line)) >= COUNTS
}

/// Splits the text into commits. `None` if there are none. O(length).
pub(in crate::compress) fn outline(text: &str) -> Option<Outline<'_>> {
    let mut history = RankedLines::of(text, Reports::ByForm);
    let starts: Vec<usize> = (0..history.len()).filter(|index| name(history.line(*index)).is_some()).collect();
    if !starts.is_empty() {
        history.before(0, NOTE.to_owned(), Rank::Key);
    }
    let (mut author, mut start) = ("", 0);
    for end in starts.iter().copied().chain([history.len()]) {
        let files: Vec<usize> = (start..end).filter(|index| changed(history.line(*index)).is_some()).collect();
        let most = if starts.is_empty() { FILES_OF_ONE } else { FILES };
        mark_files(&mut history, &files, most);
        if !starts.is_empty() {
            for index in &files {
                history.unmark(*index);
            }
        }
        let mut has_subject = false;
        for index in start..end {
            let line = history.line(index);
            let rank = match () {
                () if files.contains(&index) => continue,
                () if line.is_empty() => Rank::Bulk,
                () if is_sum(line) => Rank::Sample,
                () if line.starts_with("Author: ") => {
                    // Most consecutive commits have the same author.
                    let is_new = author != line;
                    author = line;
                    if is_new { Rank::Sample } else { Rank::Bulk }
                }
                () if line.starts_with("    ") && !has_subject => {
                    has_subject = true;
                    Rank::Key
                }
                () => Rank::Ordinary,
            };
            history.set(index, rank);
            if !starts.is_empty() {
                history.unmark(index);
            }
        }
        if let Some(name) = history_name(&history, start, end) {
            history.instead(start, name);
            history.set(start, Rank::Key);
        }
        start = end;
    }
    (start > 0).then(|| history.outline())
}

/// Returns `commit 0123456789ab, 6 files`: the short hash, and the number of changed files.
fn history_name(history: &RankedLines<'_>, start: usize, end: usize) -> Option<String> {
    let line = (start < end).then(|| history.line(start))?;
    let name = name(line)?;
    let files = (start..end).filter(|index| changed(history.line(*index)).is_some()).count();
    let behind = &line["commit ".len() + name.len()..];
    let count = match files {
        0 => String::new(),
        1 => ", 1 file".to_owned(),
        _ => format!(", {} files", thousands(files)),
    };
    Some(format!("commit {}{behind}{count}", &name[..NAME.min(name.len())]))
}

/// Returns the hash in `commit d273d75a232f9899134af6d28761ee74a230fd60 (HEAD -> main)`.
fn name(line: &str) -> Option<&str> {
    /// Git shortens hashes to at least this many letters.
    const SHORTEST: usize = 7;
    let rest = line.strip_prefix("commit ")?;
    let name = &rest[..rest.bytes().take_while(u8::is_ascii_hexdigit).count()];
    let behind = &rest[name.len()..];
    (name.len() >= SHORTEST && (behind.is_empty() || behind.starts_with(' '))).then_some(name)
}

fn is_header(line: &str) -> bool {
    ["Author: ", "Merge: ", "AuthorDate: "].iter().any(|start| line.starts_with(start))
}

/// Returns the number of changed lines in ` src/store/marks.rs | 12 +++---`; 0 for a binary file.
fn changed(line: &str) -> Option<usize> {
    let (path, rest) = line.strip_prefix(' ')?.rsplit_once(" | ")?;
    let rest = rest.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let signs = rest[digits..].trim();
    // A table of numbers has no signs after them, and neither does a file that was only moved.
    let has_signs = !signs.is_empty() && signs.bytes().all(|byte| matches!(byte, b'+' | b'-'));
    let is_count = digits > 0 && (has_signs || rest.trim_end() == "0");
    let is_change = !path.starts_with("   ") && !path.contains(" | ") && (is_count || rest.starts_with("Bin "));
    is_change.then(|| rest[..digits].parse().unwrap_or(0))
}

/// True for ` 6 files changed, 33 insertions(+), 3 deletions(-)`.
fn is_sum(line: &str) -> bool {
    line.starts_with(' ') && (line.contains(" files changed") || line.contains(" file changed"))
}

/// Ranks the files that changed most.
fn mark_files(history: &mut RankedLines<'_>, files: &[usize], most: usize) {
    let mut by_size = files.to_vec();
    by_size.sort_by_key(|index| std::cmp::Reverse(changed(history.line(*index))));
    for (turn, index) in by_size.into_iter().enumerate() {
        if turn < most {
            history.set(index, Rank::Sample);
        }
    }
}
