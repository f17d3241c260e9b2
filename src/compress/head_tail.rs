//! The head and the tail of a text: what its author put first, and how it ended.
//!
//! The text is taken apart into pieces at places that do not depend on the budget: whole lines, and slices of lines
//! that are too long. The head is as many pieces from the front as fit its share, the tail as many from the back. So
//! a bigger budget never keeps less.

use crate::numbers::thousands;
use crate::tokens::{CountTokens, TextKind};

/// Share of the budget for the head, in hundredths. Commands print what they do first and errors last; most of what a
/// model asks for is in front.
const HEAD_SHARE: usize = 60;

/// A line longer than this many bytes is cut into slices of about this size.
const LONGEST_PIECE: usize = 160;

/// What is left of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortened {
    /// The head, the line that says what is missing, the tail.
    pub text: String,
    /// Characters left out.
    pub left_out: usize,
}

/// `text` cut to its head and tail so that both together take at most `budget` tokens, the line between them not
/// counted; `None` if nothing would be left out. Reads only what it keeps: O(budget), but for counting characters.
pub fn head_and_tail(text: &str, budget: usize, kind: TextKind, counter: &dyn CountTokens) -> Option<Shortened> {
    let head_budget = budget * HEAD_SHARE / 100;
    let head = take_from_front(text, head_budget, kind, counter);
    let tail = take_from_back(&text[head..], budget - head_budget, kind, counter) + head;
    if tail <= head {
        return None;
    }
    let left_out = text[head..tail].chars().count();
    let mut out = String::with_capacity(head + (text.len() - tail) + 64);
    out.push_str(&text[..head]);
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&gap_line(left_out));
    if tail < text.len() {
        out.push('\n');
        out.push_str(&text[tail..]);
    }
    Some(Shortened { text: out, left_out })
}

/// The line in place of what is left out.
pub fn gap_line(characters: usize) -> String {
    format!("[... {} characters left out ...]", thousands(characters))
}

/// Byte offset behind the last piece that fits, from the front.
fn take_from_front(text: &str, budget: usize, kind: TextKind, counter: &dyn CountTokens) -> usize {
    let (mut end, mut used) = (0, 0);
    while end < text.len() {
        let next = end + front_piece(&text[end..]);
        used += counter.count(&text[end..next], kind);
        if used > budget {
            break;
        }
        end = next;
    }
    end
}

/// Byte offset of the first piece that fits, from the back.
fn take_from_back(text: &str, budget: usize, kind: TextKind, counter: &dyn CountTokens) -> usize {
    let (mut start, mut used) = (text.len(), 0);
    while start > 0 {
        let next = back_piece(&text[..start]);
        used += counter.count(&text[next..start], kind);
        if used > budget {
            break;
        }
        start = next;
    }
    start
}

/// Length of the first piece: a line with its end, or a slice of one.
fn front_piece(text: &str) -> usize {
    let window = text.floor_char_boundary(LONGEST_PIECE);
    text.as_bytes()[..window].iter().position(|byte| *byte == b'\n').map_or(window, |end| end + 1)
}

/// Start of the last piece: a line with its end, or a slice of one.
fn back_piece(text: &str) -> usize {
    let window = text.ceil_char_boundary(text.len().saturating_sub(LONGEST_PIECE));
    // The line end that closes the piece itself does not count.
    let inside = &text.as_bytes()[window..text.len() - 1];
    inside.iter().rposition(|byte| *byte == b'\n').map_or(window, |end| window + end + 1)
}
