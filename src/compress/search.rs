//! Search results: `grep -n`, `git grep`, and ripgrep with or without headings. Each file is named once, with its
//! count.

use std::ops::Range;

use super::failure_words::{Cursor, failure_words};
use super::gap::newlines;
use super::outline::{Outline, Rank, Unit, lines};
use super::sample::Sample;
use crate::numbers::thousands;

/// The least percentage of lines that are results.
const RESULTS: usize = 70;

/// Number of results of each file that are essential.
const SAMPLES: usize = 2;

/// The separator between results that are not adjacent.
const SEPARATOR: &str = "--";

/// A longer result is cut to this many bytes.
const LONGEST_RESULT: usize = 200;

/// Failures stand out if at most one of this many lines reports one.
const RARE_AMONG: usize = 10;

/// True if most lines look like `path:12:text`, `path-12-text` or `path:text`, but not all like the second; or like
/// `12:text` below a path.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    let is_headed = sample.lines.windows(2).any(|pair| is_heading(pair[0]) && is_under_heading(pair[1]));
    if is_headed && sample.share(|line| is_heading(line) || is_under_heading(line) || line == SEPARATOR) >= RESULTS {
        return true;
    }
    let is_match = |line: &str| path(line).is_some_and(|path| is_match(line, path));
    sample.lines.len() > 1
        && sample.any(is_match)
        && sample.share(|line| path(line).is_some() || line == SEPARATOR) >= RESULTS
}

/// Returns the results, with each file named once; `None` if the lines are not results. O(length).
#[expect(clippy::unnecessary_wraps, reason = "other rooms take a closer look")]
pub(super) fn outline(text: &str) -> Option<Outline<'_>> {
    let found = failure_words(text);
    let mut cursor = Cursor::of(&found);
    let mut outline = Outline::of(Unit::Lines);
    // In a search for errors every result is a failure. Among other results a failure stands out.
    let are_rare = found.len() * RARE_AMONG < newlines(text) + 1;
    let all = results(text);
    let mut next = 0;
    while next < all.len() {
        let (line, path) = all[next].clone();
        let body = text[line.clone()].trim_end();
        let has_heading = path == Some(body);
        let Some(path) = path else {
            let here = cursor.until(line.end);
            let first = outline.pieces.len();
            outline.push_line(text, line, if body.is_empty() { Rank::Bulk } else { Rank::Ordinary }, here);
            if body.is_empty() {
                outline.unmark(first);
            }
            next += 1;
            continue;
        };
        let belongs = |(line, found): &&(Range<usize>, Option<&str>)| match found {
            Some(found) => *found == path,
            None => text[line.clone()].trim_end() == SEPARATOR,
        };
        let in_file = all[next..].iter().take_while(belongs).count();
        let in_file = &all[next..next + in_file];
        let is_match = |line: &str| if has_heading { is_match_under_heading(line) } else { is_match(line, path) };
        let matches = in_file.iter().filter(|(line, _)| is_match(&text[line.clone()])).count();
        // A heading of the search tool is written with its count.
        let named = if has_heading { line.clone() } else { line.start..line.start };
        cursor.until(named.end);
        outline.push_made(named, heading(path, matches), Rank::Key, false);
        for (turn, (line, _)) in in_file.iter().skip(usize::from(has_heading)).enumerate() {
            let failure_word = !cursor.until(line.end).is_empty();
            let rank = match () {
                () if failure_word && are_rare => Rank::Failure,
                () if turn < SAMPLES => Rank::Sample,
                () => Rank::Ordinary,
            };
            outline.push_reworded(line.clone(), rank, failure_word);
        }
        next += in_file.len();
    }
    Some(outline.rewording(without_path))
}

/// Returns the lines, each with the file of its result. `rg --heading` names a file once, on a line of its own.
fn results(text: &str) -> Vec<(Range<usize>, Option<&str>)> {
    let mut all: Vec<(Range<usize>, Option<&str>)> =
        lines(text).map(|line| (line.clone(), path(text[line].trim_end()))).collect();
    let mut open = None;
    for index in 0..all.len() {
        let body = text[all[index].0.clone()].trim_end();
        let heads = || all.get(index + 1).is_some_and(|(next, _)| is_under_heading(&text[next.clone()]));
        if all[index].1.is_none() && is_heading(body) && heads() {
            open = Some(body);
        } else if !is_under_heading(body) && body != SEPARATOR {
            open = None;
        }
        if body != SEPARATOR && open.is_some() {
            all[index].1 = open;
        }
    }
    all
}

/// True if the line may name the file of the results below it.
fn is_heading(line: &str) -> bool {
    let line = line.trim_end();
    is_path(line) && !line.contains(':') && (line.contains('/') || line.contains('.'))
}

/// True for `12:text`, and for `12-text` in the context of a match.
fn is_under_heading(line: &str) -> bool {
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    behind.len() < line.len() && behind.starts_with([':', '-'])
}

fn is_match_under_heading(line: &str) -> bool {
    line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(':')
}

fn heading(path: &str, matches: usize) -> String {
    match matches {
        0 | 1 => format!("{path}\n"),
        _ => format!("{path} ({} matches)\n", thousands(matches)),
    }
}

/// Returns the path in `path:12:text`, in `path-12-text` (context of a match), or in `path:text`.
fn path(line: &str) -> Option<&str> {
    numbered(line).or_else(|| plain(line)).map(|end| &line[..end])
}

/// Returns the end of the path before `:12:` or `-12-`.
fn numbered(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|b| matches!(b, b':' | b'-')).map(|at| from + at) {
        let digits = bytes[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        let closed = bytes.get(at + 1 + digits) == Some(&bytes[at]);
        if at > 0 && digits > 0 && closed && is_path(&line[..at]) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// Returns the end of the path before `:`. The path must have a folder or a suffix, so that no sentence matches.
fn plain(line: &str) -> Option<usize> {
    let at = line.find(':')?;
    let path = &line[..at];
    let named = path.contains('/')
        || path.rsplit_once('.').is_some_and(|(stem, suffix)| {
            !stem.is_empty() && (1..=5).contains(&suffix.len()) && suffix.bytes().all(|b| b.is_ascii_alphanumeric())
        });
    (named && is_path(path) && !line[at..].starts_with("://")).then_some(at)
}

fn is_path(text: &str) -> bool {
    !text.is_empty()
        && !text.bytes().any(|byte| matches!(byte, b' ' | b'\t' | b'"' | b'(' | b'{' | b'=' | b','))
        && !text.starts_with(|c: char| c.is_ascii_digit() || c == '[')
}

fn is_match(line: &str, path: &str) -> bool {
    line.get(path.len()..).is_some_and(|rest| rest.starts_with(':'))
}

/// Returns the line without its path: `12:text`.
fn without_path(line: &str) -> String {
    let body = line.trim_end_matches(['\n', '\r']);
    let rest = path(body).map_or(body, |path| &body[path.len() + 1..]);
    if rest.len() <= LONGEST_RESULT {
        return format!("  {rest}\n");
    }
    format!("  {} ...\n", &rest[..rest.floor_char_boundary(LONGEST_RESULT)])
}
