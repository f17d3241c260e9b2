//! jest, vitest, mocha and node: failures follow `●`, `FAIL` or a number, and values follow `Expected` and `Received`.

use super::super::outline::Rank;
use super::super::ranked::{RankedLines, Reports};
use super::status::{Status, status};

/// Ranks the lines of these runners.
pub(super) fn mark(run: &mut RankedLines<'_>) {
    let mut in_failure = false;
    for index in 0..run.len() {
        let line = run.line(index);
        let trimmed = line.trim_start();
        if is_failure(line, trimmed) {
            in_failure = true;
            run.raise(index, Rank::Alarm);
            run.reports(index, Reports::Failure);
        } else if is_total(trimmed) {
            in_failure = false;
            run.raise(index, if trimmed.contains(" failed") { Rank::Alarm } else { Rank::Key });
        } else if trimmed.starts_with("PASS ") {
            in_failure = false;
            run.raise(index, Rank::Ordinary);
            run.reports(index, Reports::Nothing);
        } else if trimmed.starts_with("console.") || status(line).is_some_and(|(status, _)| status != Status::Failed) {
            in_failure = false;
        } else if in_failure {
            // The end of a TAP result's block.
            in_failure = line != "  ...";
            let is_value = ["Expected", "Received", "- ", "+ ", "> "].iter().any(|start| trimmed.starts_with(start));
            let is_frame =
                trimmed.starts_with("at ") && (trimmed.contains("node_modules") || trimmed.contains("node:"));
            match () {
                () if is_frame => run.set(index, Rank::Ordinary),
                () if is_value || trimmed.contains("Error: ") => run.raise(index, Rank::Alarm),
                () => run.raise(index, Rank::Failure),
            }
        }
    }
}

/// True for `  ● adds › numbers` and ` FAIL  src/a.test.ts > adds`.
fn is_failure(line: &str, trimmed: &str) -> bool {
    trimmed.starts_with("● ") && !trimmed.starts_with("● Console")
        || trimmed.starts_with("not ok ")
        || (trimmed.starts_with("FAIL ") && line.len() > "FAIL ".len())
}

/// True for a line of the totals at the end.
fn is_total(line: &str) -> bool {
    let starts = ["Test Suites: ", "Tests: ", "Snapshots: ", "Time: ", "Test Files  ", "Tests  ", "Duration  "];
    let is_node = |line: &str| {
        let rest = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ "));
        rest.and_then(|rest| rest.split_once(' ')).is_some_and(|(word, number)| {
            matches!(word, "tests" | "suites" | "pass" | "fail" | "cancelled" | "skipped" | "todo" | "duration_ms")
                && number.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    starts.iter().any(|start| line.starts_with(start)) || is_node(line)
}
