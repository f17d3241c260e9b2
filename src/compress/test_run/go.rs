//! `go test -v`: a test's output is between its `=== RUN` and its `--- FAIL`.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::super::outline::Rank;
use super::super::ranked::{RankedLines, Reports};

/// Number of lines of a panic that are kept: its message and its origin.
const PANIC: usize = 40;

/// Ranks the lines that go printed.
pub(super) fn mark(run: &mut RankedLines<'_>) {
    let mut printed: HashMap<&str, Vec<usize>, RandomState> = HashMap::default();
    let (mut current, mut in_failure, mut panic) = ("", false, 0);
    for index in 0..run.len() {
        let line = run.line(index);
        if let Some(rest) = line.strip_prefix("=== ") {
            let Some((word, name)) = rest.split_once(' ') else { continue };
            if matches!(word, "RUN" | "PAUSE" | "CONT" | "NAME") {
                run.set(index, Rank::Bulk);
                run.reports(index, Reports::Nothing);
                (current, in_failure) = (name.trim(), false);
            }
        } else if let Some(name) = result(line, "--- FAIL: ") {
            run.raise(index, Rank::Alarm);
            for printed in printed.remove(name).unwrap_or_default() {
                let is_assertion = run.line(printed).contains("_test.go:");
                run.raise(printed, if is_assertion { Rank::Alarm } else { Rank::Failure });
            }
            in_failure = true;
        } else if let Some(name) = result(line, "--- PASS: ").or_else(|| result(line, "--- SKIP: ")) {
            for printed in printed.remove(name).unwrap_or_default() {
                run.reports(printed, Reports::Aside);
            }
            in_failure = false;
        } else if is_package(line) {
            run.raise(index, if line.starts_with("FAIL") { Rank::Alarm } else { Rank::Ordinary });
            (current, in_failure) = ("", false);
        } else if line.starts_with("panic: ") {
            run.raise(index, Rank::Alarm);
            panic = PANIC;
        } else if panic > 0 {
            run.raise(index, Rank::Failure);
            panic -= 1;
        } else if in_failure && line.starts_with(' ') {
            run.raise(index, Rank::Failure);
        } else if !current.is_empty() {
            printed.entry(current).or_default().push(index);
        }
    }
}

/// Returns the name of the test on a line with this outcome.
fn result<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.trim_start().strip_prefix(word)?.split(' ').next()
}

/// True for `ok  example.com/a  0.01s` and `FAIL  example.com/b  0.02s`, with tabs in between.
fn is_package(line: &str) -> bool {
    ["ok  \t", "FAIL\t", "?   \t", "---\t"].iter().any(|start| line.starts_with(start)) || line == "FAIL"
}
