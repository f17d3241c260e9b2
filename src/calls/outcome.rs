//! Decides if a call failed, for every stage, summary and adapter.
//!
//! A result may declare its outcome (`is_error`, `status`), state it in the fields of JSON, or state it in words.
//! Otherwise its outcome is unknown, so a silent result does not count as a success.

use regex::Regex;
use serde_json::Value;

use crate::compress::reports_own_failure;
use crate::message::{Outcome, Part, Text};
use crate::shared::Lazy;

/// Bytes at each end of an output that are searched for a failure.
const ENDS: usize = 2_000;

/// Beginnings of outputs of failed calls, in lower case.
const BEGINNINGS: [&str; 12] = [
    "error",
    "<tool_use_error>",
    "<error",
    "traceback (most recent call last)",
    "exception",
    "fatal:",
    "failed",
    "failure",
    "command failed",
    "invalid",
    "exit code",
    "no such",
];

/// Values after the word "errors" and the like that mean that nothing failed.
const NOTHING: [&str; 5] = ["0", "none", "nothing", "null", "false"];

/// Phrases in the first line of a short shell output that mean that the command failed.
const SHELL: [&str; 5] =
    ["command not found", "no such file or directory", "permission denied", "not found", "cannot "];

/// A longer output says more than that the command failed.
const SHORT: usize = 400;

/// Bytes of the first line that are read.
const LINE: usize = 160;

/// Only the beginning of longer JSON is checked: a tool that reports its outcome gives a short answer.
const LONGEST_JSON: usize = 1 << 16;

/// Maximum depth at which an answer inside an answer is searched.
const DEEPEST: usize = 6;

/// Fields that contain another answer. The last ones may also hold other things.
const FRAMES: [&str; 5] = ["value", "result", "output", "content", "text"];
const DATA: &str = "data";

/// Fields with a text for people.
const WORDS: [&str; 6] = ["message", "msg", "detail", "details", "status", "stdout"];

/// Types of the AI SDK's outputs that are not a success.
const FAILED_TYPES: [&str; 3] = ["error-text", "error-json", "execution-denied"];

const FAILED_STATUS: [&str; 3] = ["error", "failed", "failure"];
const GOOD_STATUS: [&str; 7] = ["ok", "success", "successful", "succeeded", "done", "completed", "complete"];

/// Bytes of text that are searched for success: a sentence or two. Text after that is mostly a file's content.
const READ: usize = 300;

/// Beginning of the preview of an output that is stored elsewhere. The rest of the output is unknown.
const PREVIEW: &str = "[Large output saved to ";

static YES: Lazy<Regex> = Lazy::new(|| {
    regex(
        r"(?i)\b(?:ok|okay|success\w*|succeeded|done|completed?|wrote|written|created?|updated|saved|edited|modified|replaced|applied|overwritten|inserted|appended|has been changed)\b",
    )
});
static NO: Lazy<Regex> = Lazy::new(|| {
    const WORDS: [&str; 4] = [
        r"errors?|err|fail(?:ed|s|ure|ing)?|exception|traceback|fatal|denied|forbidden|refused|rejected|declined|cancell?ed",
        r"abort(?:ed)?|interrupted|timed? ?out|timeout|unable|cannot|can ?not|could|would|will|pending|queued|skipped|ignored",
        r"invalid|illegal|missing|unknown|unchanged|nothing|no|not|never|without|instead|except|but|only|partial(?:ly)?|incomplete",
        r"unsuccessful(?:ly)?|dry.run|read.only|conflict|already|e[a-z]*(?:acces|noent|nospc|perm|exist|rofs|isdir)",
    ];
    regex(&format!(r"(?i)\b(?:{})\b|n['’]t\b", WORDS.join("|")))
});
/// "0 errors" and "no errors" are not failures.
static NONE_FAILED: Lazy<Regex> =
    Lazy::new(|| regex(r"(?i)\b(?:no|0|zero|without(?: any)?) (?:errors?|failures?|warnings?)\b"));
