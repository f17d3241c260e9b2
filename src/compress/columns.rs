//! Text tables: values with separators (CSV, TSV), aligned columns (`ps`, `df`, `kubectl get`), Markdown tables.
//!
//! Rows stay unchanged, because a table names its columns only once. Cells are read in place, only to find the rows
//! that stand out. A CSV reader that unquotes and copies cells would cost more and do nothing better.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::failure_words::{Cursor, failure_words};
use super::outline::{Outline, Rank, Unit, lines};
use super::sample::Sample;
use super::table::{CellKind, Table};

/// Fewer lines are not a table.
const FEWEST: usize = 5;

/// The least percentage of lines with the columns of the first line.
const ALIKE: usize = 80;

/// The least percentage of a header's columns that have a cell below.
const ALIGNED: usize = 70;

/// Tables with more rows get a summary. Fewer rows need none.
const SUMMED_UP: usize = 30;

/// Maximum number of lines in one quoted cell.
const LONGEST_CELL: usize = 50;

/// The way in which the cells of a row are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellSeparator {
    Separated(u8),
    /// Columns separated by spaces, aligned with a header of this many columns.
    Aligned(usize),
    Markdown,
}

/// True if the lines have the same columns.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    form(sample).is_some()
}

/// Splits the table into rows. `None` if the text is not a table. O(length).
pub(super) fn outline(text: &str) -> Option<Outline<'_>> {
    let form = form(&Sample::of(text, ""))?;
    let records = records(text, form);
    let (first, rest) = records.split_first()?;
    let mut header = Vec::new();
    cells(&text[first.clone()], form, &mut header);
    let is_named = header.iter().all(|name| !name.is_empty() && name.parse::<f64>().is_err());
    let mut table = Table::default();
    let mut row = Vec::new();
    let mut known: HashMap<&str, usize, RandomState> = HashMap::default();
    // The columns of the names in the header. Columns with the same name count as one.
    let mut columns: Vec<usize> = Vec::with_capacity(header.len());
    for record in rest {
        cells(&text[record.clone()], form, &mut row);
        // A column without any cell does not count. A row may have more cells than the header.
        for name in header.iter().take(row.len()).skip(columns.len()) {
            columns.push(*known.entry(name).or_insert_with(|| table.push(name)));
        }
        for (cell, column) in row.iter().zip(columns.iter().copied()) {
            let kind = if cell.parse::<f64>().is_ok() { CellKind::Number } else { CellKind::Text };
            if !cell.is_empty() {
                table.add(column, kind, cell);
            }
        }
        table.rows += 1;
    }
    let found = failure_words(text);
    let mut cursor = Cursor::of(&found);
    let mut outline = Outline::of(Unit::Lines);
    let here = cursor.until(first.end);
    // Rows cannot be read without the names of their columns.
    outline.push_line(text, first.clone(), if is_named { Rank::Alarm } else { Rank::Sample }, here);
    if is_named && table.rows > SUMMED_UP {
        for line in table.summary() {
            outline.push_made(first.end..first.end, line, Rank::Key, false);
        }
    }
    let mut shown = table.shown().into_iter().peekable();
    for (row, record) in rest.iter().enumerate() {
        let here = cursor.until(record.end);
        let is_shown = shown.next_if_eq(&row).is_some();
        let rank = match () {
            () if !here.is_empty() => Rank::Failure,
            () if is_shown || is_rule(&text[record.clone()]) => Rank::Sample,
            () => Rank::Ordinary,
        };
        // A quoted cell may contain line ends. A record is one piece, so none is cut in two.
        for line in lines(&text[record.clone()]).map(|line| record.start + line.start..record.start + line.end) {
            let [from, to] = [line.start, line.end].map(|end| here.partition_point(|failure_word| *failure_word < end));
            outline.push_line(text, line, rank, &here[from..to]);
        }
    }
    Some(outline)
}

