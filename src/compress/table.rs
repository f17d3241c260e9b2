//! Rows of cells: what can be said of each column at once, and which rows stand out.
//!
//! Shared by records of JSON and by tables of text. Cells are borrowed and given out as they stand in the source.

use super::series::rounded;
use crate::numbers::thousands;

/// A column of at most so many different cells has categories.
const CATEGORIES: usize = 20;

/// A category is no longer than this.
const LONGEST_CATEGORY: usize = 60;

/// A category of fewer than one in so many rows is rare.
const RARE: usize = 50;

/// So many categories are named, the most frequent first.
const NAMED: usize = 8;

/// How far beyond the quartiles, in distances between them, a number is an outlier: Tukey's outer fence (Exploratory
/// Data Analysis, 1977).
const FENCE: f64 = 3.0;

/// Quartiles say something of so many numbers.
const FEWEST_NUMBERS: usize = 8;

/// So many outliers of a column are shown, the farthest.
const OUTLIERS: usize = 3;

/// Rows of the front and of the end that are shown as they are.
pub(super) const FRONT: usize = 6;
pub(super) const BACK: usize = 3;

/// What a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellKind {
    Number,
    Text,
    Word,
    Nested,
}

/// A number of a column, as it is and as it stands in the source.
#[derive(Debug, Clone, Copy)]
struct Extreme<'a> {
    number: f64,
    source: &'a str,
}

/// A cell that occurs, where it first did, and how often.
#[derive(Debug, Clone, Copy)]
struct Category<'a> {
    cell: (CellKind, &'a str),
    row: usize,
    count: usize,
}

/// A column, and what is known of its cells.
#[derive(Debug)]
pub(super) struct Column<'a> {
    /// Its name as it stands in the source.
    pub(super) name: &'a str,
    filled: usize,
    kinds: [usize; 4],
    is_whole: bool,
    numbers: Vec<(u32, f64)>,
    least: Option<Extreme<'a>>,
    most: Option<Extreme<'a>>,
    times: usize,
    earliest: &'a str,
    latest: &'a str,
    /// Empty once there are too many.
    categories: Vec<Category<'a>>,
    has_categories: bool,
    last: usize,
}

/// Rows of cells.
#[derive(Debug, Default)]
pub(super) struct Table<'a> {
    /// The columns in the order in which they came up.
    pub(super) columns: Vec<Column<'a>>,
    /// How many rows there are.
    pub(super) rows: usize,
}

impl<'a> Column<'a> {
    fn of(name: &'a str) -> Column<'a> {
        Column {
            name,
            filled: 0,
            kinds: [0; 4],
            is_whole: true,
            numbers: Vec::new(),
            least: None,
            most: None,
            times: 0,
            earliest: "",
            latest: "",
            categories: Vec::new(),
            has_categories: true,
            last: 0,
        }
    }

    /// The cell that every row has, if there is one.
    pub(super) fn constant(&self, rows: usize) -> Option<&'a str> {
        match self.categories[..] {
            [only] if only.count == rows && rows > 1 => Some(only.cell.1),
            _ => None,
        }
    }

    fn add(&mut self, row: usize, kind: CellKind, cell: &'a str) {
        self.filled += 1;
        self.kinds[kind as usize] += 1;
        if kind == CellKind::Number {
            self.add_number(row, cell);
        } else if kind == CellKind::Text && is_time(cell) {
            self.times += 1;
            if self.earliest.is_empty() || cell < self.earliest {
                self.earliest = cell;
            }
            if cell > self.latest {
                self.latest = cell;
            }
        }
        if self.has_categories {
            self.categorise(row, kind, cell);
        }
    }

    fn add_number(&mut self, row: usize, source: &'a str) {
        let Ok(number) = source.parse::<f64>() else { return };
        self.is_whole &= !source.contains(['.', 'e', 'E']);
        // OK because a text has fewer rows than a tape has places.
        self.numbers.push((u32::try_from(row).unwrap_or(u32::MAX), number));
        let this = Extreme { number, source };
        if self.least.is_none_or(|least| number < least.number) {
            self.least = Some(this);
        }
        if self.most.is_none_or(|most| number > most.number) {
            self.most = Some(this);
        }
    }

