//! What a later turn is likely to repeat of a text: paths, names, ids and numbers.
//!
//! An agent that goes on working repeats such words exactly; a word of prose it can do without. So they tell which lines
//! of an output are worth keeping, and how much of a history a compaction has kept.

mod judge;
mod line;
mod scan;

use std::ops::Range;

pub use line::strip_line_number;

/// What an anchor looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AnchorKind {
    /// A path, or the name of a file with a hyphen in it: `src/lib.rs`, `./run`, `/etc/hosts`, `read-me.md`.
    Path,
    /// A name of several, joined by dots, as files and attributes are: `lib.rs`, `os.path`, `v1.2`.
    Dotted,
    /// One name that is no word of prose: `read_file`, `readFile`, `__init__`.
    Name,
    /// A UUID, a hash, an address, or another word with three digits or more among its letters.
    Id,
    /// A number of three digits or more, with a unit or without: `8080`, `3.14`, `1500ms`.
    Number,
}

/// One anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Where it stands, in bytes, between characters.
    pub range: Range<usize>,
    /// What it looks like.
    pub kind: AnchorKind,
}

/// An anchor in so many bytes is none: data, which nobody repeats.
pub const LONGEST_ANCHOR: usize = 200;

/// Gives every anchor of `text` to `each`, in order and without overlap.
///
/// The number in front of a line that a tool has put there is none (see [`strip_line_number`]), and neither is a single
/// plain word, be it `ERROR`. Texts in the strings of JSON may come as they stand: what is escaped there parts words as
/// it would in the open, so that a call's arguments need not be read first. For the same reason a part of a Windows path
/// that begins with the letter of an escape (`\new_file`) loses that letter.
///
/// O(length), some 200 MB/s.
pub fn anchors(text: &str, mut each: impl FnMut(Anchor)) {
    scan::scan(text, |word| judge::judge(text, word, &mut each));
}
