//! The numbers that lines have, where a tool has put them there.

use crate::anchors::strip_line_number;

/// It stands between the number of a line and the line, as in what `cat -n` prints.
pub(super) const NUMBER_END: char = '\t';

/// Lines of a text that are looked at to tell whether they are numbered.
const LOOKED_AT: usize = 8;

/// Numbers the lines of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbering {
    /// By their place in the text.
    Counted,
    /// By the numbers in front of them; a line without one follows the line before it.
    Printed,
}

impl Numbering {
    /// Numbering of `text` that an older digest kept: only the first line of each run has a number.
    pub(super) fn of_kept(text: &str) -> Numbering {
        if begins_a_run(text) { Numbering::Printed } else { Numbering::of(text) }
    }

    /// Numbering of the lines of `text`: as printed if most of the first lines have a number and the numbers grow.
    pub(super) fn of(text: &str) -> Numbering {
        let first = text.lines().filter(|line| !line.trim().is_empty()).take(LOOKED_AT);
        let (mut seen, mut numbered, mut last) = (0, 0, 0);
        for line in first {
            seen += 1;
            if let Some((number, _)) = numbered_line(line) {
                if number <= last {
                    return Numbering::Counted;
                }
                last = number;
                numbered += 1;
            }
        }
        if numbered * 2 > seen { Numbering::Printed } else { Numbering::Counted }
    }
}

fn begins_a_run(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    digits.starts_with(NUMBER_END) && numbered_line(line).is_some()
}

/// The number in front of a line, and what is behind it.
pub(super) fn numbered_line(line: &str) -> Option<(u32, &str)> {
    let rest = strip_line_number(line);
    let digits = line[..line.len() - rest.len()].trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    Some((digits[..end].parse().ok()?, rest))
}