    fn categorise(&mut self, row: usize, kind: CellKind, cell: &'a str) {
        let found = match self.categories.get(self.last) {
            Some(category) if category.cell == (kind, cell) => Some(self.last),
            _ => self.categories.iter().position(|category| category.cell == (kind, cell)),
        };
        if let Some(found) = found {
            self.categories[found].count += 1;
            self.last = found;
        } else if self.categories.len() == CATEGORIES || cell.len() > LONGEST_CATEGORY {
            self.has_categories = false;
            self.categories = Vec::new();
        } else {
            self.categories.push(Category { cell: (kind, cell), row, count: 1 });
        }
    }

    /// What can be said of the column in a line; nothing where its rows say as much.
    fn summary(&self, rows: usize) -> Option<String> {
        let name = self.name;
        if let Some(constant) = self.constant(rows) {
            return Some(format!("{name}: {} in all\n", quoted(constant)));
        }
        let holes = if self.filled < rows { format!(", in {} of them", thousands(self.filled)) } else { String::new() };
        let all = |kind: CellKind| self.kinds[kind as usize] == self.filled;
        if self.filled > 0 && all(CellKind::Number) {
            let (least, most) = (self.least?, self.most?);
            let kind = if self.is_whole { "integer" } else { "number" };
            let middle = if self.is_rising() { String::new() } else { self.middle() };
            return Some(format!("{name}: {kind}, {} to {}{middle}{holes}\n", least.source, most.source));
        }
        if self.filled > 0 && self.times == self.filled && self.earliest != self.latest {
            return Some(format!("{name}: time, {} to {}{holes}\n", self.earliest, self.latest));
        }
        // Categories that are as many as rows say nothing.
        if !self.categories.is_empty() && self.categories.len() * 2 <= self.filled {
            return Some(format!("{name}: {}{holes}\n", self.named()));
        }
        let kinds = [
            (CellKind::Number, "number"),
            (CellKind::Text, "text"),
            (CellKind::Word, "true, false or null"),
            (CellKind::Nested, "nested"),
        ];
        let kinds: Vec<&str> =
            kinds.iter().filter(|(kind, _)| self.kinds[*kind as usize] > 0).map(|(_, name)| *name).collect();
        Some(format!("{name}: {}{holes}\n", kinds.join(" or ")))
    }

    /// Whether each number is above the one before, as of ids.
    fn is_rising(&self) -> bool {
        self.numbers.windows(2).all(|pair| pair[0].1 < pair[1].1)
    }

    fn middle(&self) -> String {
        if self.numbers.len() < FEWEST_NUMBERS {
            return String::new();
        }
        let [median, most] = self.percentiles([50, 95]).map(rounded);
        let mut middle = format!(", median {median}, p95 {most}");
        if is_duration(self.name) {
            let total = self.numbers.iter().map(|(_, number)| number).sum();
            middle += ", total ";
            middle += &rounded(total);
        }
        middle
    }

    /// The numbers at these hundredths of their order, by nearest rank. O(numbers).
    fn percentiles<const N: usize>(&self, hundredths: [usize; N]) -> [f64; N] {
        let mut numbers: Vec<f64> = self.numbers.iter().map(|(_, number)| *number).collect();
        hundredths.map(|part| {
            let rank = numbers.len().saturating_sub(1) * part / 100;
            *numbers.select_nth_unstable_by(rank, f64::total_cmp).1
        })
    }

    fn named(&self) -> String {
        let mut categories = self.categories.clone();
        categories.sort_by_key(|category| (usize::MAX - category.count, category.row));
        let mut named: Vec<String> = categories
            .iter()
            .take(NAMED)
            .map(|category| format!("{} ({})", quoted(category.cell.1), thousands(category.count)))
            .collect();
        if categories.len() > NAMED {
            named.push(format!("{} others", categories.len() - NAMED));
        }
        named.join(", ")
    }

