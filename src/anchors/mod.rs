//! Finds the words of a text that a later turn is likely to repeat: paths, names, ids and numbers.
//!
//! An agent repeats such words exactly, while it can rephrase prose. So these words show which lines of an output are
//! worth keeping. They also measure how much of a history a compaction has kept.

mod judge;
mod line;
mod scan;

use std::ops::Range;

pub use line::strip_line_number;

/// The kind of an anchor, judged by its spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AnchorKind {
    /// A path, or the name of a file with a hyphen in it: `src/lib.rs`, `./run`, `/etc/hosts`, `read-me.md`.
    Path,
    /// Several names joined by dots, as in files and attributes: `lib.rs`, `os.path`, `v1.2`.
    Dotted,
    /// A single name that is not a word of prose: `read_file`, `readFile`, `__init__`.
    Name,
    /// A UUID, a hash, an address, or another word of letters with three or more digits.
    Id,
    /// A number of three or more digits, with or without a unit: `8080`, `3.14`, `1500ms`.
    Number,
}

/// One anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Its range in the text, in bytes, on character boundaries.
    pub range: Range<usize>,
    /// Its kind.
    pub kind: AnchorKind,
}

/// A longer word is data, and no agent repeats it.
pub const LONGEST_ANCHOR: usize = 200;

/// Calls `each` with every anchor of `text`, in order and without overlap.
///
/// A line number that a tool printed (see [`strip_line_number`]) is not an anchor. A single plain word, such as
/// `ERROR`, is not one either. `text` may be JSON: escapes in its strings separate words like the characters they stand
/// for, so a call's arguments need not be parsed first. As a side effect, a part of a Windows path that begins with the
/// letter of an escape (`\new_file`) loses that letter.
///
/// O(length), some 200 MB/s.
pub fn anchors(text: &str, mut each: impl FnMut(Anchor)) {
    scan::scan(text, |word| judge::judge(text, word, &mut each));
}
