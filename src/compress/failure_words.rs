//! Finds the lines that report a failure.
//!
//! They are recognized by words, because tools share no other sign. A word counts only if it stands alone, so a path
//! such as `errors/handler.py` does not count, and `0 failed` reports no failure.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;

use crate::shared::Lazy;
use crate::text::lines_of;

/// Words that report a failure, in any case.
const WORDS: [&str; 40] = [
    "abort",
    "aborted",
    "aborting",
    "assertionerror",
    "corrupt",
    "corrupted",
    "crash",
    "crashed",
    "crashloopbackoff",
    "critical",
    "deadlock",
    "emerg",
    "err!",
    "errimagepull",
    "error",
    "errored",
    "errors",
    "exception",
    "fail",
    "failed",
    "failing",
    "fails",
    "failure",
    "failures",
    "fatal",
    "imagepullbackoff",
    "killed",
    "oomkilled",
    "out of memory",
    "panic",
    "panicked",
    "refused",
    "rejected",
    "segfault",
    "segmentation fault",
    "timed out",
    "traceback",
    "unhandled",
    "unhealthy",
    "unreachable",
];

static FINDER: Lazy<AhoCorasick> = Lazy::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::DFA))
        .build(WORDS)
        .expect("a fixed list of short words makes an automaton")
});

/// The beginning of a line in which a program reports its failure, inside any other text, such as a printed file or a list
/// of files. The words must begin the line, so code and prose about failures do not count.
///
/// Each line is matched by itself. Most lines differ in their first word, and the rest of such a line is not read.
static REPORTS: Lazy<Regex> = Lazy::new(|| beginning(&[&OWN_FAILURES[..], &LOGGED_FAILURES[..]].concat()));

/// The same without log lines, because a printed log reports failures of other programs.
static OWN_REPORTS: Lazy<Regex> = Lazy::new(|| beginning(&OWN_FAILURES));

const OWN_FAILURES: [&str; 4] = [
    // Words that begin an error of programs and shells.
    r"(?i:traceback \(most recent call last\):|exception in thread |panic: |npm err! |\[?exit code:? [1-9])|E   ",
    r"thread '[^'\n]*' panicked at|curl: \(\d+\) |(?i:segmentation fault)|error(?:\[E\d+\])?: |fatal: |FAILED[: ]",
    // An exception, with or without its message; a place from a compiler.
    r"[\w.]*(?:Error|Exception)(?::|\r?$)|[ \t]*[^\s:]{1,200}:\d+(?::\d+)?: (?:fatal )?error: ",
    // The name of a program, and a reason.
    r"[\w./-]+: [^\n]*(?:Permission denied|No such file or directory|cannot |command not found|Operation not permitted|Input/output error|No space left on device)",
];

/// A log level: alone, after a time, or in JSON.
const LOGGED_FAILURES: [&str; 2] = [
    r"(?:\d{4}-\d\d-\d\d[T ][\d:.,Z+-]+ )?\[?(?:ERROR|FATAL|CRITICAL|FAILED|PANIC|SEVERE)[\]: ]|[EF]\d{4} \d\d:\d\d:",
    r#"\{[^\n]{0,200}"level": ?"(?:error|fatal|critical|panic)""#,
];

fn beginning(forms: &[&str]) -> Regex {
    Regex::new(&format!("^(?:{})", forms.join("|"))).expect("a fixed pattern compiles")
}

/// A line without the character that ends it.
fn without_end(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line)
}

/// Returns the offsets in `text` of lines in which a program reports its failure. O(length).
pub fn reports(text: &str) -> impl Iterator<Item = usize> {
    let mut start = 0;
    lines_of(text).filter_map(move |line| {
        let at = start;
        start += line.len();
        REPORTS.is_match(without_end(line)).then_some(at)
    })
}

/// True if a program reports its own failure in a line of `text`. O(length).
pub fn reports_own_failure(text: &str) -> bool {
    /// Values that mean that nothing failed, as in `error: none`.
    const NOTHING: [&str; 5] = ["0", "none", "nothing", "null", "false"];
    lines_of(text).any(|line| {
        OWN_REPORTS.find(without_end(line)).is_some_and(|found| {
            let said = line[found.end()..].lines().next().unwrap_or_default().trim_matches([' ', '.']);
            !NOTHING.contains(&said)
        })
    })
}

/// Returns the offsets in `text` of words that report a failure, in order. O(length).
pub fn failure_words(text: &str) -> Vec<usize> {
    let mut found: Vec<usize> = FINDER
        .find_iter(text)
        .filter(|found| stands_alone(text, found.start(), found.end()) && !is_none(text, found.start(), found.end()))
        .map(|found| found.start())
        .collect();
    found.extend(KLOG.find_iter(text).map(|line| line.start()));
    found.sort_unstable();
    found
}

/// A failure in Kubernetes' log format: `E0314 09:26:53.589793   12345 file.go:67] message`.
static KLOG: Lazy<Regex> =
    Lazy::new(|| Regex::new(r"(?m)^[EF]\d{4} \d\d:\d\d:\d\d").expect("a fixed pattern compiles"));

/// True if the word touches no letter, digit or path. The end of a name such as `ValueError` counts as a word too.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let bytes = text.as_bytes();
    let before = start.checked_sub(1).map(|at| bytes[at]);
    let after = bytes.get(end).copied();
    let camel = before.is_some_and(|b| b.is_ascii_alphanumeric()) && bytes[start].is_ascii_uppercase();
    // In a JSON string, the letter before may end an escape: `\nerror`.
    let escaped = start > 1 && bytes[start - 2] == b'\\' && matches!(bytes[start - 1], b'n' | b'r' | b't');
    let opens = camel
        || escaped
        || before.is_none_or(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'/' | b'.')));
    let closes = after.is_none_or(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'/')))
        // A dot after a word ends a sentence, unless a name continues, as in `error.log`.
        && !(after == Some(b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_alphanumeric));
    opens && closes
}

/// True if the words around it state that nothing failed: `0 errors`, `no failures`, `errors: 0`, `failed=0`.
fn is_none(text: &str, start: usize, end: usize) -> bool {
    let before = text[text.floor_char_boundary(start.saturating_sub(12))..start].trim_end_matches(' ');
    let none_before = ["no", "No", "NO", "without", "zero"]
        .iter()
        .any(|word| before.strip_suffix(word).is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric())))
        || before
            .strip_suffix('0')
            .is_some_and(|rest| !rest.ends_with(|c: char| c.is_ascii_digit() || c == '.' || c == ','));
    let after = text[end..].trim_start_matches([' ', '"', '\'']);
    let value = after.strip_prefix([':', '=']).map(|rest| rest.trim_start_matches([' ', '"']));
    let none_after = value.is_some_and(|value| {
        let word: &str = value.split(|c: char| !(c.is_alphanumeric() || c == '.')).next().unwrap_or_default();
        matches!(word, "0" | "none" | "None" | "null" | "false" | "nil")
    });
    none_before || none_after
}

/// Iterates over the [`failure_words`] of a text, line by line.
#[derive(Debug)]
pub struct Cursor<'a> {
    rest: &'a [usize],
}

impl<'a> Cursor<'a> {
    /// Starts at the first line.
    pub fn of(failure_words: &'a [usize]) -> Cursor<'a> {
        Cursor { rest: failure_words }
    }

    /// Returns the failure words before `end` that were not returned yet.
    pub fn until(&mut self, end: usize) -> &'a [usize] {
        let count = self.rest.iter().take_while(|at| **at < end).count();
        let (these, rest) = self.rest.split_at(count);
        self.rest = rest;
        these
    }
}
