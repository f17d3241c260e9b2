//! Writes a record as a row of cells.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::cut::{compact, shortened};
use super::tape::{Kind, Tape};

/// The separator of cells.
pub(super) const BETWEEN: &str = " | ";

/// Returns the text between the quotes.
pub(super) fn inside(quoted: &str) -> &str {
    &quoted[1..quoted.len() - 1]
}

/// Returns the cells of the record in `source`, each in its column.
pub(super) fn row_of(source: &str, columns: &HashMap<&str, usize, RandomState>) -> String {
    let mut tape = Tape::default();
    let start = source.find('{').unwrap_or(0);
    let mut row = vec![String::new(); columns.len()];
    // OK because the source was read as a record before.
    if tape.read(source, start).is_some() {
        for (key, value) in tape.members(0) {
            if let Some(column) = columns.get(inside(&source[tape.node(key).span()])) {
                let node = tape.node(value);
                let cell = cell(node.kind, &source[node.span()]);
                // A key that occurs twice gives a cell with two values.
                let row = &mut row[*column];
                if !row.is_empty() {
                    row.push_str(", ");
                }
                row.push_str(&cell);
            }
        }
    }
    let mut out = row.join(BETWEEN);
    out.truncate(out.trim_end_matches([' ', '|']).len());
    out.push('\n');
    out
}

/// Returns a value as a cell: a string loses its quotes, unless it could then be mistaken for another type.
fn cell(kind: Kind, raw: &str) -> String {
    match kind {
        Kind::Object | Kind::Array => shortened(&compact(raw)).into_owned(),
        Kind::Number | Kind::Word => shortened(raw).into_owned(),
        Kind::String => {
            let text = shortened(inside(raw));
            let looks_like_more = text.is_empty()
                || text.contains('|')
                || text.starts_with([' ', '{', '[', '-'])
                || text.ends_with(' ')
                || text.as_bytes()[0].is_ascii_digit() && text.parse::<f64>().is_ok()
                || matches!(&*text, "true" | "false" | "null");
            if looks_like_more { format!("\"{text}\"") } else { text.into_owned() }
        }
    }
}
