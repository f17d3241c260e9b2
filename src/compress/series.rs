//! Statistics of numbers in order: count, range, jumps.

use crate::numbers::thousands;

/// Numbers, each with its time, if it has one.
#[derive(Debug, Default)]
pub(super) struct Series<'a> {
    times: Vec<&'a str>,
    values: Vec<(f64, &'a str)>,
}

/// A step is a jump if it is this many interquartile ranges beyond the quartiles. Outliers of a column have the same
/// limit.
const FENCE: f64 = 3.0;

/// Number of jumps that are listed, largest first.
const JUMPS: usize = 3;

/// Fewer steps have no useful quartiles.
const FEWEST_STEPS: usize = 8;

impl<'a> Series<'a> {
    /// Adds a number as the source writes it. `None` if it is not a number.
    pub(super) fn push(&mut self, time: Option<&'a str>, source: &'a str) -> Option<()> {
        let value = source.parse::<f64>().ok()?;
        self.times.extend(time);
        self.values.push((value, source));
        Some(())
    }

    /// Describes the numbers. All figures but the mean occur in the source as written. O(n).
    pub(super) fn digest(&self, noun: &str) -> String {
        let count = thousands(self.values.len());
        let number = |place: usize| self.values[place].0;
        let mut finite: Vec<usize> = (0..self.values.len()).filter(|place| number(*place).is_finite()).collect();
        let by_value = |a: &usize, b: &usize| number(*a).total_cmp(&number(*b)).then(a.cmp(b));
        let lowest = finite.iter().copied().min_by(by_value);
        // Of equal numbers, the first.
        let highest = finite.iter().copied().max_by(|a, b| number(*a).total_cmp(&number(*b)).then(b.cmp(a)));
        let (Some(lowest), Some(highest)) = (lowest, highest) else { return format!("{count} {noun}") };
        let source = |place: usize| self.values[place].1;
        let is_one = number(lowest).total_cmp(&number(highest)).is_eq();
        if is_one && finite.len() == self.values.len() {
            return format!("{count} {noun}{}, all {}", self.span(), source(lowest));
        }
        let mean = self.mean(&finite);
        // By the nearest rank, so that the figures occur in the source.
        let [median, most] = [50, 95].map(|hundredths| {
            let rank = (finite.len() - 1) * hundredths / 100;
            source(*finite.select_nth_unstable_by(rank, by_value).1)
        });
        let last = self.values.len() - 1;
        format!(
            "{count} {noun}{}: first {}, last {}, min {}{}, max {}{}, mean {}, p50 {}, p95 {}{}",
            self.span(),
            source(0),
            source(last),
            source(lowest),
            self.at(lowest),
            source(highest),
            self.at(highest),
            mean,
            median,
            most,
            self.jumps()
        )
    }

    fn span(&self) -> String {
        match (self.times.first(), self.times.last()) {
            (Some(first), Some(last)) => format!(" from {first} to {last}"),
            _ => String::new(),
        }
    }

    fn at(&self, place: usize) -> String {
        self.times.get(place).map(|time| format!(" at {time}")).unwrap_or_default()
    }

    fn mean(&self, finite: &[usize]) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a mean of so many numbers is no more exact")]
        let count = finite.len() as f64;
        let mean = finite.iter().map(|place| self.values[*place].0 / count).sum::<f64>();
        rounded(mean)
    }

    /// Describes the steps between neighbours that are far larger than the others.
    fn jumps(&self) -> String {
        let steps: Vec<(usize, f64)> = self
            .values
            .windows(2)
            .enumerate()
            .map(|(place, pair)| (place + 1, pair[1].0 - pair[0].0))
            .filter(|(_, step)| step.is_finite())
            .collect();
        if steps.len() < FEWEST_STEPS || self.times.len() != self.values.len() {
            return String::new();
        }
        let mut sizes: Vec<f64> = steps.iter().map(|(_, step)| *step).collect();
        let [low, high] = [1, 3].map(|quarter| {
            let rank = sizes.len() * quarter / 4;
            *sizes.select_nth_unstable_by(rank, f64::total_cmp).1
        });
        let beyond = |step: f64| (low - step).max(step - high);
        let mut jumps: Vec<(usize, f64)> =
            steps.into_iter().filter(|(_, step)| high > low && beyond(*step) > FENCE * (high - low)).collect();
        jumps.sort_by(|a, b| beyond(b.1).total_cmp(&beyond(a.1)).then(a.0.cmp(&b.0)));
        jumps.truncate(JUMPS);
        jumps.sort_unstable_by_key(|(place, _)| *place);
        let said: Vec<String> = jumps
            .iter()
            .map(|(place, _)| {
                format!("from {} to {} at {}", self.values[place - 1].1, self.values[*place].1, self.times[*place])
            })
            .collect();
        if said.is_empty() { String::new() } else { format!(", jumps {}", said.join(", ")) }
    }
}

/// Formats a computed number with six digits.
pub(super) fn rounded(number: f64) -> String {
    /// The number of significant digits that are written.
    const DIGITS: i32 = 6;
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    #[expect(clippy::cast_possible_truncation, reason = "the logarithm of a number is small")]
    let magnitude = number.abs().log10().floor() as i32;
    let scale = 10_f64.powi((DIGITS - 1 - magnitude).clamp(-300, 300));
    format!("{}", (number * scale).round() / scale)
}
