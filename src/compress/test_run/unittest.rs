//! unittest: failures between two rules of `=`, each with a title and a traceback.

use super::super::outline::Rank;
use super::super::ranked::RankedLines;

/// Length of a rule.
const RULE: usize = 70;

/// Ranks the lines that unittest printed.
pub(super) fn mark(run: &mut RankedLines<'_>) {
    let mut in_failure = false;
    for index in 0..run.len() {
        let line = run.line(index);
        if is_rule(line, '=') {
            in_failure = true;
            continue;
        }
        let is_result = line == "OK" || line.starts_with("OK (") || line.starts_with("FAILED (");
        if is_result || (line.starts_with("Ran ") && line.contains(" test")) {
            run.raise(index, if line.starts_with("FAILED") { Rank::Alarm } else { Rank::Key });
            in_failure = false;
        } else if in_failure {
            let is_title = line.starts_with("FAIL: ") || line.starts_with("ERROR: ");
            // The last line of a traceback is the only one that is neither indented nor a title.
            let is_message = line.contains("Error") && !line.starts_with(' ');
            run.raise(index, if is_title || is_message { Rank::Alarm } else { Rank::Failure });
        }
    }
}

fn is_rule(line: &str, of: char) -> bool {
    line.len() == RULE && line.chars().all(|c| c == of)
}
