//! `ls -l`, `ls -la`, `ls -lR`, `find -ls`: shows an entry by its name and size, and by anything unusual about it.

use std::fmt::Write;
use std::ops::Range;

use super::super::outline::{Outline, Rank};
use super::super::ranked::{RankedLines, Reports};
use super::entry::{Entry, entry};
use super::suffixes::{Suffixes, size};
use crate::numbers::thousands;

/// Number of entries of a folder that are essential.
const SAMPLES: usize = 2;

/// Number of essential entries of the first folder, because that is the one asked for.
const FIRST: usize = 20;

/// Folders up to this depth below the first are named before deeper ones.
const UPPER: usize = 1;

/// Fewer consecutive entries with the same path are kept as they are.
const LEAST: usize = 3;

/// The number of largest files in the whole list that are essential.
const LARGEST: usize = 10;

/// The number of rare files in the whole list that are essential.
const RARE: usize = 30;

/// With more folders than this, only the first and the last entries of the list are essential; headings describe the
/// rest.
const MANY_FOLDERS: usize = 100;

/// A file with more than this many times the mean size is large.
const LARGE: u64 = 5;

/// Written once, at the beginning.
const NOTE: &str = "[name, bytes; mode, owner and group only where unusual; a folder's entries where there was room]";

/// True for lines around entries: the name of a folder, or its total.
pub(super) fn is_frame(line: &str) -> bool {
    line.strip_prefix("total ").is_some_and(|total| total.trim_end().starts_with(|c: char| c.is_ascii_digit()))
        || folder(line).is_some()
}

/// Returns the folder named by a line such as `./src/compress:`.
fn folder(line: &str) -> Option<&str> {
    line.trim_end().strip_suffix(':').filter(|path| path.starts_with(['.', '/', '~']) || path.contains('/'))
}

/// Splits the list into pieces.
pub(super) fn outline(text: &str) -> Outline<'_> {
    let mut list = RankedLines::of(text, Reports::ByForm);
    let entries: Vec<Option<Entry<'_>>> = (0..list.len()).map(|index| entry(list.line(index))).collect();
    let files = || entries.iter().flatten().filter(|entry| entry.is_file());
    let mut suffixes = Suffixes::default();
    files().for_each(|entry| suffixes.add(entry.split().1));
    let mut sizes: Vec<u64> = files().map(Entry::bytes).collect();
    sizes.sort_unstable_by(|one, two| two.cmp(one));
    let mean = sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size)) / sizes.len().max(1) as u64;
    let large = sizes.get(LARGEST).copied().unwrap_or(0).max(mean.saturating_mul(LARGE));
    let usual = Usual::of(&entries);
    let folders = folders(&list, &entries);
    let samples = if folders.len() <= MANY_FOLDERS { SAMPLES } else { 0 };
    list.before(0, NOTE.to_owned(), Rank::Key);
    let depth = |folder: &Folder<'_>| match folder.heading {
        Some(heading) => list.line(heading).matches('/').count(),
        None => folder.path.matches('/').count(),
    };
    let depths: Vec<usize> = folders.iter().map(depth).collect();
    let mut rare = 0;
    for (number, Folder { heading, path, lines }) in folders.iter().enumerate() {
        let samples = if number == 0 { FIRST } else { samples };
        let inside: Vec<&Entry<'_>> = lines.clone().filter_map(|index| entries[index].as_ref()).collect();
        let summary = summary(&inside);
        match heading {
            Some(heading) => {
                list.instead(*heading, format!("{} {summary}", list.line(*heading).trim_end()));
                list.set(*heading, if depths[number] <= depths[0] + UPPER { Rank::Key } else { Rank::Sample });
            }
            None if path.is_empty() => list.before(lines.start, summary, Rank::Key),
            None if lines.len() >= LEAST => {
                let rank = if depths[number] <= depths[0] + UPPER { Rank::Key } else { Rank::Sample };
                list.before(lines.start, format!("{path}: {summary}"), rank);
            }
            None => {
                for index in lines.clone() {
                    list.instead(index, format!("{path}{}", usual.reworded(list.line(index)).trim()));
                }
            }
        }
        let is_headed = path.is_empty() || lines.len() >= LEAST;
        let mut turn = 0;
        for index in lines.clone() {
            if is_headed {
                list.unmark(index);
            }
            let Some(entry) = &entries[index] else {
                list.set(index, Rank::Bulk);
                continue;
            };
            list.reword(index);
            if matches!(entry.name, "." | "..") {
                list.set(index, Rank::Bulk);
                continue;
            }
            turn += 1;
            let is_rare = entry.is_file() && suffixes.is_rare(entry.split().1) || usual.is_unusual(entry);
            rare += usize::from(is_rare);
            let stands_out = is_rare && rare <= RARE || entry.is_file() && entry.bytes() > large;
            if turn <= samples || stands_out {
                list.set(index, Rank::Sample);
            }
        }
    }
    list.outline().rewording(move |line| usual.reworded(line))
}

