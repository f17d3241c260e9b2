//! YAML, TOML, INI: keeps the keys of the upper two levels and their first entries. Of repeated entries it keeps the
//! first.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::super::outline::Rank;
use super::super::ranked::{RankedLines, indent};
use crate::numbers::thousands;

/// The least percentage of lines that are settings.
pub(super) const SETTINGS: usize = 80;

/// Number of second-level keys that are essential below each first-level key.
const KEYS: usize = 8;

/// True if the line is a key, an item, a section or a comment.
pub(super) fn is_setting(line: &str) -> bool {
    let body = line.trim();
    body.starts_with("- ")
        || body.starts_with("# ")
        || body == "---"
        || is_section(body)
        || key(body).is_some()
        || line.starts_with("  ") && body.ends_with([',', ']'])
}

/// True for `[package]` and `[[bench]]`.
fn is_section(body: &str) -> bool {
    let inner = body.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|inner| {
        !inner.is_empty()
            && inner.chars().all(|c| c.is_alphanumeric() || "-_.[]\"' ".contains(c))
            && !inner.contains(", ")
    })
}

/// Returns the key of `key: value`, `key:` or `key = value`.
fn key(body: &str) -> Option<&str> {
    let is_key = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '"' | '\''))
    };
    let body = body.strip_prefix("- ").unwrap_or(body);
    let key = match body.split_once(": ").or_else(|| body.split_once(" = ")) {
        Some((key, _)) => key,
        None => body.strip_suffix(':')?,
    };
    // Code ends statements with semicolons and calls functions.
    (is_key(key) && !body.ends_with([';', '{']) && !body.contains('(')).then_some(key)
}

/// Number of essential lines for a key that repeats, as in list items and documents.
const ALIKE: usize = 3;

/// Ranks the lines by their level, and by how often the same key came before at the same place.
pub(super) fn mark(code: &mut RankedLines<'_>, lines: &[&str]) {
    // The first indentation is the width of a level.
    let step = lines.iter().map(|line| indent(line)).find(|width| *width > 0).unwrap_or(2);
    let places = places(lines);
    let mut times: HashMap<u64, usize, RandomState> = HashMap::default();
    for place in &places {
        *times.entry(*place).or_default() += 1;
    }
    let mut seen: HashMap<u64, usize, RandomState> = HashMap::default();
    let (mut keys, mut in_section) = (0, false);
    for (index, line) in lines.iter().enumerate() {
        let body = line.trim();
        if body.is_empty() || body.starts_with('#') {
            continue;
        }
        let turn = seen.entry(places[index]).or_default();
        *turn += 1;
        let is_header = is_section(body) && indent(line) == 0;
        in_section |= is_header;
        let level = indent(line) / step.max(1) + usize::from(in_section && !is_header);
        let rank = match level {
            0 => {
                keys = 0;
                Some(Rank::Key)
            }
            1 if key(body).is_some() => {
                keys += 1;
                (keys <= KEYS).then_some(Rank::Sample)
            }
            _ => None,
        };
        match rank {
            Some(rank) if *turn <= ALIKE => code.set(index, rank),
            _ => {}
        }
        let times = times[&places[index]];
        if rank == Some(Rank::Key) && *turn == 1 && times > ALIKE {
            code.instead(index, format!("{} [{} keys like this]", code.line(index).trim_end(), thousands(times)));
        }
    }
}

/// Returns for each line a hash of its key and its parents' keys. All items of a list have the same place.
fn places(lines: &[&str]) -> Vec<u64> {
    // The blocks around the line, by indentation.
    let mut open: Vec<(usize, u64)> = Vec::new();
    let mut section = 0;
    let place = |line: &&str| {
        let body = line.trim();
        let indent = indent(line);
        while open.last().is_some_and(|(outer, _)| *outer >= indent) {
            open.pop();
        }
        if is_section(body) && indent == 0 {
            section = xxh3_64(body.as_bytes());
            return section;
        }
        let mut at = open.last().map_or(section, |(_, place)| *place);
        let mut inner = indent;
        let mut rest = body;
        // The key of a list item follows the dash.
        while let Some(item) = rest.strip_prefix("- ") {
            at = xxh3_64_with_seed(b"-", at);
            open.push((inner, at));
            inner += rest.len() - item.trim_start().len();
            rest = item.trim_start();
        }
        let at = xxh3_64_with_seed(key(rest).unwrap_or("").as_bytes(), at);
        open.push((inner, at));
        at
    };
    lines.iter().map(place).collect()
}
