//! Records: an array of objects, or an object on each line. They become a table that names each key once.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use foldhash::fast::RandomState;

use super::failing::{Sign, failing};
use super::row::{BETWEEN, inside, row_of};
use super::tape::{Kind, Tape, after_space};
use crate::compress::alike::Alike;
use crate::compress::failure_words::{Cursor, failure_words};
use crate::compress::outline::{Outline, Rank, Unit, lines};
use crate::compress::sample::Sample;
use crate::compress::table::{CellKind, Table};
use crate::numbers::thousands;

/// Fewer records are not a table.
const FEWEST: usize = 5;

/// Records with more bytes on average are not rows.
const LONGEST: usize = 2_000;

/// Records with more columns have too little in common.
const COLUMNS: usize = 120;

/// The least percentage of cells that are filled.
const FILLED: usize = 30;

/// The least percentage of lines that are records.
const RECORDS: usize = 90;

/// At most one record in this many may report a failure by a number alone. If more do, the number is a measurement.
const COUNTED: usize = 4;

/// Keys whose value `false` reports a failure, and keys for which any value but 0 does.
const FALSE_FAILS: [&str; 4] = ["success", "ok", "passed", "healthy"];
const NONZERO_FAILS: [&str; 4] = ["exit_code", "exitCode", "returncode", "exit_status"];

/// Keys of an HTTP status. From 500 on it reports a failure of the server.
const STATUS: [&str; 4] = ["status", "status_code", "statusCode", "http_status"];

/// True if the text begins like an array of objects.
pub(in crate::compress) fn claims(sample: &Sample<'_>) -> bool {
    let start = sample.start.trim_start();
    start.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('{'))
}

/// True if the lines begin like objects.
pub(in crate::compress) fn claims_lines(sample: &Sample<'_>) -> bool {
    sample.lines.len() >= FEWEST
        && sample.share(|line| line.starts_with('{') && line[1..].trim_start().starts_with(['"', '}'])) >= RECORDS
}

/// Returns the records of an array. `None` if it is something else. O(length).
pub(in crate::compress) fn outline(text: &str) -> Option<Outline<'_>> {
    let bytes = text.as_bytes();
    let found = failure_words(text);
    let mut records = Records::of(text);
    let mut cursor = Cursor::of(&found);
    let mut at = after_space(bytes, after_space(bytes, 0) + 1);
    loop {
        at = records.read(at, &mut cursor)?;
        at = after_space(bytes, at);
        match bytes.get(at)? {
            b',' => at = after_space(bytes, at + 1),
            b']' => break,
            _ => return None,
        }
    }
    (after_space(bytes, at + 1) == bytes.len()).then_some(())?;
    let ends: Vec<usize> = records.starts.iter().skip(1).copied().chain([text.len()]).collect();
    records.outline(Unit::Items("records"), &ends, &found)
}

/// Returns the records on lines; other lines stay unchanged. `None` if most lines are something else. O(length).
pub(in crate::compress) fn outline_of_lines(text: &str) -> Option<Outline<'_>> {
    let found = failure_words(text);
    let mut records = Records::of(text);
    let mut cursor = Cursor::of(&found);
    let mut ends = Vec::new();
    for line in lines(text) {
        let body = text[line.clone()].trim_end();
        let end = line.start + body.len();
        if body.starts_with('{') && records.whole(line.start..end, &mut cursor) {
            ends.push(line.end);
        } else if !body.is_empty() {
            records.others.push(line);
        }
    }
    let all = ends.len() + records.others.len();
    (ends.len() * 100 >= all * RECORDS).then_some(())?;
    records.outline(Unit::Lines, &ends, &found)
}

/// The records that were read so far.
struct Records<'a> {
    text: &'a str,
    tape: Tape,
    table: Table<'a>,
    starts: Vec<usize>,
    /// Lines that are not records.
    others: Vec<Range<usize>>,
    /// Rows that report a failure, with the words that do.
    failing: Vec<(usize, &'a str)>,
    /// Rows that report a failure by a number, with its column.
    counted: Vec<(usize, usize)>,
}

