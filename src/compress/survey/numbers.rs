//! Describes numbers briefly: count, range and percentiles.

use serde_json::{Map, Number, Value};

use crate::compress::series::rounded;

/// The percentiles that are given.
const PERCENTILES: [(&str, usize); 3] = [("p50", 50), ("p95", 95), ("p99", 99)];

/// The collected numbers.
#[derive(Debug, Default, Clone)]
pub(super) struct Numbers(Vec<f64>);

impl Numbers {
    /// Adds a number, unless it is not finite.
    pub(super) fn push(&mut self, number: f64) {
        if number.is_finite() {
            self.0.push(number);
        }
    }

    pub(super) fn extend(&mut self, numbers: &[f64]) {
        self.0.extend(numbers.iter().filter(|number| number.is_finite()));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Returns the count, least, most, mean and percentiles. Percentiles are by nearest rank, so they occur. Empty
    /// without numbers. O(n).
    pub(super) fn statistics(&self) -> Map<String, Value> {
        let mut said = Map::new();
        let mut numbers = self.0.clone();
        if numbers.is_empty() {
            return said;
        }
        let mut at = |hundredths: usize| {
            let rank = (numbers.len() - 1) * hundredths / 100;
            number(*numbers.select_nth_unstable_by(rank, f64::total_cmp).1)
        };
        let (least, most) = (at(0), at(100));
        let percentiles = PERCENTILES.map(|(name, part)| (name, at(part)));
        said.insert("count".to_owned(), self.len().into());
        said.insert("min".to_owned(), least);
        said.insert("max".to_owned(), most);
        said.insert("mean".to_owned(), number(self.mean()));
        said.extend(percentiles.map(|(name, value)| (name.to_owned(), value)));
        said
    }

    fn mean(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a mean of so many numbers is no more exact")]
        let count = self.0.len() as f64;
        // Divided first, because the sum of large numbers may overflow.
        self.0.iter().map(|number| number / count).sum()
    }
}

/// Rounds a number to six digits, and makes it an integer if it is whole.
pub(super) fn number(value: f64) -> Value {
    rounded(value).parse::<Number>().map_or(Value::Null, Value::Number)
}
