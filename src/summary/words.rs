//! The assistant's own words in an account: the newest, and older findings and decisions.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use regex::Regex;

use super::cut::shown;
use crate::shared::Lazy;
use crate::text::sentences;

/// Phrases in a sentence about a finding, a decision or a remaining task.
static FINDING: Lazy<Regex> = Lazy::new(|| {
    const WORDS: [&str; 3] = [
        r"cause|decid|decision|conclu|found that|turns out|the problem|the issue|the fix|the reason|confirmed|agreed",
        r"instead of|rather than|must |will not|won't|i will|i'll|remains|still need|next step|not yet|we need",
        "important|prefer",
    ];
    // OK because a fixed pattern compiles.
    Regex::new(&format!("(?i-u){}", WORDS.join("|"))).expect("a fixed pattern compiles")
});

/// The share of the room that the newest words get before older findings are searched. `benches/retention.py` measures
/// the effect.
const NEWEST: f64 = 0.8;

/// Maximum characters of a sentence. A longer one is data.
const LONGEST: usize = 600;

/// A sentence and its place.
struct Sentence<'a> {
    statement: usize,
    line: usize,
    text: &'a str,
    is_taken: bool,
}

/// Returns the sentences of `statements` (newest first) that fit into `room`, newest first, as the lines of each
/// statement. No sentence is chosen twice. `count` returns the cost of a line. Returns the total cost too.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Rooms are far below 2^52.
pub(super) fn choose(
    statements: &[Vec<String>],
    room: usize,
    count: impl Fn(&str) -> usize,
) -> (Vec<Vec<String>>, usize) {
    let mut all: Vec<Sentence<'_>> = Vec::new();
    for (statement, lines) in statements.iter().enumerate() {
        for (line, text) in lines.iter().enumerate() {
            all.extend(sentences(text).map(|text| Sentence { statement, line, text, is_taken: false }));
        }
    }
    let mut picker = SentencePicker { seen: HashSet::default(), used: 0, count };
    let newest = (room as f64 * NEWEST) as usize;
    picker.take(&mut all, newest, |_| true);
    picker.take(&mut all, room, |text| FINDING.is_match(text));
    picker.take(&mut all, room, |_| true);
    let mut entries: Vec<Vec<String>> = Vec::new();
    let mut last = None;
    for Sentence { statement, line, text, .. } in all.into_iter().filter(|sentence| sentence.is_taken) {
        let text = shown(text, LONGEST);
        match (last, entries.last_mut()) {
            (Some((before, at)), Some(entry)) if before == statement => match entry.last_mut() {
                Some(whole) if at == line => {
                    whole.push(' ');
                    whole.push_str(&text);
                }
                _ => entry.push(text),
            },
            _ => entries.push(vec![text]),
        }
        last = Some((statement, line));
    }
    (entries, picker.used)
}

struct SentencePicker<'a, F> {
    seen: HashSet<&'a str, RandomState>,
    used: usize,
    count: F,
}

impl<'a, F: Fn(&str) -> usize> SentencePicker<'a, F> {
    /// Chooses the sentences that match `is`, in order, until one does not fit.
    fn take(&mut self, all: &mut [Sentence<'a>], room: usize, is: impl Fn(&str) -> bool) {
        for sentence in all.iter_mut().filter(|sentence| !sentence.is_taken) {
            if self.seen.contains(sentence.text) || !is(sentence.text) {
                continue;
            }
            let needed = (self.count)(&shown(sentence.text, LONGEST));
            if self.used + needed > room {
                break;
            }
            self.used += needed;
            self.seen.insert(sentence.text);
            sentence.is_taken = true;
        }
    }
}
