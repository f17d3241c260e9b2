//! Reads the sections of a digest back when it is condensed again.

use super::mark::{Mark, NAMES};

/// Follows the path in the title of a written file.
pub(super) const AS_WRITTEN: &str = ", as written";

/// Returns the path in a file's title.
pub(super) fn path_of(title: &str) -> &str {
    title.strip_suffix(AS_WRITTEN).unwrap_or(title)
}

/// Returns the file name of a path, for use after the folders were named.
pub(super) fn short(path: &str) -> &str {
    if path.contains(char::is_whitespace) { path } else { path.rsplit(['/', '\\']).next().unwrap_or(path) }
}

/// Returns the sections of a digest: title and lines. Lines before the first heading have no title; neither does a text
/// that is not a digest.
pub(super) fn sections(digest: &str) -> impl Iterator<Item = (&str, &str)> {
    let (mark, mut rest) = Mark::read(digest).map_or((None, digest), |(mark, rest)| (Some(mark), rest));
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let is_heading = |line: &str| mark.as_ref().is_some_and(|mark| mark.title(line).is_some());
        let first = rest.split_inclusive('\n').next().unwrap_or_default();
        let title = mark.as_ref().and_then(|mark| mark.title(first));
        let start = if title.is_some() { first.len() } else { 0 };
        let lines = rest[start..].split_inclusive('\n');
        // Names are in one line. Lines after it without a title are not names.
        let most = if title == Some(NAMES) { 1 } else { usize::MAX };
        let length: usize = lines.take_while(|line| !is_heading(line)).take(most).map(str::len).sum();
        let section = &rest[start..start + length];
        rest = &rest[start + length..];
        Some((title.unwrap_or_default(), section))
    })
}