static FAILING_LINE: Lazy<Regex> = Lazy::new(|| {
    regex(r"(?im)^[^\w\n]*(?:error|failed|failure|exception|traceback|fatal|cannot|could not|denied|permission)\b")
});
/// The first line of a diff in a tool's output.
static DIFF: Lazy<Regex> = Lazy::new(|| regex(r"(?m)^(?:@@ |--- |\+\+\+ |diff |Index: |[+-][^\n]*\n[+-])"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a fixed pattern compiles")
}

/// True if a text result says that its call failed. O(1) except for short JSON.
pub fn failed(text: &str) -> bool {
    Evidence::of(text).failed
}

/// Returns the outcome that a text result states. `path` is the file that the call was about; words in the file's name
/// say nothing about the outcome. O(length).
pub fn outcome(text: &str, path: Option<&str>) -> Outcome {
    Evidence::of(text).outcome(path)
}

/// Returns the outcome that a result states: first by a declaration, then by its texts; see [`outcome`].
pub fn outcome_of<T: Text>(result: &Part<T>, path: Option<&str>) -> Outcome {
    let Part::Result { outcome: declared, items, .. } = result else { return Outcome::Unknown };
    let mut evidence = Evidence::default();
    evidence.declare(*declared);
    for (text, _) in items.iter().filter_map(|item| item.text()) {
        evidence.read(text, 0, true);
    }
    evidence.outcome(path)
}

/// True if a result says that its call failed; see [`failed`].
pub fn has_failed<T: Text>(result: &Part<T>) -> bool {
    let Part::Result { outcome, items, .. } = result else { return false };
    *outcome == Outcome::Failed || items.iter().any(|item| item.text().is_some_and(|(text, _)| failed(text)))
}

/// The evidence found in a result.
#[derive(Default)]
struct Evidence {
    failed: bool,
    /// True if the outcome may be something else than success.
    doubtful: bool,
    good: bool,
    words: String,
}

impl Evidence {
    fn of(text: &str) -> Evidence {
        let mut evidence = Evidence::default();
        evidence.read(text, 0, true);
        evidence
    }

    fn declare(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Failed => self.failed = true,
            Outcome::Succeeded => self.good = true,
            Outcome::Unknown => {}
        }
    }

    /// Adds the evidence in a text. A framed text is the tool's own statement; any other text is content that the tool
    /// found.
    fn read(&mut self, text: &str, depth: usize, framed: bool) {
        let trimmed = text.trim();
        if (trimmed.starts_with(['{', '[']) || matches!(trimmed, "true" | "false"))
            && text.len() <= LONGEST_JSON
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            return self.value(&value, depth + 1, framed);
        }
        self.failed |= framed && says_failure(text);
        if !text.starts_with(PREVIEW) {
            self.words.push_str(text);
            self.words.push('\n');
        }
    }

    fn value(&mut self, value: &Value, depth: usize, framed: bool) {
        if depth > DEEPEST {
            return;
        }
        match value {
            Value::Bool(true) => self.good = true,
            Value::Bool(false) => self.doubtful = true,
            Value::String(text) => self.read(text, depth, framed),
            Value::Array(items) => {
                for item in items {
                    self.value(item, depth + 1, framed && items.len() == 1);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    let plain = name.to_lowercase().replace('_', "");
                    self.field(&plain, value, framed);
                    if FRAMES.contains(&name.as_str()) || name == DATA {
                        if !value.is_boolean() {
                            self.value(value, depth + 1, framed && name != DATA);
                        }
                    } else if WORDS.contains(&name.as_str()) {
                        self.value(value, depth + 1, false);
                    }
                }
            }
            Value::Null | Value::Number(_) => {}
        }
    }

    fn field(&mut self, name: &str, value: &Value, framed: bool) {
        let text = value.as_str().unwrap_or_default().to_lowercase();
        match name {
            "type" if FAILED_TYPES.contains(&&*text) => self.fails(framed),
            "iserror" if is_nothing(value) => self.good = true,
            "error" | "iserror" if !is_nothing(value) => self.fails(framed),
            "errors" | "err" | "stderr" | "exception" if !is_nothing(value) => self.doubtful = true,
            "success" | "ok" | "succeeded" => match value {
                Value::Null => {}
                Value::Bool(true) => self.good = true,
                _ => self.fails(framed),
            },
            "exitcode" | "returncode" if !value.is_null() => match value.as_i64() {
                Some(0) => self.good = true,
                _ => self.fails(framed),
            },
            "status" | "state" if GOOD_STATUS.contains(&&*text) => self.good = true,
            "status" if FAILED_STATUS.contains(&&*text) => self.fails(framed),
            "status" | "state" if NO.is_match(&text) => self.doubtful = true,
            _ => {}
        }
    }

    fn fails(&mut self, framed: bool) {
        if framed {
            self.failed = true;
        } else {
            self.doubtful = true;
        }
    }

    fn outcome(&self, path: Option<&str>) -> Outcome {
        if self.failed {
            Outcome::Failed
        } else if !self.doubtful && (self.good || sounds_good(&self.words, path)) {
            Outcome::Succeeded
        } else {
            Outcome::Unknown
        }
    }
}

/// True if an error field holds no error.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => {
            let text = text.trim().to_lowercase();
            text.is_empty() || text == "no error" || NOTHING.contains(&&*text)
        }
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// True if a plain text says that its call failed: in its first line, or near either end, where programs report their
/// own failures. O(1).
fn says_failure(text: &str) -> bool {
    let text = text.trim();
    let line = text[..text.floor_char_boundary(LINE)].lines().next().unwrap_or_default().to_lowercase();
    let begins = |word: &str| {
        line.strip_prefix(word).is_some_and(|rest| {
            let said = rest.trim_start_matches('s').trim_matches([':', '=', ' ', '.']);
            !NOTHING.contains(&said)
        })
    };
    let shell = || text.len() <= SHORT && SHELL.iter().any(|words| line.contains(words));
    let end = text.floor_char_boundary(ENDS);
    let tail = text.ceil_char_boundary(text.len().saturating_sub(ENDS)).max(end);
    // Only whole lines, because a partial line may have any meaning.
    let tail = text[tail..].find('\n').map_or("", |at| &text[tail + at..]);
    BEGINNINGS.iter().any(|word| begins(word))
        || shell()
        || reports_own_failure(&text[..end])
        || reports_own_failure(tail)
}

/// True if a text says that something was done.
fn sounds_good(words: &str, path: Option<&str>) -> bool {
    let words = match path {
        Some(path) if !path.is_empty() => &without(path, words),
        _ => words,
    };
    let diff = DIFF.find(words);
    let before = diff.map_or(words, |diff| &words[..diff.start()]);
    if FAILING_LINE.is_match(before) {
        return false;
    }
    let said = NONE_FAILED.replace_all(&before[..before.floor_char_boundary(READ)], "").into_owned();
    !NO.is_match(&said) && (diff.is_some() || YES.is_match(&said))
}

/// Returns the text without the path, except inside longer words.
fn without(path: &str, text: &str) -> String {
    let is_of_word = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut out = String::with_capacity(text.len());
    let mut rest = 0;
    for (at, _) in text.match_indices(path) {
        let end = at + path.len();
        if !is_of_word(text[..at].chars().next_back()) && !is_of_word(text[end..].chars().next()) {
            out.push_str(&text[rest..at]);
            rest = end;
        }
    }
    out.push_str(&text[rest..]);
    out
}
