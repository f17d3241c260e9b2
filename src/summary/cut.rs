//! Cuts a text to a number of tokens.

use crate::text::ends_line;
use crate::tokens::{CountTokens, TextKind};

/// The end of a summary that was cut because it was longer than allowed.
pub const CUT: &str = "\n[... the summary was longer]";

/// Maximum bytes of a token in any text that is worth a summary. The search for a prefix ends there.
const MOST_BYTES: usize = 32;

/// Two joined texts may have this many more tokens than both separately.
const JOINT: usize = 2;

/// Returns the longest beginning of `text` with at most `tokens`, between characters. O(tokens x log tokens).
pub fn head<'a>(text: &'a str, tokens: usize, kind: TextKind, counter: &dyn CountTokens) -> &'a str {
    let most = text.floor_char_boundary(text.len().min(tokens.saturating_mul(MOST_BYTES)));
    if counter.fits(&text[..most], kind, tokens) {
        return &text[..most];
    }
    let (mut fits, mut too_long) = (0, most);
    while too_long - fits > 1 {
        let middle = text.floor_char_boundary(fits.midpoint(too_long));
        if middle == fits {
            // Only the characters around it remain to be tried.
            let next = text.ceil_char_boundary(fits + 1);
            if next >= too_long || !counter.fits(&text[..next], kind, tokens) {
                break;
            }
            fits = next;
        } else if counter.fits(&text[..middle], kind, tokens) {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    &text[..fits]
}

/// Returns `text` in at most `tokens`: whole, or up to the end of a line or sentence, followed by a line that says so.
/// Empty if not even that line fits. O(tokens x log tokens).
pub fn bounded(text: &str, tokens: usize, counter: &dyn CountTokens) -> String {
    let text = text.trim();
    if counter.fits(text, TextKind::Prose, tokens) {
        return text.to_owned();
    }
    let room = tokens.saturating_sub(counter.count(CUT, TextKind::Prose) + JOINT);
    let whole = up_to_a_border(head(text, room, TextKind::Prose, counter)).trim_end();
    if whole.is_empty() { String::new() } else { format!("{whole}{CUT}") }
}

/// Returns a cut text up to its last line or sentence. If neither ends in its second half, it ends at its last word.
fn up_to_a_border(text: &str) -> &str {
    let half = text.floor_char_boundary(text.len() / 2);
    let behind = |end: &str| text[half..].rfind(end).map(|at| half + at + end.trim_end().len());
    let border = ["\n", ". ", "! ", "? ", "。"].into_iter().filter_map(behind).max();
    let end = border.or_else(|| text[half..].rfind(char::is_whitespace).map(|at| half + at)).unwrap_or(text.len());
    &text[..end]
}

/// Returns the first sentence or line of a text, at most `most` characters.
pub fn first_line(text: &str, most: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = match line.find(". ") {
        Some(end) => &line[..=end],
        None => line,
    };
    shown(line, most)
}

/// Returns at most `most` characters of a text on one line, with dots if there are more.
pub fn shown(text: &str, most: usize) -> String {
    let mut characters = text.chars().map(|c| if c.is_control() || ends_line(c) { ' ' } else { c });
    let mut out: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        out.push_str("...");
    }
    out
}