impl<'a> Records<'a> {
    fn of(text: &'a str) -> Records<'a> {
        Records {
            text,
            tape: Tape::default(),
            table: Table::default(),
            starts: Vec::new(),
            others: Vec::new(),
            failing: Vec::new(),
            counted: Vec::new(),
        }
    }

    /// Reads the record at `start` and returns its end; `None` if there is no record, or no table.
    fn read(&mut self, start: usize, failure_words: &mut Cursor<'_>) -> Option<usize> {
        let end = self.tape.read(self.text, start)?;
        self.take(end, failure_words)
    }

    /// Reads the line if it is a single record.
    fn whole(&mut self, line: Range<usize>, failure_words: &mut Cursor<'_>) -> bool {
        self.tape.read(self.text, line.start) == Some(line.end) && self.take(line.end, failure_words).is_some()
    }

    fn take(&mut self, end: usize, failure_words: &mut Cursor<'_>) -> Option<usize> {
        let root = self.tape.node(0);
        // More columns would make the search for a column slow.
        (root.kind == Kind::Object && self.table.columns.len() <= COLUMNS).then_some(())?;
        let row = self.table.rows;
        let mut next = 0;
        for (key, value) in self.tape.members(0) {
            let name = inside(&self.text[self.tape.node(key).span()]);
            let column = self.table.column(next, name);
            next = column + 1;
            (next <= COLUMNS).then_some(())?;
            let node = self.tape.node(value);
            let raw = &self.text[node.span()];
            let (kind, cell) = match node.kind {
                Kind::Number => (CellKind::Number, raw),
                Kind::String => (CellKind::Text, inside(raw)),
                Kind::Word => (CellKind::Word, raw),
                Kind::Object | Kind::Array => (CellKind::Nested, raw),
            };
            self.table.add(column, kind, cell);
            if is_sign(name, raw) {
                self.counted.push((row, column));
            }
        }
        let here = failure_words.until(end);
        for (node, sign) in failing(&self.tape, self.text, here) {
            match sign {
                Sign::Said => self.failing.push((row, &self.text[self.tape.node(node).span()])),
                Sign::Counted => {
                    let key = inside(&self.text[self.tape.node(node - 1).span()]);
                    let column = self.table.columns.iter().position(|column| column.name == key);
                    self.counted.extend(column.map(|column| (row, column)));
                }
            }
        }
        self.starts.push(root.span().start);
        self.table.rows += 1;
        Some(end)
    }

    /// Returns the rows as pieces. `ends` has the end of each row's source.
    fn outline(self, unit: Unit, ends: &[usize], failure_words: &[usize]) -> Option<Outline<'a>> {
        let (text, table) = (self.text, self.table);
        let length: usize = self.starts.iter().zip(ends).map(|(start, end)| end - start).sum();
        let is_table = table.rows >= FEWEST
            && length / table.rows <= LONGEST
            && (1..=COLUMNS).contains(&table.columns.len())
            && table.filled() >= FILLED;
        is_table.then_some(())?;
        let mut ranks = vec![Rank::Ordinary; table.rows];
        for row in table.shown() {
            ranks[row] = Rank::Sample;
        }
        let mut is_failing = vec![false; table.rows];
        // The rows to keep without a budget: rows that represent others, and some failures of each kind.
        let mut is_example: Vec<bool> = ranks.iter().map(|rank| rank.is_essential()).collect();
        let mut alike = Alike::default();
        let mut seen: HashSet<&str, RandomState> = HashSet::with_hasher(RandomState::default());
        for (row, said) in self.failing {
            // The text after the first number differs from record to record.
            let first = seen.insert(said.split(|c: char| c.is_ascii_digit()).next().unwrap_or(said));
            ranks[row] = if first { Rank::Alarm } else { ranks[row].min(Rank::Failure) };
            is_failing[row] = true;
            is_example[row] |= alike.is_example(said);
        }
        let mut in_column = vec![0; table.columns.len()];
        self.counted.iter().for_each(|(_, column)| in_column[*column] += 1);
        for (row, column) in self.counted {
            if in_column[column] * COUNTED <= table.rows {
                ranks[row] = ranks[row].min(Rank::Failure);
                is_failing[row] = true;
                is_example[row] |= alike.is_example(table.columns[column].name);
            }
        }
        let mut outline = Outline::of(unit);
        let shown: Vec<&str> =
            table.columns.iter().filter(|column| column.constant(table.rows).is_none()).map(|c| c.name).collect();
        // The header comes first, because no row can be read without it.
        let heading = format!("{} records: {}\n", thousands(table.rows), shown.join(BETWEEN));
        outline.push_made(0..0, heading, Rank::Alarm, false);
        for line in table.summary() {
            outline.push_made(0..0, line, Rank::Key, false);
        }
        let mut covered = 0;
        let mut cursor = Cursor::of(failure_words);
        let mut others = self.others.into_iter().peekable();
        let mut push_others = |outline: &mut Outline<'a>, covered: &mut usize, end: usize| {
            while let Some(line) = others.next_if(|line| line.start < end) {
                cursor.until(line.start);
                let here = cursor.until(line.end);
                let rank = if here.is_empty() { Rank::Sample } else { Rank::Alarm };
                outline.push_line(text, *covered..line.end, rank, here);
                *covered = line.end;
            }
        };
        for row in 0..table.rows {
            push_others(&mut outline, &mut covered, self.starts[row]);
            let first = outline.pieces.len();
            outline.push_reworded(covered..ends[row], ranks[row], is_failing[row]);
            if !is_example[row] {
                outline.count(first);
            }
            covered = ends[row];
        }
        push_others(&mut outline, &mut covered, text.len());
        if covered < text.len() {
            outline.push(covered..text.len(), Rank::Bulk, false);
        }
        let shown: HashMap<&'a str, usize, RandomState> = shown.into_iter().zip(0..).collect();
        Some(outline.rewording(move |source| row_of(source, &shown)))
    }
}

/// True if the value of `key` alone reports a failure.
fn is_sign(key: &str, value: &str) -> bool {
    match value.as_bytes() {
        b"false" => FALSE_FAILS.contains(&key),
        [b'5', b'0'..=b'9', b'0'..=b'9'] => STATUS.contains(&key),
        [b'1'..=b'9', ..] | [b'-', b'1'..=b'9', ..] => NONZERO_FAILS.contains(&key),
        _ => false,
    }
}
