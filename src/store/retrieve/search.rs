//! Searches all stored content for a pattern.

use std::fmt::Write;

use regex::Regex;

use super::selection::{Selection, compiled};
use super::show::{End, numbered};
use crate::error::Result;
use crate::numbers::thousands;
use crate::store::{ContentKind, Reference, Store, retrieval_marked};

/// One artifact may take one part in this many of the remaining room, so that the first cannot take all of it.
const SHARE: usize = 2;

/// A search through artifacts, one after the other.
#[derive(Debug)]
pub struct Search {
    regex: Regex,
    context: usize,
    left: usize,
    body: String,
    first: Option<Reference>,
    searched: usize,
    matching: usize,
    matches: usize,
    cut: bool,
}

impl Search {
    /// Creates a search for lines that match `pattern`, with this many lines around each match. It shows at most
    /// `limit` characters in all, and for each artifact at most half of the rest.
    ///
    /// # Errors
    /// `Store` if the pattern is not a regular expression or too large.
    pub fn new(pattern: &str, context: usize, limit: usize) -> Result<Search> {
        let regex = compiled(pattern)?;
        let (body, first) = (String::new(), None);
        Ok(Search { regex, context, left: limit, body, first, searched: 0, matching: 0, matches: 0, cut: false })
    }

    /// Searches one artifact; skips content that is not text. O(length).
    pub fn look(&mut self, reference: &Reference, content: &[u8]) {
        self.searched += 1;
        if ContentKind::of(content) != ContentKind::Text {
            return;
        }
        let text = String::from_utf8_lossy(content);
        let total = text.lines().count();
        let (selection, matches) = Selection::of(None, total).matching(&text, &self.regex, self.context);
        if matches == 0 {
            return;
        }
        self.matching += 1;
        self.matches += matches;
        self.first.get_or_insert_with(|| reference.clone());
        let heading = format!("{reference} ({} of {} lines match):\n", thousands(matches), thousands(total));
        let size = heading.len();
        if size >= self.left {
            self.cut = true;
            return;
        }
        let share = (self.left - size).div_ceil(SHARE);
        let lines = numbered(&text, &selection, share, Some(&self.regex), End::First);
        self.left -= size + lines.chars().count().min(share);
        self.body.push_str(&heading);
        self.body.push_str(&lines);
        if !lines.ends_with('\n') {
            self.body.push('\n');
        }
    }

    /// Returns the matches by reference, after a line that names the first reference. This line marks the text as
    /// retrieved, so that it is not stored again.
    pub fn report(mut self) -> String {
        let searched = thousands(self.searched);
        let Some(first) = self.first else {
            return format!("no line matches the pattern in any of {searched} stored outputs");
        };
        if self.cut {
            self.body.push_str("[... more outputs match; search for a narrower pattern]\n");
        }
        let mut what = format!("found in {} of {searched} outputs", thousands(self.matching));
        let verb = if self.matches == 1 { "line matches" } else { "lines match" };
        let _ = write!(what, ", {} {verb} the pattern", thousands(self.matches)); // To a string: cannot fail.
        retrieval_marked(&first, &what, &self.body)
    }
}

/// Returns lines that match `pattern` in all content of `store`. Reads all of it. Content that is deleted meanwhile, or
/// that cannot be read, is skipped.
///
/// # Errors
/// `Store` if the store cannot be listed, or the pattern cannot be used.
pub fn search(store: &dyn Store, pattern: &str, context: usize, limit: usize) -> Result<String> {
    let mut search = Search::new(pattern, context, limit)?;
    for reference in store.list()? {
        if let Ok(content) = store.peek(&reference) {
            search.look(&reference, &content);
        }
    }
    Ok(search.report())
}
