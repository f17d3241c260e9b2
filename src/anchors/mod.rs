//! The words of a text that a later turn is likely to repeat: paths, names, ids and numbers.
//!
//! An agent at work repeats such words exactly, while it can do without a word of prose. So these words show which lines of
//! an output are worth keeping, and how much of a history a compaction has kept.

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
    /// A name of several, joined by dots, as files and attributes are: `lib.rs`, `os.path`, `v1.2`.
    Dotted,
    /// A single name that is not a word of prose: `read_file`, `readFile`, `__init__`.
    Name,
    /// A UUID, a hash, an address, or another word with three digits or more among its letters.
    Id,
    /// A number of three digits or more, with a unit or without: `8080`, `3.14`, `1500ms`.
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

/// A longer anchor is data, which nobody repeats.
pub const LONGEST_ANCHOR: usize = 200;

/// Gives every anchor of `text` to `each`, in order and without overlap.
///
/// The number before a line that a tool has put there is none (see [`strip_line_number`]), and neither is a single
/// plain word, be it `ERROR`. Texts in the strings of JSON may come as they are: what is escaped there parts words as
/// it would in the open, so that a call's arguments need not be read first. For the same reason a part of a Windows path
/// that begins with the letter of an escape (`\new_file`) loses that letter.
///
/// O(length), some 200 MB/s.
pub fn anchors(text: &str, mut each: impl FnMut(Anchor)) {
    scan::scan(text, |word| judge::judge(text, word, &mut each));
}
