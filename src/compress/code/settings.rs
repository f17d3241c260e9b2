//! YAML, TOML, INI: the keys of the upper two levels, with their first entries.

use super::super::outline::Rank;
use super::super::ranked::{Ranked, indent};

/// Of a hundred lines, so many must be settings.
pub(super) const SETTINGS: usize = 80;

/// Keys of the second level that are essential, under each of the first.
const KEYS: usize = 8;

/// Whether the line is a key, an item, a section or a comment.
pub(super) fn is_setting(line: &str) -> bool {
    let body = line.trim();
    body.starts_with("- ")
        || body.starts_with("# ")
        || body == "---"
        || is_section(body)
        || key(body).is_some()
        || line.starts_with("  ") && body.ends_with([',', ']'])
}

/// `[package]`, `[[bench]]`
fn is_section(body: &str) -> bool {
    let inner = body.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|inner| {
        !inner.is_empty()
            && inner.chars().all(|c| c.is_alphanumeric() || "-_.[]\"' ".contains(c))
            && !inner.contains(", ")
    })
}

/// The key of `key: value`, `key:`, `key = value`.
fn key(body: &str) -> Option<&str> {
    let is_key = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '"' | '\''))
    };
    let body = body.strip_prefix("- ").unwrap_or(body);
    let key = match body.split_once(": ").or_else(|| body.split_once(" = ")) {
        Some((key, _)) => key,
        None => body.strip_suffix(':')?,
    };
    // Code ends its statements and calls functions.
    (is_key(key) && !body.ends_with([';', '{']) && !body.contains('(')).then_some(key)
}

/// Ranks the lines by their level.
pub(super) fn mark(code: &mut Ranked<'_>, lines: &[&str]) {
    // The width of the first indentation is that of a level.
    let step = lines.iter().map(|line| indent(line)).find(|width| *width > 0).unwrap_or(2);
    let (mut keys, mut in_section) = (0, false);
    for (index, line) in lines.iter().enumerate() {
        let body = line.trim();
        if body.is_empty() || body.starts_with('#') {
            continue;
        }
        let is_header = is_section(body) && indent(line) == 0;
        in_section |= is_header;
        let level = indent(line) / step.max(1) + usize::from(in_section && !is_header);
        match level {
            0 => {
                keys = 0;
                code.set(index, Rank::Key);
            }
            1 if key(body).is_some() => {
                keys += 1;
                if keys <= KEYS {
                    code.set(index, Rank::Sample);
                }
            }
            _ => {}
        }
    }
}
