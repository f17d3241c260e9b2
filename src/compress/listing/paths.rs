//! `find`, `git ls-files`, `fd`, `rg --files`: a path on each line. Paths in one folder are listed below its name.

use super::super::outline::{Outline, Rank};
use super::super::ranked::{RankedLines, Reports};
use super::suffixes::Suffixes;
use crate::numbers::thousands;

/// Number of entries of a folder that are essential.
const SAMPLES: usize = 2;

/// With more folders than this, only their headings describe them.
const MANY_FOLDERS: usize = 100;

/// Fewer consecutive entries are kept as they are.
const LEAST: usize = 3;

/// The number of rare files in the whole list that are essential.
const RARE: usize = 30;

/// Longer lines are not paths.
const LONGEST: usize = 250;

/// True if a line may be a path: one word, or a name in a folder.
pub(super) fn is_path(line: &str) -> bool {
    let line = line.trim_end();
    let has_folders = line.contains('/');
    let is_word = !line.contains([' ', '\t']);
    let is_code = line.contains("://")
        || line.ends_with(['{', '}', ';', ',', ')', '(', ':', '>'])
        || line.contains(['"', '=', '<', '|', '\''])
        // Columns, as in the output of `df`.
        || line.contains("  ");
    !line.is_empty()
        && line.len() <= LONGEST
        && !line.starts_with(['-', ' ', '\t', '#', '*', '{', '[', '('])
        && !is_code
        && (has_folders && (is_word || line.starts_with(['/', '.', '~'])) || is_word && line.contains('.'))
}

/// Splits the list into pieces.
pub(super) fn outline(text: &str) -> Outline<'_> {
    let mut list = RankedLines::of(text, Reports::ByForm);
    let paths: Vec<(&str, &str)> = (0..list.len()).map(|index| split(list.line(index))).collect();
    let mut suffixes = Suffixes::default();
    paths.iter().filter(|(_, name)| !name.is_empty()).for_each(|(_, name)| suffixes.add(name));
    let count = paths.iter().filter(|(_, name)| !name.is_empty()).count();
    list.before(0, format!("[{} paths: {}]", thousands(count), suffixes.summary()), Rank::Key);
    let folders = paths.chunk_by(|one, two| one.0 == two.0).filter(|folder| folder.len() >= LEAST).count();
    let samples = if folders <= MANY_FOLDERS { SAMPLES } else { 1 };
    let (mut start, mut rare) = (0, 0);
    for folder in paths.chunk_by(|one, two| one.0 == two.0) {
        let lines = start..start + folder.len();
        start = lines.end;
        let has_heading = folder.len() >= LEAST && !folder[0].0.is_empty();
        if has_heading {
            let mut kinds = Suffixes::default();
            for (_, name) in folder {
                kinds.add(name);
            }
            let heading = format!("{}: {} entries ({})", folder[0].0, thousands(folder.len()), kinds.summary());
            list.before(lines.start, heading, Rank::Key);
        }
        for (turn, index) in lines.enumerate() {
            let is_rare = suffixes.is_rare(paths[index].1);
            rare += usize::from(is_rare);
            if has_heading {
                list.reword(index);
                list.unmark(index);
            }
            // A folder that contains the next line's entry is already named, by a heading or by that line.
            let is_named = |next: &(&str, &str)| next.0.strip_suffix('/').is_some_and(|next| next == list.line(index));
            if paths.get(index + 1).is_some_and(is_named) {
                list.set(index, Rank::Bulk);
                list.unmark(index);
                continue;
            }
            if turn < samples && has_heading || is_rare && rare <= RARE {
                list.set(index, Rank::Sample);
            }
        }
    }
    list.outline().rewording(|line| format!("  {}\n", split(line.trim_end_matches(['\n', '\r'])).1))
}

/// Splits a path into the folder with its slash, and the name.
fn split(path: &str) -> (&str, &str) {
    // A folder's own path may end with a slash.
    let end = path.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
    path.split_at(end)
}
