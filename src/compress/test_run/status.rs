//! Lines with the outcome of one test.

use std::fmt;

use crate::numbers::thousands;

/// The outcome of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Passed,
    /// Skipped or ignored.
    Skipped,
    /// Failed as expected, or passed unexpectedly, as pytest reports it.
    Xfailed,
    Xpassed,
    Failed,
}

/// The number of tests with each outcome.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub passed: usize,
    pub skipped: usize,
    pub xfailed: usize,
    pub xpassed: usize,
    pub failed: usize,
}

impl Counts {
    pub(super) fn of(status: Status, count: usize) -> Counts {
        let mut counts = Counts::default();
        *counts.of_mut(status) = count;
        counts
    }

    pub(super) fn add(&mut self, status: Status) {
        *self.of_mut(status) += 1;
    }

    /// Returns the number of tests that neither passed nor failed.
    pub(super) fn aside(&self) -> usize {
        self.skipped + self.xfailed + self.xpassed
    }

    fn of_mut(&mut self, status: Status) -> &mut usize {
        match status {
            Status::Passed => &mut self.passed,
            Status::Skipped => &mut self.skipped,
            Status::Xfailed => &mut self.xfailed,
            Status::Xpassed => &mut self.xpassed,
            Status::Failed => &mut self.failed,
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            (self.failed, "failed"),
            (self.passed, "passed"),
            (self.skipped, "skipped"),
            (self.xfailed, "xfailed"),
            (self.xpassed, "xpassed"),
        ];
        let parts: Vec<String> = named
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{} {name}", thousands(*count)))
            .collect();
        f.write_str(&parts.join(", "))
    }
}

/// Returns the outcome of the test on this line, and its file, module or class.
pub(super) fn status(line: &str) -> Option<(Status, &str)> {
    let line = line.trim_end();
    let trimmed = line.trim_start();
    match trimmed.as_bytes().first()? {
        b'-' => go(trimmed),
        b'[' => xdist(trimmed),
        0xe2 | 0xc3 => symbol_status(trimmed),
        b'o' | b'n' if trimmed.starts_with("ok ") || trimmed.starts_with("not ok ") => tap(trimmed),
        // Most lines of a run end in the outcome or the percentage. Checking the end is cheaper than checking the
        // beginning.
        _ => match line.as_bytes()[line.len() - 1] {
            b'%' | b':' | b';' | b'{' | b'}' => None,
            b']' => pytest(line),
            _ => pytest(line).or_else(|| dotted(line)),
        },
    }
}

/// Reads `tests/test_a.py::test_b[1] PASSED   [ 12%]`.
fn pytest(line: &str) -> Option<(Status, &str)> {
    let rest = match line.strip_suffix("%]") {
        Some(_) => line[..line.rfind('[')?].trim_end(),
        None => line,
    };
    let word = if rest.ends_with(')') {
        // The reason of a skip follows in parentheses.
        let at = rest.find(" (")?;
        rest[..at].rsplit(' ').next()?
    } else {
        rest.rsplit(' ').next().filter(|word| word.len() < rest.len())?
    };
    let status = pytest_word(word)?;
    let (path, _) = line.split_once("::")?;
    Some((status, path))
}

fn pytest_word(word: &str) -> Option<Status> {
    match word {
        "PASSED" => Some(Status::Passed),
        "SKIPPED" => Some(Status::Skipped),
        "XFAIL" => Some(Status::Xfailed),
        "XPASS" => Some(Status::Xpassed),
        "FAILED" | "ERROR" => Some(Status::Failed),
        _ => None,
    }
}

/// Reads `[gw1] [ 12%] PASSED tests/test_a.py::test_b`.
fn xdist(line: &str) -> Option<(Status, &str)> {
    let rest = line.strip_prefix("[gw")?.split_once("] ")?.1.trim_start();
    let rest = rest.strip_prefix('[').and_then(|rest| rest.split_once("] ")).map_or(rest, |(_, rest)| rest);
    let (word, id) = rest.split_once(' ')?;
    Some((pytest_word(word)?, id.split("::").next().unwrap_or(id)))
}

/// Reads `test a::b ... ok` of cargo, and `test_b (a.C.test_b) ... ok` of unittest.
fn dotted(line: &str) -> Option<(Status, &str)> {
    let at = line.rfind(" ... ")?;
    let (name, word) = (&line[..at], line[at..].trim_start_matches([' ', '.']));
    let status = match word.split([' ', ',']).next()? {
        "ok" => Status::Passed,
        "ignored" | "skipped" => Status::Skipped,
        "expected" => Status::Xfailed,
        "FAILED" | "FAIL" | "ERROR" | "unexpected" => Status::Failed,
        _ => return None,
    };
    if let Some(name) = name.strip_prefix("test ") {
        return Some((status, name.rsplit_once("::").map_or("", |(module, _)| module)));
    }
    let (_, class) = name.split_once(" (")?;
    Some((status, class.split(')').next().unwrap_or(class)))
}

/// Reads `--- PASS: TestA (0.00s)`.
fn go(line: &str) -> Option<(Status, &str)> {
    let status = match line.strip_prefix("--- ")?.split_once(": ")?.0 {
        "PASS" => Status::Passed,
        "SKIP" => Status::Skipped,
        "FAIL" => Status::Failed,
        _ => return None,
    };
    Some((status, ""))
}

/// Reads `✓ adds (3 ms)` of jest, vitest, mocha and node.
fn symbol_status(line: &str) -> Option<(Status, &str)> {
    let mark = line.chars().next()?;
    let status = match mark {
        '✓' | '✔' | '√' => Status::Passed,
        '○' | '↓' => Status::Skipped,
        '✕' | '✗' | '✖' | '×' => Status::Failed,
        _ => return None,
    };
    line[mark.len_utf8()..].starts_with(' ').then_some((status, ""))
}

/// Reads `ok 12 - adds` and `not ok 13 - adds # TODO`.
fn tap(line: &str) -> Option<(Status, &str)> {
    let (rest, status) = match line.strip_prefix("not ok ") {
        Some(rest) => (rest, Status::Failed),
        None => (line.strip_prefix("ok ")?, Status::Passed),
    };
    rest.split(' ').next()?.parse::<usize>().ok()?;
    let is_skipped = rest.contains("# SKIP") || rest.contains("# TODO");
    Some((if is_skipped { Status::Skipped } else { status }, ""))
}
