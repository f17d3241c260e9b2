//! Reading stored content back, a bounded piece at a time.

use std::fmt::Write;
use std::ops::RangeInclusive;

use regex::{Regex, RegexBuilder};

use super::{Reference, retrieval_mark};
use crate::error::{Error, Result};
use crate::numbers::thousands;

/// Memory that a compiled pattern may take: enough for any sensible one, and a bound on a hostile one.
const PATTERN_LIMIT: usize = 1 << 20;

/// A line of more bytes than this is shown only around its matches.
const LONG_LINE: usize = 2_000;

/// Bytes shown on each side of a match in a long line: about two lines of text.
const AROUND: usize = 200;

/// What to read of stored content.
#[derive(Debug, Clone, Default)]
pub struct Request<'a> {
    /// Only lines that match this regular expression.
    pub pattern: Option<&'a str>,
    /// Only these lines, counted from 1, both ends included.
    pub lines: Option<RangeInclusive<usize>>,
    /// With a pattern: this many lines before and after each match.
    pub context: usize,
    /// Most characters to give back.
    pub limit: usize,
}

/// What `request` asks of `content`, behind a line that names the reference. Bytes that are not UTF-8 are replaced.
/// O(length), whatever the pattern.
///
/// # Errors
/// `Store` if the pattern is not a regular expression or too large.
pub fn retrieve(reference: &Reference, content: &[u8], request: &Request<'_>) -> Result<String> {
    let text = String::from_utf8_lossy(content);
    let lines: Vec<&str> = text.lines().collect();
    let mut wanted = vec![true; lines.len()];
    if let Some(range) = &request.lines {
        for (index, keep) in wanted.iter_mut().enumerate() {
            *keep = range.contains(&(index + 1));
        }
    }
    let regex = request.pattern.map(compiled).transpose()?;
    let matches = regex.as_ref().map(|regex| keep_matches(regex, request.context, &lines, &mut wanted));
    let mut what = format!("{} lines in all", thousands(lines.len()));
    if let Some(found) = matches {
        let _ = write!(what, ", {} match the pattern", thousands(found)); // Writing to a string cannot fail.
    }
    let whole = request.pattern.is_none() && request.lines.is_none();
    let body =
        if whole { clip_whole(&text, request.limit) } else { numbered(&lines, &wanted, request.limit, regex.as_ref()) };
    Ok(format!("{}\n{body}", retrieval_mark(reference, &what)))
}

fn compiled(pattern: &str) -> Result<Regex> {
    RegexBuilder::new(pattern).size_limit(PATTERN_LIMIT).build().map_err(|error| Error::Store {
        problem: format!("the pattern cannot be used: {error}"),
        remedy: "give a regular expression without look-around or back-references".to_owned(),
    })
}

/// Narrows `wanted` to the lines that match and those around them; how many matched.
fn keep_matches(regex: &Regex, context: usize, lines: &[&str], wanted: &mut [bool]) -> usize {
    let hits: Vec<usize> = (0..lines.len()).filter(|index| wanted[*index] && regex.is_match(lines[*index])).collect();
    let mut near = vec![false; lines.len()];
    let mut filled = 0;
    for hit in &hits {
        let end = hit.saturating_add(context).saturating_add(1).min(lines.len());
        let start = hit.saturating_sub(context).max(filled).min(end);
        near[start..end].fill(true);
        filled = end;
    }
    for (keep, near) in wanted.iter_mut().zip(near) {
        *keep &= near;
    }
    hits.len()
}

fn clip_whole(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => {
            let rest = thousands(text[end..].chars().count());
            format!("{}\n[... {rest} characters more; ask for lines or a pattern]", &text[..end])
        }
    }
}

fn numbered(lines: &[&str], wanted: &[bool], limit: usize, regex: Option<&Regex>) -> String {
    let mut out = String::new();
    let mut left = limit;
    for (index, line) in lines.iter().enumerate().filter(|(index, _)| wanted[*index]) {
        let entry = match regex {
            Some(regex) if line.len() > LONG_LINE => format!("{}: {}\n", index + 1, excerpts(line, regex, left)),
            _ => format!("{}: {line}\n", index + 1),
        };
        let size = entry.chars().count();
        if size > left {
            out.extend(entry.chars().take(left));
            out.push_str("\n[... more; ask for fewer lines, or for a pattern]");
            break;
        }
        left -= size;
        out.push_str(&entry);
    }
    out
}

/// What stands around the matches in a long line, such as a JSON result or a message of a transcript, which are one
/// line each; the line itself where nothing in it matches. Stops once `limit` bytes are found.
fn excerpts(line: &str, regex: &Regex, limit: usize) -> String {
    let mut out = String::new();
    let mut shown = 0;
    for found in regex.find_iter(line) {
        let start = line.floor_char_boundary(found.start().saturating_sub(AROUND)).max(shown);
        let end = line.ceil_char_boundary(found.end().saturating_add(AROUND).min(line.len())).max(start);
        if start > shown {
            out.push_str("[...]");
        }
        out.push_str(&line[start..end]);
        shown = end;
        if out.len() > limit {
            break;
        }
    }
    match shown {
        0 => line.to_owned(),
        shown if shown < line.len() => out + "[...]",
        _ => out,
    }
}
