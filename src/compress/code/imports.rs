//! Summarizes the imports of a file in one line.

use super::super::outline::Rank;
use super::super::ranked::RankedLines;
use super::declaration::{Declaration, declaration};

/// Number of characters of names that are shown.
const SHOWN: usize = 160;

/// Fewer imports are kept as they are.
const LEAST: usize = 3;

/// Writes the names of all imports before the first one.
pub(super) fn summarize(code: &mut RankedLines<'_>, lines: &[&str]) {
    let is_import = |line: &str| !line.starts_with([' ', '\t']) && declaration(line) == Some(Declaration::Import);
    let imports: Vec<usize> = (0..lines.len()).filter(|index| is_import(lines[*index])).collect();
    let Some(first) = imports.first() else { return };
    if imports.len() < LEAST {
        for index in imports {
            code.set(index, Rank::Sample);
        }
        return;
    }
    let mut names: Vec<&str> = Vec::new();
    let mut length = 0;
    for index in &imports {
        let name = name(lines[*index]);
        if length + name.len() <= SHOWN && !name.is_empty() && !names.contains(&name) {
            length += name.len() + 2;
            names.push(name);
        }
    }
    code.before(*first, format!("[{} imports: {}]", imports.len(), names.join(", ")), Rank::Key);
    for index in imports {
        code.unmark(index);
    }
}

/// Returns the imported name: the text in quotes, or the first words after the keyword.
fn name(line: &str) -> &str {
    for quote in ['"', '\''] {
        let mut parts = line.split(quote);
        if let (Some(_), Some(name), Some(_)) = (parts.next(), parts.next(), parts.next()) {
            return name;
        }
    }
    let body = line.trim().trim_start_matches("pub ");
    let rest = body.split_once([' ', '<']).map_or("", |(_, rest)| rest).trim_start_matches("static ");
    let end = rest.find([';', ' ', '{', '>', ',']).unwrap_or(rest.len());
    rest[..end].trim_start_matches('<').trim_end_matches("::")
}
