//! `cargo test`: the output of a failing test follows `---- name stdout ----`.

use super::super::outline::Rank;
use super::super::ranked::RankedLines;

/// Number of lines after the place of a panic that hold its message.
const MESSAGE: usize = 1;

/// Number of other lines that are kept at the beginning and at the end of a failing test's output.
const OUTPUT: usize = 20;

/// Ranks the lines that cargo and libtest printed.
pub(super) fn mark(run: &mut RankedLines<'_>) {
    let mut index = 0;
    while index < run.len() {
        let line = run.line(index);
        if is_output(line) {
            let end = (index + 1..run.len()).find(|at| ends(run.line(*at))).unwrap_or(run.len());
            mark_output(run, index, end);
            index = end;
            continue;
        }
        if line.starts_with("test result: FAILED") || line.starts_with("error: ") || line.starts_with("error[") {
            run.raise(index, Rank::Alarm);
        } else if line.starts_with("test result: ") || is_target(line) {
            run.raise(index, Rank::Key);
        } else if line.starts_with("   Compiling ") {
            run.set(index, Rank::Bulk);
        }
        index += 1;
    }
}

/// True for `---- tests::adds stdout ----`.
fn is_output(line: &str) -> bool {
    line.starts_with("---- ") && (line.ends_with(" stdout ----") || line.ends_with(" stderr ----"))
}

fn ends(line: &str) -> bool {
    line == "failures:" || line.starts_with("test result: ") || is_output(line)
}

/// True for `     Running tests/wire.rs (target/debug/deps/wire-0123)`.
fn is_target(line: &str) -> bool {
    line.starts_with("     Running ") || line.starts_with("   Doc-tests ")
}

fn mark_output(run: &mut RankedLines<'_>, start: usize, end: usize) {
    let panic = (start..end).find(|at| run.line(*at).starts_with("thread '") && run.line(*at).contains("panicked at"));
    // The line of the panic also names the test.
    run.raise(start, if panic.is_some() { Rank::Failure } else { Rank::Alarm });
    for index in start..end {
        let line = run.line(index);
        let is_message = panic.is_some_and(|panic| (panic..=panic + MESSAGE).contains(&index));
        let is_values = line.starts_with("  left: ") || line.starts_with(" right: ");
        match () {
            () if line.starts_with("note: run with `RUST_BACKTRACE") => run.set(index, Rank::Bulk),
            () if is_message || is_values => run.raise(index, Rank::Alarm),
            () if index - start < OUTPUT || index + OUTPUT >= end => run.raise(index, Rank::Failure),
            () => {}
        }
    }
}
