//! Errors and warnings of compilers, with the lines that belong to them.

use xxhash_rust::xxh3::Xxh3Default;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Error,
    Warning,
}

/// Returns the severity of the diagnostic that begins at this line.
pub(super) fn diagnostic(line: &str) -> Option<Severity> {
    const STARTS: [(&str, Severity); 22] = [
        ("error: ", Severity::Error),
        ("error[", Severity::Error),
        ("error TS", Severity::Error),
        ("Error: ", Severity::Error),
        ("ERROR: ", Severity::Error),
        ("[ERROR] ", Severity::Error),
        ("ERROR in ", Severity::Error),
        ("npm ERR! ", Severity::Error),
        ("npm error ", Severity::Error),
        ("CMake Error", Severity::Error),
        ("FAILED: ", Severity::Error),
        ("FAILURE: ", Severity::Error),
        ("* What went wrong:", Severity::Error),
        ("e: ", Severity::Error),
        ("warning: ", Severity::Warning),
        ("Warning: ", Severity::Warning),
        ("WARNING: ", Severity::Warning),
        ("[WARNING] ", Severity::Warning),
        ("npm warn ", Severity::Warning),
        ("npm WARN ", Severity::Warning),
        ("CMake Warning", Severity::Warning),
        ("w: ", Severity::Warning),
    ];
    let by_start = STARTS.iter().find(|(start, _)| line.starts_with(start)).map(|(_, severity)| *severity);
    by_start.or_else(|| located(line)).or_else(|| {
        let is_linker = line.contains(": undefined reference to ") || line.contains("ld: ");
        let is_make = line.starts_with("make") && line.contains(": *** ");
        (is_linker || is_make).then_some(Severity::Error)
    })
}

/// Parses `src/a.c:12:5: error: text`, `A.java:12: warning: text` and `src/a.ts(12,5): error TS1: text`.
fn located(line: &str) -> Option<Severity> {
    if line.starts_with([' ', '\t']) {
        return None;
    }
    let at = line.find([':', '('])?;
    let place =
        line[at..].trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ':' | '(' | ')' | ',' | ' ' | '-'));
    let has_place = line[at..].len() > place.len() + 1;
    match () {
        () if !has_place => None,
        () if place.starts_with("error") || place.starts_with("fatal error: ") => Some(Severity::Error),
        () if place.starts_with("warning") => Some(Severity::Warning),
        () => None,
    }
}

/// True if the line gives the place of the diagnostic below it.
pub(super) fn introduces(line: &str) -> bool {
    line.starts_with("In file included from ")
        || line.starts_with("                 from ")
        || line.ends_with(':') && (line.contains(": In ") || line.contains(": At "))
}

/// True if the line continues the diagnostic above it: an excerpt, a note, anything indented.
pub(super) fn continues(line: &str) -> bool {
    let is_numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < line.len() && rest.starts_with(" |")
    };
    let is_note = || {
        let after = line.split_once(": ").map_or("", |(_, after)| after);
        line.starts_with("note: ") || line.starts_with("help: ") || after.starts_with("note: ")
    };
    line.starts_with([' ', '\t', '|']) || line == "..." || is_numbered() || is_note() || is_gradle(line)
}

/// True for a line such as `> Could not resolve all files` below `* What went wrong:`.
fn is_gradle(line: &str) -> bool {
    line.starts_with("> ") && !line.starts_with("> Task ")
        || line.starts_with("Execution failed ")
        || line.starts_with("A problem ")
}

/// Returns a hash of the kind of diagnostic: its words outside quotes and places, or the flag at its end.
pub(super) fn kind(line: &str) -> u64 {
    let mut hasher = Xxh3Default::new();
    if let Some(at) = line.rfind(" [-W").filter(|_| line.ends_with(']')) {
        hasher.update(&line.as_bytes()[at..]);
        return hasher.digest();
    }
    // The text before the severity is a place.
    let at = ["error", "warning", "Error", "Warning"].iter().filter_map(|word| line.find(word)).min().unwrap_or(0);
    let mut is_quoted = false;
    for part in line[at..].split_inclusive(['`', '\'', '"']) {
        if !is_quoted {
            part.split(|c: char| c.is_ascii_digit()).for_each(|words| hasher.update(words.as_bytes()));
        }
        is_quoted = !is_quoted && part.ends_with(['`', '\'', '"']) || is_quoted && !part.ends_with(['`', '\'', '"']);
    }
    hasher.digest()
}
