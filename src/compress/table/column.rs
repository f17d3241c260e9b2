//! A column: statistics of its cells, and its unusual cells.

use super::moments::{Edge, Moment, edge, is_time};

/// A column with at most this many different cells has categories.
const CATEGORIES: usize = 20;

/// Maximum length of a category.
const LONGEST_CATEGORY: usize = 60;

/// A category is rare if it occurs in fewer than one of this many rows.
const RARE: usize = 50;

/// A number is an outlier if it is this many interquartile ranges beyond the quartiles: Tukey's outer fence
/// (Exploratory Data Analysis, 1977).
const FENCE: f64 = 3.0;

/// Fewer values have no useful quartiles.
pub(super) const FEWEST_NUMBERS: usize = 8;

/// Number of outliers of a column that are shown, farthest first.
const OUTLIERS: usize = 3;

/// The type of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compress) enum CellKind {
    Number,
    Text,
    Word,
    Nested,
}

/// A number in a column: its value, and its text in the source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extreme<'a> {
    number: f64,
    pub(super) source: &'a str,
}

/// A cell's value, the row of its first occurrence, and its count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Category<'a> {
    pub(super) cell: (CellKind, &'a str),
    pub(super) row: usize,
    pub(super) count: usize,
}

/// A column, and the facts about its cells.
#[derive(Debug)]
pub(in crate::compress) struct Column<'a> {
    /// Its name in the source.
    pub(in crate::compress) name: &'a str,
    pub(super) filled: usize,
    pub(super) kinds: [usize; 4],
    pub(super) is_whole: bool,
    pub(super) numbers: Vec<(u32, f64)>,
    pub(super) least: Option<Extreme<'a>>,
    pub(super) most: Option<Extreme<'a>>,
    pub(super) times: usize,
    pub(super) earliest: &'a str,
    pub(super) latest: &'a str,
    /// Empty if there are too many.
    pub(super) categories: Vec<Category<'a>>,
    has_categories: bool,
    last: usize,
    /// The end of a span that the column holds, and its times.
    pub(super) edge: Option<Edge>,
    pub(super) moments: Vec<(u32, Moment)>,
}

impl<'a> Column<'a> {
    pub(super) fn of(name: &'a str) -> Column<'a> {
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
            edge: edge(name).map(|(edge, _)| edge),
            moments: Vec::new(),
        }
    }

    /// Returns the value that every row has, if there is one.
    pub(in crate::compress) fn constant(&self, rows: usize) -> Option<&'a str> {
        match self.categories[..] {
            [only] if only.count == rows && rows > 1 => Some(only.cell.1),
            _ => None,
        }
    }

    pub(super) fn add(&mut self, row: usize, kind: CellKind, cell: &'a str) {
        self.filled += 1;
        self.kinds[kind as usize] += 1;
        if self.edge.is_some()
            && let Some(moment) = Moment::of(cell)
        {
            // OK because a text has fewer rows than a tape has places.
            self.moments.push((u32::try_from(row).unwrap_or(u32::MAX), moment));
        }
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
        // NaN is neither less nor greater than any number.
        let Some(number) = source.parse::<f64>().ok().filter(|number| !number.is_nan()) else { return };
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

    /// Returns the numbers at these percentiles, by nearest rank. O(numbers).
    pub(super) fn percentiles<const N: usize>(&self, hundredths: [usize; N]) -> [f64; N] {
        let mut numbers: Vec<f64> = self.numbers.iter().map(|(_, number)| *number).collect();
        hundredths.map(|part| {
            let rank = numbers.len().saturating_sub(1) * part / 100;
            *numbers.select_nth_unstable_by(rank, f64::total_cmp).1
        })
    }

    /// Returns the rows of the numbers that are farthest beyond the fences.
    pub(super) fn outliers(&self) -> Vec<usize> {
        if self.numbers.len() < FEWEST_NUMBERS {
            return Vec::new();
        }
        let [low, high] = self.percentiles([25, 75]);
        let fence = FENCE * (high - low);
        let beyond = |number: f64| (low - number).max(number - high) - fence;
        // If most numbers are the same, every other number would be an outlier, so none is.
        let is_outlier = |number: f64| fence > 0.0 && beyond(number) > 0.0;
        let mut found: Vec<(u32, f64)> =
            self.numbers.iter().copied().filter(|(_, number)| is_outlier(*number)).collect();
        if is_duration(self.name) {
            // Of durations, the longest are useful even if the others are close.
            found.clone_from(&self.numbers);
        }
        let most = OUTLIERS.min(found.len());
        if most > 0 {
            // Only the first ones are needed in order.
            found.select_nth_unstable_by(most - 1, |a, b| beyond(b.1).total_cmp(&beyond(a.1)).then(a.0.cmp(&b.0)));
            found.truncate(most);
        }
        found.sort_by(|a, b| beyond(b.1).total_cmp(&beyond(a.1)).then(a.0.cmp(&b.0)));
        found.into_iter().map(|(row, _)| row as usize).collect()
    }

    /// Returns the first row of each rare category.
    pub(super) fn rare(&self, rows: usize) -> impl Iterator<Item = usize> + '_ {
        let telling = self.categories.len() * 4 <= self.filled;
        self.categories.iter().filter(move |category| telling && category.count * RARE < rows).map(|found| found.row)
    }
}

/// True if a column with this name holds durations.
pub(super) fn is_duration(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["duration", "elapsed", "latency"].iter().any(|word| name.contains(word))
        || ["_ms", "_us", "_ns"].iter().any(|unit| name.ends_with(unit))
}
