//! Describes a column in one line.

use super::column::{CellKind, Column, FEWEST_NUMBERS, is_duration};
use crate::compress::series::rounded;
use crate::numbers::thousands;

/// Number of categories that are named, most frequent first.
const NAMED: usize = 8;

impl Column<'_> {
    /// Describes the column in one line; `None` if that says no more than its rows.
    pub(super) fn summary(&self, rows: usize) -> Option<String> {
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
        // Categories say nothing if there are nearly as many as rows.
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

    /// True if each number is larger than the one before, as ids are.
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

    fn named(&self) -> String {
        let mut categories = self.categories.clone();
        categories.sort_by_key(|category| (usize::MAX - category.count, category.row));
        let mut named: Vec<String> = categories
            .iter()
            .take(NAMED)
            .map(|category| format!("{} ({})", quoted(category.cell.1), thousands(category.count)))
            .collect();
        if categories.len() > NAMED {
            let others = categories.len() - NAMED;
            named.push(format!("{others} other{}", if others == 1 { "" } else { "s" }));
        }
        named.join(", ")
    }
}

/// Returns a cell for use in a sentence, in quotes if it could be mistaken for more of the sentence.
fn quoted(cell: &str) -> String {
    if cell.is_empty() || cell.contains([' ', ',', '(']) { format!("\"{cell}\"") } else { cell.to_owned() }
}
