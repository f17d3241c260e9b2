//! Reads stored content back, a bounded piece at a time.

mod pointer;
mod search;
mod selection;
mod show;

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::RangeInclusive;

pub use search::{Search, search};
pub use selection::compiled;

use super::{ContentKind, Reference, retrieval_marked};
use crate::error::Result;
use crate::media::{Media, MediaKind, Raw, Size};
use crate::numbers::thousands;
use selection::Selection;
use show::{End, beginning, numbered};

/// Default limit for the characters of a retrieval or a search: about 5,000 tokens, so that reading an output back
/// cannot overflow the window.
pub const RETRIEVAL_LIMIT: usize = 20_000;

/// Number of bytes of a pointer in the first line, which must stay short enough to be recognized.
const LONGEST_POINTER: usize = 40;

/// Selects a part of stored content. Each field narrows the selection: `pointer` chooses a value, `lines` choose lines
/// of it, `pattern` those lines that match, and `head` and `tail` the first and the last of these.
#[derive(Debug, Clone, Default)]
pub struct Request<'a> {
    /// Only the JSON value at this JSON pointer.
    pub pointer: Option<&'a str>,
    /// Only lines that match this regular expression.
    pub pattern: Option<&'a str>,
    /// Only these lines, counted from 1, both ends included.
    pub lines: Option<RangeInclusive<usize>>,
    /// Number of lines before and after each match of the pattern.
    pub context: usize,
    /// Only this many first lines.
    pub head: Option<usize>,
    /// Only this many last lines.
    pub tail: Option<usize>,
    /// Maximum number of returned characters.
    pub limit: usize,
    /// The path of the content, for content that is not text.
    pub place: Option<&'a str>,
}

impl Request<'_> {
    fn is_for_lines(&self) -> bool {
        self.pattern.is_some() || self.lines.is_some() || self.head.is_some() || self.tail.is_some()
    }
}

/// Returns the requested part of `content`, after a line that names the reference. Bytes that are not UTF-8 are
/// replaced; pictures and the like are described. O(length), whatever the pattern, pointer and depth.
///
/// # Errors
/// `Store` if the pattern is not a regular expression or too large, or if the pointer leads nowhere.
pub fn retrieve(reference: &Reference, content: &[u8], request: &Request<'_>) -> Result<String> {
    if let ContentKind::Binary { mime, .. } = ContentKind::of(content) {
        let description = described(content, mime, request.place);
        return Ok(retrieval_marked(reference, "which is not text", &description));
    }
    let whole = String::from_utf8_lossy(content);
    let mut what = String::new();
    let text: Cow<'_, str> = match request.pointer {
        None => Cow::Borrowed(&whole),
        Some(pointer) => {
            let value = pointer::value_at(&whole, pointer)?;
            let shown = pointer[..pointer.floor_char_boundary(LONGEST_POINTER)].replace(char::is_control, " ");
            let _ = write!(what, "{shown} is {}, ", value.kind); // Writing to a string cannot fail.
            value.text
        }
    };
    let total = text.lines().count();
    let _ = write!(what, "{} {} in all", thousands(total), if total == 1 { "line" } else { "lines" });
    let regex = request.pattern.map(compiled).transpose()?;
    if !request.is_for_lines() {
        return Ok(retrieval_marked(reference, &what, &beginning(&text, request.limit)));
    }
    let mut selection = Selection::of(request.lines.as_ref(), total);
    if let Some(regex) = &regex {
        let (found, matches) = selection.matching(&text, regex, request.context);
        let _ = write!(what, ", {} {} the pattern", thousands(matches), if matches == 1 { "matches" } else { "match" });
        selection = found;
    }
    let selection = selection.ends(request.head, request.tail);
    let end = if request.tail.is_some() && request.head.is_none() { End::Last } else { End::First };
    let body = numbered(&text, &selection, request.limit, regex.as_ref(), end);
    Ok(retrieval_marked(reference, &what, &body))
}

/// Describes content that is not text.
fn described(content: &[u8], mime: &str, place: Option<&str>) -> String {
    let mut words = format!("[{mime}, {} bytes", thousands(content.len()));
    if let Size::Pixels { width, height } = Media::of(MediaKind::Image, &Raw(content)).size {
        let _ = write!(words, ", {width} x {height} pixels"); // Writing to a string cannot fail.
    }
    match place {
        Some(place) => words + "; the file is " + place + "]",
        None => words + "]",
    }
}
