//! Changes of files: `git diff`, `git show`, `git log -p`, unified diffs. Each file is named with the size of its
//! change. Changed lines are kept before unchanged ones.

mod history;
mod read;

pub(super) use history::{claims as claims_history, outline as history};

use std::collections::HashSet;
use std::ops::Range;

use foldhash::fast::RandomState;
use read::{FileChange, read};
use xxhash_rust::xxh3::xxh3_64;

use super::outline::{Outline, Rank};
use super::ranked::{RankedLines, Reports};
use super::sample::Sample;
use crate::numbers::thousands;

/// Number of removed lines of a hunk that are essential: enough to know what was there.
const REMOVED: usize = 3;

/// Number of added lines of a hunk that are essential, at its beginning and its end. They are the file's present
/// content.
const ADDED_HEAD: usize = 5;
const ADDED_TAIL: usize = 1;

/// Number of lines of a commit message that are essential.
const MESSAGE: usize = 8;

/// A file with longer lines on average is minified, and not written by a person.
const MINIFIED: usize = 400;

/// Written once, before the first hunk.
const NOTE: &str = "[unchanged lines of hunks stand only where there was room for them]";

/// True if a hunk header follows the name of a file.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    let is_git = |line: &str| line.starts_with("diff --git ") || line.starts_with("diff --cc ");
    // In prose or handwritten notes, a quoted diff is not most of the lines.
    let is_hunk = |line: &str| read::hunk(line).is_some();
    let is_body = |line: &str| line.starts_with(['+', '-', ' ', '@', '\\']) || is_git(line);
    sample.any(is_git) && (sample.lines[0].starts_with("commit ") || is_git(sample.lines[0]) || sample.any(is_hunk))
        || sample.any(is_hunk) && sample.share(is_body) >= 80
}

/// Splits the text into changes. O(length).
pub(super) fn outline(text: &str) -> Option<Outline<'_>> {
    let mut diff = RankedLines::of(text, Reports::ByForm);
    let (files, others) = read(&diff);
    if files.is_empty() {
        return None;
    }
    mark_commits(&mut diff, &others);
    let mut seen = HashSet::with_hasher(RandomState::default());
    let mut noted = false;
    for file in &files {
        let is_shown = !is_made_by_tools(&diff, file);
        mark_header(&mut diff, file, if is_shown { Kind::ByPeople } else { Kind::ByTools });
        for hunk in &file.hunks {
            if is_shown && !noted {
                noted = true;
                diff.before(hunk.start, NOTE.to_owned(), Rank::Key);
            }
            mark_hunk(&mut diff, hunk.clone(), is_shown, &mut seen);
        }
    }
    Some(diff.outline())
}

/// Names the file with its counts, and drops header lines that repeat the name.
fn mark_header(diff: &mut RankedLines<'_>, file: &FileChange<'_>, kind: Kind) {
    const REPEATS: [&str; 7] =
        ["index ", "--- ", "+++ ", "similarity index ", "=====", "new file mode 100644", "deleted file mode 100644"];
    let mut note = if kind == Kind::ByTools { ", written by tools".to_owned() } else { String::new() };
    for index in file.header + 1..file.body {
        let line = diff.line(index);
        if line.starts_with("new file") {
            note += ", new file";
        } else if line.starts_with("deleted file") {
            note += ", deleted";
        }
        if REPEATS.iter().any(|start| line.starts_with(start)) {
            diff.set(index, Rank::Bulk);
            diff.unmark(index);
        } else {
            diff.set(index, Rank::Key);
        }
    }
    diff.set(file.header, Rank::Key);
    diff.instead(
        file.header,
        format!("diff {} (+{} -{}{note})", file.path, thousands(file.added), thousands(file.removed)),
    );
}

/// The author of a file: a person or a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    ByPeople,
    ByTools,
}

/// True if the file is one that only tools write.
fn is_made_by_tools(diff: &RankedLines<'_>, file: &FileChange<'_>) -> bool {
    const NAMES: [&str; 16] = [
        "Cargo.lock",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "bun.lock",
        "poetry.lock",
        "uv.lock",
        "Pipfile.lock",
        "pdm.lock",
        "composer.lock",
        "Gemfile.lock",
        "go.sum",
        "flake.lock",
        "mix.lock",
        "packages.lock.json",
    ];
    const SUFFIXES: [&str; 9] =
        [".min.js", ".min.css", ".map", ".snap", "_pb2.py", ".pb.go", ".g.dart", ".designer.cs", ".generated.ts"];
    const FOLDERS: [&str; 5] = ["node_modules", "vendor", "third_party", "dist", "__snapshots__"];
    let name = file.path.rsplit('/').next().unwrap_or(file.path);
    let lines = file.end - file.body;
    let bytes: usize = (file.body..file.end).map(|index| diff.line(index).len()).sum();
    NAMES.contains(&name)
        || SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
        || file.path.split('/').any(|folder| FOLDERS.contains(&folder))
        || bytes > lines.max(1) * MINIFIED
        || file.is_binary
}

/// Ranks the lines of a hunk: changed lines first, and those at its beginning before others. A repeated change gets no
/// rank.
fn mark_hunk(diff: &mut RankedLines<'_>, hunk: Range<usize>, is_shown: bool, seen: &mut HashSet<u64, RandomState>) {
    // In a merge, each line has two signs.
    let is_merge = diff.line(hunk.start).starts_with("@@@");
    let is_changed =
        |line: &str| line.starts_with(['+', '-']) || is_merge && line.get(1..2).is_some_and(|sign| sign != " ");
    let changed: Vec<usize> = hunk.clone().skip(1).filter(|index| is_changed(diff.line(*index))).collect();
    let all: String = changed.iter().map(|index| diff.line(*index)).collect();
    let is_new = seen.insert(xxh3_64(all.as_bytes()));
    for index in hunk.clone() {
        if !is_shown {
            diff.set(index, Rank::Bulk);
            diff.unmark(index);
        } else if index > hunk.start && !is_changed(diff.line(index)) {
            diff.unmark(index);
        }
    }
    if !is_shown || !is_new {
        return;
    }
    diff.set(hunk.start, Rank::Sample);
    let (removed, added): (Vec<usize>, Vec<usize>) =
        changed.iter().partition(|index| diff.line(**index).trim_start().starts_with('-'));
    for index in removed.iter().take(REMOVED) {
        diff.set(*index, Rank::Sample);
    }
    for (turn, index) in added.iter().enumerate() {
        if turn < ADDED_HEAD || turn + ADDED_TAIL >= added.len() {
            diff.set(*index, Rank::Sample);
        }
    }
}

/// Ranks the lines between the changes: the author, the commit and its message.
fn mark_commits(diff: &mut RankedLines<'_>, others: &[usize]) {
    let mut behind = 0;
    for index in others {
        let line = diff.line(*index);
        if line.starts_with("commit ") {
            behind = 0;
        }
        behind += 1;
        diff.set(*index, if behind <= MESSAGE { Rank::Key } else { Rank::Ordinary });
    }
}
