//! The line numbers that tools print.

use crate::anchors::strip_line_number;

/// The separator between a line's number and the line, as in the output of `cat -n`.
pub(super) const NUMBER_END: char = '\t';

/// Number of lines that are checked to find out if a text has line numbers.
const LOOKED_AT: usize = 8;

/// The numbering of a source's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbering {
    /// By their position in the text.
    Counted,
    /// By the printed numbers. A line without a number follows the line before it.
    Printed,
}

impl Numbering {
    /// Returns the numbering of `text` from an older digest, in which only the first line of each run has a number.
    pub(super) fn of_kept(text: &str) -> Numbering {
        if begins_a_run(text) { Numbering::Printed } else { Numbering::of(text) }
    }

    /// Returns the numbering of `text`: printed, if most of the first lines have a number and the numbers grow.
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

/// Splits a line into its printed number and the rest.
pub(super) fn numbered_line(line: &str) -> Option<(u32, &str)> {
    let rest = strip_line_number(line);
    let digits = line[..line.len() - rest.len()].trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    Some((digits[..end].parse().ok()?, rest))
}
