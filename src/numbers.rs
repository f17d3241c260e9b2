//! Numbers for people, and shares of numbers.

/// Formats a number with thousands separators.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns a share of a number of tokens, rounded down. O(1).
// Token counts stay far below 2^52, below which integers are exact.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn share(of: usize, part: f64) -> usize {
    (of as f64 * part) as usize
}

/// Returns the share of `tokens` in `whole`, at most 1. O(1).
#[allow(clippy::cast_precision_loss)] // As above.
pub fn part_of(tokens: usize, whole: usize) -> f64 {
    (tokens as f64 / whole.max(1) as f64).min(1.0)
}
