//! Writes the kept pieces.

use super::gap::{Gap, LeftOut, gap_line, newlines};
use super::outline::{Outline, Piece, Unit};

/// The written text and its gaps.
pub(super) struct Rendered {
    pub text: String,
    pub left_out: Vec<LeftOut>,
}

/// Writes the kept pieces in order, with a line in each gap. O(length of `text`).
pub(super) fn render(outline: &Outline<'_>, text: &str, kept: &[bool]) -> Rendered {
    let (mut out, mut gaps) = (String::new(), Vec::new());
    // Lines are numbered from 1; `line` is the line of the offset `counted`.
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
        let missing = &outline.pieces[first..piece];
        let (start, end) = (missing[0].source.start, missing[missing.len() - 1].source.end);
        let failure_words = missing.iter().filter(|piece| piece.failure_word).count();
        let gap = match outline.unit {
            Unit::Items(noun) => {
                // Pieces without a source of their own describe other items, so they are not counted.
                Gap::Items(missing.iter().filter(|piece| !piece.source.is_empty()).count(), noun)
            }
            Unit::Lines if start == end => Gap::Items(0, "lines"),
            Unit::Lines if is_within_a_line(text, start, end) => Gap::Characters(text[start..end].chars().count()),
            Unit::Lines => {
                let from = line_of(start);
                // A gap that ends with a line end does not reach into the line after it.
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
        if missing.iter().any(Piece::is_marked) {
            out.push_str(&gap_line(&gap, failure_words));
            if piece < kept.len() {
                out.push('\n');
            }
        }
        gaps.push(LeftOut { gap, failure_words });
    }
    Rendered { text: out, left_out: gaps }
}

/// True if the bytes from `start` to `end` are less than a line.
fn is_within_a_line(text: &str, start: usize, end: usize) -> bool {
    let body = text[start..end].strip_suffix('\n').unwrap_or(&text[start..end]);
    let whole = (start == 0 || text[..start].ends_with('\n')) && (end == text.len() || text[..end].ends_with('\n'));
    !whole && !body.contains('\n')
}