/// A folder: the line that names it or the common path of its entries, and the lines of its entries.
struct Folder<'a> {
    heading: Option<usize>,
    path: &'a str,
    lines: Range<usize>,
}

fn folders<'a>(list: &RankedLines<'_>, entries: &[Option<Entry<'a>>]) -> Vec<Folder<'a>> {
    let mut folders = vec![Folder { heading: None, path: "", lines: 0..0 }];
    for (index, entry) in entries.iter().enumerate() {
        let is_heading = entry.is_none() && folder(list.line(index)).is_some();
        let path = entry.map_or("", |entry| entry.split().0);
        let is_other = |last: &Folder<'_>| last.heading.is_none() && last.path != path;
        if is_heading {
            folders.push(Folder { heading: Some(index), path: "", lines: index + 1..index + 1 });
        } else if entry.is_some() && folders.last().is_some_and(is_other) {
            folders.push(Folder { heading: None, path, lines: index..index + 1 });
        } else if let Some(last) = folders.last_mut() {
            last.lines.end = index + 1;
        }
    }
    folders.retain(|folder| folder.heading.is_some() || !folder.lines.is_empty());
    folders
}

/// Returns `34 files (30 .rs, 4 .md), 2 folders, 1.2 MB`.
fn summary(inside: &[&Entry<'_>]) -> String {
    let mut suffixes = Suffixes::default();
    let (mut files, mut folders, mut others, mut bytes) = (0, 0, 0, 0);
    for entry in inside.iter().filter(|entry| !matches!(entry.name, "." | "..")) {
        match entry.mode.as_bytes()[0] {
            b'd' => folders += 1,
            b'-' => {
                files += 1;
                bytes = entry.bytes().saturating_add(bytes);
                suffixes.add(entry.split().1);
            }
            _ => others += 1,
        }
    }
    let counted = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{} {many}", thousands(count))),
    };
    let named = counted(files, "file", "files").map(|files| format!("{files} ({})", suffixes.summary()));
    let parts = [named, counted(folders, "folder", "folders"), counted(others, "link or other", "links or others")];
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    if files > 0 {
        parts.push(size(bytes));
    }
    if parts.is_empty() { "empty".to_owned() } else { parts.join(", ") }
}

/// The owner of most entries.
struct Usual {
    owner: String,
    group: String,
}

impl Usual {
    /// Takes the owner of the first entry: nearly all have the same, and other owners are shown.
    fn of(entries: &[Option<Entry<'_>>]) -> Usual {
        let first = entries.iter().flatten().find(|entry| !matches!(entry.name, "." | ".."));
        let owned = |of: fn(&Entry<'_>) -> String| first.map(of).unwrap_or_default();
        Usual { owner: owned(|entry| entry.owner.to_owned()), group: owned(|entry| entry.group.to_owned()) }
    }

    fn has_usual_owner(&self, entry: &Entry<'_>) -> bool {
        (entry.owner, entry.group) == (&self.owner, &self.group)
    }

    fn is_unusual(&self, entry: &Entry<'_>) -> bool {
        !self.has_usual_owner(entry) || !entry.has_usual_mode()
    }

    /// Returns the name and the size. A slash marks a folder, and a star marks a program.
    fn reworded(&self, line: &str) -> String {
        let Some(entry) = entry(line.trim_end_matches(['\n', '\r'])) else { return line.to_owned() };
        let mut out = format!("  {}", entry.split().1);
        match entry.mode.as_bytes()[0] {
            b'd' => out.push('/'),
            b'-' => {
                if entry.mode.contains('x') {
                    out.push('*');
                }
                out.push(' ');
                out.push_str(&entry.size.parse().map_or_else(|_| entry.size.to_owned(), thousands));
            }
            _ => {}
        }
        if !entry.has_usual_mode() {
            out.push(' ');
            out.push_str(entry.mode);
        }
        if !self.has_usual_owner(&entry) {
            // Writing to a string cannot fail.
            let _ = write!(out, " {}:{}", entry.owner, entry.group);
        }
        out.push('\n');
        out
    }
}
