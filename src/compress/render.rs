//! Writing what is kept.

use super::gap::{Gap, gap_line};
use super::outline::{Outline, Piece, Unit};

/// The kept pieces in their order, with a line in each gap. O(length of `text`).
pub(super) fn render(outline: &Outline<'_>, text: &str, kept: &[bool]) -> String {
    let mut out = String::new();
    // Lines are numbered from 1; `line` is that of the offset `counted`.
    let (mut line, mut counted) = (1, 0);
    let mut line_of = |offset: usize| {
        line += newlines(&text[counted..offset]);
        counted = offset;
        line
    };
    let mut piece = 0;
    while piece < kept.len() {
        if kept[piece] {
            out.push_str(&outline.text_of(text, piece));
            piece += 1;
            continue;
        }
        let first = piece;
        piece += kept[first..].iter().take_while(|kept| !**kept).count();
        let left_out = &outline.pieces[first..piece];
        let (start, end) = (left_out[0].source.start, left_out[left_out.len() - 1].source.end);
        if !left_out.iter().any(Piece::is_marked) {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            continue;
        }
        let alarms = left_out.iter().filter(|piece| piece.alarm).count();
        let gap = match outline.unit {
            Unit::Items(noun) => Gap::Items(left_out.len(), noun),
            Unit::Lines if is_within_a_line(text, start, end) => Gap::Characters(text[start..end].chars().count()),
            Unit::Lines => {
                let from = line_of(start);
                // A gap that ends with a line end does not reach into the line behind it.
                let to = line_of(end) + usize::from(!text[..end].ends_with('\n'));
                let lines = from..to.max(from + 1);
                match outline.first_number {
                    Some(first) => Gap::Numbered(lines, first + from - 1),
                    None => Gap::Lines(lines),
                }
            }
        };
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&gap_line(&gap, alarms));
        if piece < kept.len() {
            out.push('\n');
        }
    }
    out
}

/// Whether the bytes from `start` to `end` are less than a line.
fn is_within_a_line(text: &str, start: usize, end: usize) -> bool {
    let body = text[start..end].strip_suffix('\n').unwrap_or(&text[start..end]);
    let whole = (start == 0 || text[..start].ends_with('\n')) && (end == text.len() || text[..end].ends_with('\n'));
    !whole && !body.contains('\n')
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}