    /// The rows of the numbers that are farthest beyond the fences.
    fn outliers(&self) -> Vec<usize> {
        if self.numbers.len() < FEWEST_NUMBERS {
            return Vec::new();
        }
        let [low, high] = self.percentiles([25, 75]);
        let fence = FENCE * (high - low);
        let beyond = |number: f64| (low - number).max(number - high) - fence;
        // Where most numbers are the same, every other one is beyond: that says nothing.
        let is_outlier = |number: f64| fence > 0.0 && beyond(number) > 0.0;
        let mut found: Vec<(u32, f64)> =
            self.numbers.iter().copied().filter(|(_, number)| is_outlier(*number)).collect();
        if is_duration(self.name) {
            // What took longest is asked for, however near the others.
            found.clone_from(&self.numbers);
        }
        let most = OUTLIERS.min(found.len());
        if most > 0 {
            // All that is needed of the order is its front.
            found.select_nth_unstable_by(most - 1, |a, b| beyond(b.1).total_cmp(&beyond(a.1)).then(a.0.cmp(&b.0)));
            found.truncate(most);
        }
        found.sort_by(|a, b| beyond(b.1).total_cmp(&beyond(a.1)).then(a.0.cmp(&b.0)));
        found.into_iter().take(OUTLIERS).map(|(row, _)| row as usize).collect()
    }

    /// The first row of each category that few rows have.
    fn rare(&self, rows: usize) -> impl Iterator<Item = usize> + '_ {
        let telling = self.categories.len() * 4 <= self.filled;
        self.categories.iter().filter(move |category| telling && category.count * RARE < rows).map(|found| found.row)
    }
}

impl<'a> Table<'a> {
    /// The column `name`; the one at `guess` where it has this name.
    pub(super) fn column(&mut self, guess: usize, name: &'a str) -> usize {
        if self.columns.get(guess).is_some_and(|column| column.name == name) {
            return guess;
        }
        if let Some(found) = self.columns.iter().position(|column| column.name == name) {
            return found;
        }
        self.columns.push(Column::of(name));
        self.columns.len() - 1
    }

    /// Adds a cell of the last row, which is `rows`.
    pub(super) fn add(&mut self, column: usize, kind: CellKind, cell: &'a str) {
        self.columns[column].add(self.rows, kind, cell);
    }

    /// Of a hundred cells, how many are filled.
    pub(super) fn filled(&self) -> usize {
        let filled: usize = self.columns.iter().map(|column| column.filled).sum();
        filled * 100 / (self.rows * self.columns.len()).max(1)
    }

    /// What can be said of each column.
    pub(super) fn summary(&self) -> Vec<String> {
        self.columns.iter().filter_map(|column| column.summary(self.rows)).collect()
    }

    /// The rows that are shown: the first and the last, and those with an outlier or with what few rows have. Sorted.
    pub(super) fn shown(&self) -> Vec<usize> {
        let mut shown: Vec<usize> =
            (0..self.rows.min(FRONT)).chain(self.rows.saturating_sub(BACK)..self.rows).collect();
        for column in &self.columns {
            shown.extend(column.outliers());
            shown.extend(column.rare(self.rows));
        }
        shown.sort_unstable();
        shown.dedup();
        shown
    }
}

/// Whether a column of this name says how long something took.
fn is_duration(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["duration", "elapsed", "latency"].iter().any(|word| name.contains(word))
        || ["_ms", "_us", "_ns"].iter().any(|unit| name.ends_with(unit))
}

/// A cell in a sentence: quoted where it could be taken for more of it.
fn quoted(cell: &str) -> String {
    if cell.is_empty() || cell.contains([' ', ',', '(']) { format!("\"{cell}\"") } else { cell.to_owned() }
}

/// Whether `text` begins as ISO 8601 does: such times sort as text.
pub(super) fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().zip(b"0000-00-00").all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == form,
        })
        && bytes.get(10).is_none_or(|byte| matches!(byte, b'T' | b' '))
}