fn form(sample: &Sample<'_>) -> Option<CellSeparator> {
    if sample.lines.len() < FEWEST {
        return None;
    }
    if sample.share(|line| line.starts_with('{') && line.ends_with('}')) >= ALIKE {
        // JSON objects, each with its own keys.
        return None;
    }
    let first = sample.lines[0];
    if first.starts_with('|') {
        return (is_rule(sample.lines[1]) && sample.share(|line| line.starts_with('|')) >= ALIKE)
            .then_some(CellSeparator::Markdown);
    }
    // Lines of a sample may be cut, and then have fewer cells.
    let mut whole: Vec<&str> = sample.start.lines().filter(|line| !line.trim().is_empty()).collect();
    whole.truncate(whole.len().max(2) - 1);
    let header = *whole.first()?;
    for (separator, fewest) in [(b'\t', 2), (b',', 3), (b';', 3), (b'|', 3)] {
        let count = |line: &str| {
            let mut row = Vec::new();
            cells(line, CellSeparator::Separated(separator), &mut row);
            row.len()
        };
        let columns = count(header);
        let alike = whole.iter().filter(|line| count(line) == columns).count();
        if columns >= fewest && alike * 100 >= whole.len() * ALIKE && !(columns == 2 && are_numbered(&whole)) {
            return Some(CellSeparator::Separated(separator));
        }
    }
    let aligned = |names: &[Range<usize>], line: &str| {
        let found = names.iter().filter(|name| stands_under(line.as_bytes(), name)).count();
        found * 100 / names.len().max(1)
    };
    let share = |names: &[Range<usize>]| -> usize { sample.lines.iter().map(|line| aligned(names, line)).sum() };
    // Of two ways to read the header, take the one with more cells below it.
    let (wide, single) = (names(first, "  "), names(first, " "));
    let names = if share(&wide) >= share(&single) { wide } else { single };
    let is_header = names.len() >= 3 && names.iter().all(|name| first[name.clone()].parse::<f64>().is_err());
    let is_row = |line: &str| aligned(&names, line) >= ALIGNED;
    (is_header && sample.share(is_row) >= ALIKE).then_some(CellSeparator::Aligned(names.len()))
}

/// True if the lines are a file with line numbers, as `cat -n` prints it.
fn are_numbered(lines: &[&str]) -> bool {
    let number = |line: &&str| line.split('\t').next().and_then(|number| number.trim().parse::<usize>().ok());
    let numbers: Vec<_> = lines.iter().map(number).collect();
    numbers.iter().all(Option::is_some) && numbers.is_sorted()
}

/// Returns the names in a header that are separated by at least `between`.
fn names(header: &str, between: &str) -> Vec<Range<usize>> {
    let place = |name: &str| name.as_ptr().addr() - header.as_ptr().addr();
    let names = header.split(between).map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| place(name)..place(name) + name.len()).collect()
}

/// True if a cell of `line` begins where the name begins, or ends where it ends.
fn stands_under(line: &[u8], name: &Range<usize>) -> bool {
    let is_space = |at: Option<usize>| at.and_then(|at| line.get(at)).is_none_or(|byte| *byte == b' ');
    let begins = !is_space(Some(name.start)) && is_space(name.start.checked_sub(1));
    let ends = !is_space(Some(name.end - 1)) && is_space(Some(name.end));
    // The last column may be empty.
    begins || ends || line.len() <= name.start
}

/// Returns the rows with their line ends. A quoted cell may contain line ends.
fn records(text: &str, form: CellSeparator) -> Vec<Range<usize>> {
    let all: Vec<Range<usize>> = lines(text).collect();
    if !matches!(form, CellSeparator::Separated(_)) || !text.contains('"') {
        return all;
    }
    let opens: Vec<bool> =
        all.iter().map(|line| text[line.clone()].bytes().filter(|byte| *byte == b'"').count() % 2 == 1).collect();
    let mut records = Vec::with_capacity(all.len());
    let mut next = 0;
    while next < all.len() {
        let closes = |next: usize| opens[next + 1..].iter().take(LONGEST_CELL).position(|closes| *closes);
        let end = Some(next).filter(|next| opens[*next]).and_then(closes).map_or(next, |more| next + 1 + more);
        records.push(all[next].start..all[end].end);
        next = end + 1;
    }
    records
}

/// Splits a row into cells, without quotes and surrounding space.
fn cells<'a>(row: &'a str, form: CellSeparator, cells: &mut Vec<&'a str>) {
    cells.clear();
    let row = row.trim_end_matches(['\n', '\r']);
    match form {
        CellSeparator::Separated(separator) => {
            let (mut start, mut quoted) = (0, false);
            for (at, byte) in row.bytes().enumerate() {
                if byte == b'"' {
                    quoted = !quoted;
                } else if byte == separator && !quoted {
                    cells.push(unquoted(&row[start..at]));
                    start = at + 1;
                }
            }
            cells.push(unquoted(&row[start..]));
        }
        CellSeparator::Markdown => cells.extend(row.trim_matches(['|', ' ']).split('|').map(str::trim)),
        CellSeparator::Aligned(columns) => {
            cells.extend(row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()));
            if cells.len() != columns {
                // If cells touch, the last one has the rest.
                cells.clear();
                let mut rest = row.trim();
                while cells.len() + 1 < columns
                    && let Some((cell, behind)) = rest.split_once(' ')
                {
                    cells.push(cell);
                    rest = behind.trim_start();
                }
                cells.push(rest);
            }
        }
    }
}

fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell)
}

/// True if the line is only a divider.
fn is_rule(line: &str) -> bool {
    line.contains('-') && line.trim().bytes().all(|byte| matches!(byte, b'-' | b'|' | b':' | b'+' | b'=' | b' '))
}
