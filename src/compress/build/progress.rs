//! Progress lines. Only their number matters.

use std::fmt;

use crate::numbers::thousands;

/// The words that begin such lines.
const VERBS: [&str; 44] = [
    "Compiling ",
    "Checking ",
    "Downloading ",
    "Downloaded ",
    "Updating ",
    "Fresh ",
    "Adding ",
    "Locking ",
    "Blocking ",
    "Collecting ",
    "Requirement already satisfied",
    "Using cached ",
    "Installing ",
    "Preparing ",
    "Building ",
    "Linking ",
    "Unpacking ",
    "Setting up ",
    "Selecting ",
    "Get:",
    "Hit:",
    "Fetching ",
    "Resolving ",
    "Extracting ",
    "Generating ",
    "Scanning ",
    "Copying ",
    "Obtaining ",
    "Created wheel ",
    "Stored in ",
    "Removing ",
    "Processing ",
    "Pulling ",
    "Digest: ",
    "sha256:",
    "DONE ",
    "CACHED",
    "---> ",
    "extracting ",
    "transferring ",
    "resolve ",
    "[INFO] Download",
    "> Task ",
    "-- ",
];

/// Returns the action of a progress line: `Compiling`, `[12/340]`, or a command of make.
pub(super) fn verb(line: &str) -> Option<&str> {
    let body = line.trim_start();
    if let Some(rest) = body.strip_prefix('[') {
        return numbered_step(rest);
    }
    if body.starts_with("> Task ") && body.ends_with(" FAILED") {
        return None;
    }
    if let Some(verb) = VERBS.iter().find(|verb| body.starts_with(**verb)) {
        return Some(verb.trim_end_matches([' ', ':']));
    }
    let is_command =
        ["gcc ", "g++ ", "cc ", "c++ ", "clang ", "clang++ ", "javac ", "rustc ", "ar ", "ranlib ", "libtool: "]
            .iter()
            .any(|command| line.starts_with(command));
    if is_command {
        return Some("commands");
    }
    // `  CC      foo.o`, `make[1]: Entering directory`
    let is_short = line.starts_with("  ") && {
        let word = body.split(' ').next().unwrap_or_default();
        (2..=8).contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_uppercase())
            && body[word.len()..].starts_with("  ")
    };
    let is_make = line.starts_with("make") && line.ends_with('\'') && line.contains("ing directory '");
    (is_short || is_make).then_some("steps of make")
}

/// Returns the action of `[12/340] Building`, `[ 12%] Building`, and Maven's `[INFO] Downloading`.
fn numbered_step(rest: &str) -> Option<&str> {
    if let Some(rest) = rest.strip_prefix("INFO] ") {
        let words = ["Download", "---", "Building", "Copying", "Nothing to compile", "Compiling", "skip ", "Using "];
        return words.iter().any(|word| rest.starts_with(word)).then_some("[INFO]");
    }
    let (step, rest) = rest.split_once("] ")?;
    let is_step = step.ends_with('%') || step.contains('/');
    let is_number = step.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'/' | b'%' | b' '));
    (is_step && is_number).then(|| rest.trim_start().split(' ').next().unwrap_or_default())
}

/// True if the line says how the whole build ended.
pub(super) fn is_summary(line: &str) -> bool {
    const STARTS: [&str; 20] = [
        "    Finished ",
        "Successfully ",
        "added ",
        "changed ",
        "up to date",
        "found ",
        "BUILD ",
        "[INFO] BUILD ",
        "[INFO] Total time",
        "ninja: build stopped",
        "ninja: no work",
        "make: *** ",
        "error: could not compile",
        "error: aborting",
        "collect2: error",
        "[100%] Built target",
        "Found ",
        "Build complete",
        "npm error code",
        "Installed ",
    ];
    STARTS.iter().any(|start| line.starts_with(start))
        || (line.starts_with("warning: `") && line.contains(" generated "))
        || line.ends_with(" errors generated.")
        || line.ends_with(" warnings generated.")
}

/// Counts the lines of each verb.
#[derive(Debug, Default)]
pub(super) struct Verbs<'a> {
    counts: Vec<(&'a str, usize)>,
    others: usize,
}

/// Maximum number of verbs that are named. A build has few; another text could have many.
const NAMED: usize = 8;

impl<'a> Verbs<'a> {
    pub(super) fn add(&mut self, verb: &'a str) {
        match self.counts.iter().position(|(known, _)| *known == verb) {
            Some(known) => self.counts[known].1 += 1,
            None if self.counts.len() < NAMED => self.counts.push((verb, 1)),
            None => self.others += 1,
        }
    }
}

impl fmt::Display for Verbs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> =
            self.counts.iter().map(|(verb, count)| format!("{} {verb}", thousands(*count))).collect();
        if self.others > 0 {
            parts.push(format!("{} other{}", thousands(self.others), if self.others == 1 { "" } else { "s" }));
        }
        f.write_str(&parts.join(", "))
    }
}
