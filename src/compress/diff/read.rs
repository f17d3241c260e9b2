//! Finds the files and hunks of a diff. The counts in a hunk's header say where it ends, so a removed line such as
//! `-- a comment` is not mistaken for the name of a file.

use std::ops::Range;

use super::super::ranked::RankedLines;

/// The changes of one file. All positions are line indices.
#[derive(Debug)]
pub(super) struct FileChange<'a> {
    pub path: &'a str,
    /// The first line that names the file.
    pub header: usize,
    /// The line after the header.
    pub body: usize,
    /// The line after the last one of the file.
    pub end: usize,
    /// The hunks, with their headers.
    pub hunks: Vec<Range<usize>>,
    pub added: usize,
    pub removed: usize,
    pub is_binary: bool,
}

/// A hunk's header: the number of sign columns, and the numbers of old and new lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hunk {
    columns: usize,
    before: usize,
    after: usize,
}

/// Parses `@@ -1,7 +1,9 @@`, or `@@@ -1,7 -1,7 +1,9 @@@` of a merge.
pub(super) fn hunk(line: &str) -> Option<Hunk> {
    let columns =
        line.bytes().take_while(|byte| *byte == b'@').count().checked_sub(1).filter(|columns| *columns > 0)?;
    let mut ranges = line[columns + 1..].split(' ').skip(1);
    let lines = |range: &str| match range.split_once(',') {
        Some((_, lines)) => lines.parse().ok(),
        None => range.parse::<usize>().ok().map(|_| 1),
    };
    let before = lines(ranges.next()?.strip_prefix('-')?)?;
    let after = lines(ranges.find_map(|range| range.strip_prefix('+'))?)?;
    Some(Hunk { columns, before, after })
}

/// Returns the files, and the lines that belong to no file. O(length).
pub(super) fn read<'a>(diff: &RankedLines<'a>) -> (Vec<FileChange<'a>>, Vec<usize>) {
    let (mut files, mut others) = (Vec::<FileChange<'a>>::new(), Vec::new());
    let mut index = 0;
    while index < diff.len() {
        let line = diff.line(index);
        if let Some(path) = path(diff, index, files.last().filter(|file| file.end == index)) {
            let (header, next) = (index, index + 1);
            let hunks = Vec::new();
            files.push(FileChange {
                path,
                header,
                body: next,
                end: next,
                hunks,
                added: 0,
                removed: 0,
                is_binary: false,
            });
        } else if let Some(file) = files.last_mut().filter(|file| file.end == index) {
            if let Some(hunk) = hunk(line) {
                index = read_hunk(diff, index, hunk, file);
                continue;
            }
            let is_binary = line.starts_with("Binary files ") || line == "GIT binary patch";
            file.is_binary |= is_binary;
            if file.hunks.is_empty() && (is_header(line) || is_binary) {
                (file.body, file.end) = (index + 1, index + 1);
            } else if file.is_binary && !line.starts_with("commit ") {
                match file.hunks.last_mut() {
                    Some(data) => data.end = index + 1,
                    None => file.hunks.push(index..index + 1),
                }
                file.end = index + 1;
            } else {
                others.push(index);
            }
        } else {
            others.push(index);
        }
        index += 1;
    }
    (files, others)
}

/// Returns the path, if the line is the first one of a file.
fn path<'a>(diff: &RankedLines<'a>, index: usize, open: Option<&FileChange<'_>>) -> Option<&'a str> {
    let line = diff.line(index);
    if let Some(rest) = line.strip_prefix("diff --git ") {
        return Some(rest.rsplit_once(" b/").map_or(rest, |(_, path)| path));
    }
    if let Some(path) = line.strip_prefix("diff --cc ").or_else(|| line.strip_prefix("Index: ")) {
        return Some(path);
    }
    // A plain diff names a file only by these two lines.
    let is_named = open.is_some_and(|file| file.hunks.is_empty());
    let next = (index + 1 < diff.len() && line.starts_with("--- ") && !is_named).then(|| diff.line(index + 1))?;
    let path = next.strip_prefix("+++ ")?.split('\t').next()?;
    Some(path.strip_prefix("b/").unwrap_or(path))
}

fn is_header(line: &str) -> bool {
    const STARTS: [&str; 14] = [
        "index ",
        "--- ",
        "+++ ",
        "old mode ",
        "new mode ",
        "new file ",
        "deleted file ",
        "similarity index ",
        "dissimilarity index ",
        "rename ",
        "copy ",
        "mode ",
        "=====",
        "Only in ",
    ];
    STARTS.iter().any(|start| line.starts_with(start))
}

/// Reads and counts up to the end of a hunk. Returns the index of the next line.
fn read_hunk(diff: &RankedLines<'_>, start: usize, hunk: Hunk, file: &mut FileChange<'_>) -> usize {
    let (mut before, mut after) = (hunk.before, hunk.after);
    let mut index = start + 1;
    while index < diff.len() && (before > 0 || after > 0) {
        let line = diff.line(index);
        let signs = &line.as_bytes()[..hunk.columns.min(line.len())];
        match () {
            () if line.starts_with('\\') => {}
            () if signs.contains(&b'+') => {
                file.added += 1;
                after = after.saturating_sub(1);
            }
            () if signs.contains(&b'-') => {
                file.removed += 1;
                // Removed from one parent of a merge; the counts do not say which.
                before = before.saturating_sub(usize::from(hunk.columns == 1));
            }
            // An editor may have stripped the space of an empty line.
            () if line.is_empty() || line.starts_with(' ') => {
                (before, after) = (before.saturating_sub(1), after.saturating_sub(1));
            }
            () => break,
        }
        index += 1;
        if hunk.columns > 1 && after == 0 {
            break;
        }
    }
    // `\ No newline at end of file` is about the line before it.
    if index < diff.len() && diff.line(index).starts_with('\\') {
        index += 1;
    }
    file.hunks.push(start..index);
    file.end = index;
    index
}
