//! Estimates for model families without a public tokenizer.

mod calibration;
mod letters;
mod scale;
mod weights;

pub use calibration::{Calibration, Learned, Remainder};
pub use scale::Scale;

use super::{CountTokens, MediaRule, Overhead, Precision, TextKind};
use crate::error::{Error, Result};
use weights::{BEGINNING, CLASSES, UNIT, WEIGHTS, in_a_run, pair};

/// Tokens that Anthropic bills for a call and its result beside their texts, half for each: ids, names of fields, the
/// frame. Fitted with the weights, on texts without the ids.
const CALL_OR_RESULT: usize = 40;
/// The same for a block of reasoning.
const REASONING: usize = 10;
/// The same for any other block.
const BLOCK: usize = 1;

/// A run of at least this many equal bytes has its own weight.
const RUN: usize = 64;

/// Ratios are integers in millionths, so that every machine gives the same answer.
const MILLIONTHS: usize = 1_000_000;

/// Characters for a token in the systems that ullage replaces, for users who need their numbers. Compared with the
/// models' own tokenizers they count 24 % (Kimi) to 42 % (Gemini) too few tokens, and 64 % too many at 2.5.
pub const NAMED_RATIOS: [(&str, f64); 6] =
    [("claude", 3.7), ("gpt", 4.0), ("kimi-k2", 3.8), ("gemini", 4.2), ("default", 3.7), ("sre-agent", 2.5)];

/// Returns the characters for a token by their name in [`NAMED_RATIOS`].
///
/// # Errors
/// `Policy` if there is no such name.
pub fn ratio_named(name: &str) -> Result<f64> {
    let known = NAMED_RATIOS.iter().find(|(known, _)| *known == name);
    known.map(|(_, ratio)| *ratio).ok_or_else(|| Error::Policy {
        setting: "ratio".to_owned(),
        problem: format!("unknown ratio '{name}'; known are {}", NAMED_RATIOS.map(|(name, _)| name).join(", ")),
    })
}

/// The limits of a sensible ratio. A character has at most four bytes, so no tokenizer makes ten tokens of it. The
/// longest tokens, drawn lines and white space, are far shorter than a thousand characters.
const LEAST_RATIO: f64 = 0.1;
const GREATEST_RATIO: f64 = 1_000.0;

/// The method by which an estimate reads a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The cost of every byte depends on the byte before it.
    Pairs,
    /// Characters for a token, in millionths.
    Ratio(usize),
}

/// Estimates the tokens of a text without its vocabulary.
///
/// It passes over the text once, at memory speed and in integers, so that every machine gives the same answer.
/// `docs/counting.md` has the data that it was fitted to, and its error.
///
/// ```
/// use ullage::tokens::{CountTokens, Estimate, TextKind};
///
/// let estimate = Estimate::claude();
/// assert_eq!(estimate.count("The quick brown fox jumps over the lazy dog.", TextKind::Prose), 14);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    name: String,
    reading: Reading,
}

impl Estimate {
    /// Returns the estimate for Claude, fitted to the provider's reports.
    pub fn claude() -> Self {
        Self { name: "claude".to_owned(), reading: Reading::Pairs }
    }

    /// Returns the estimate by the ratio with this name in [`NAMED_RATIOS`].
    ///
    /// # Errors
    /// `Policy` if there is no such name.
    pub fn named_ratio(name: &str) -> Result<Self> {
        Ok(Self::ratio(ratio_named(name)?)?.named(name))
    }

    /// Returns an estimate that counts a token for this many characters of any text, and nothing for the frame.
    ///
    /// # Errors
    /// `Policy` if the number is not from 0.1 to 1,000.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // 10^5 to 10^9.
    pub fn ratio(characters_per_token: f64) -> Result<Self> {
        if !(LEAST_RATIO..=GREATEST_RATIO).contains(&characters_per_token) {
            return Err(Error::Policy {
                setting: "ratio".to_owned(),
                problem: format!(
                    "{characters_per_token} characters a token; it must be from {LEAST_RATIO} to {GREATEST_RATIO}"
                ),
            });
        }
        let millionths = (characters_per_token * MILLIONTHS as f64).round() as usize;
        Ok(Self { name: format!("{characters_per_token} characters a token"), reading: Reading::Ratio(millionths) })
    }

    /// Returns the estimate under another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }
}

impl CountTokens for Estimate {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&self, text: &str, kind: TextKind) -> usize {
        match self.reading {
            // The frame of a call includes its id.
            Reading::Pairs if kind == TextKind::Identifier => 0,
            // No tokenizer makes more tokens than bytes.
            Reading::Pairs => tokens(weight(text.as_bytes(), u64::MAX)).min(text.len()),
            Reading::Ratio(ratio) => text.chars().count().saturating_mul(MILLIONTHS).div_ceil(ratio),
        }
    }

    fn fits(&self, text: &str, kind: TextKind, limit: usize) -> bool {
        match self.reading {
            Reading::Pairs if kind == TextKind::Identifier => true,
            Reading::Pairs => {
                let most = (limit as u64).saturating_mul(UNIT);
                text.len() <= limit || weight(text.as_bytes(), most) <= most
            }
            Reading::Ratio(ratio) => {
                // The largest number of characters that gives `limit` tokens when rounded up.
                let most = limit.saturating_mul(ratio) / MILLIONTHS;
                text.len() <= most || text.chars().nth(most).is_none()
            }
        }
    }

    fn overhead(&self) -> Overhead {
        match self.reading {
            // In the fit, the frame of a message is part of its blocks' frames.
            Reading::Pairs => Overhead {
                message: 0,
                call: CALL_OR_RESULT,
                result: CALL_OR_RESULT,
                reasoning: REASONING,
                block: BLOCK,
            },
            Reading::Ratio(_) => Overhead::NONE,
        }
    }

    fn precision(&self) -> Precision {
        Precision::Estimated
    }

    fn media_rule(&self) -> MediaRule {
        MediaRule::Dearest
    }
}

/// Returns the weights of a short text after a byte of the class `before`.
#[inline]
fn changes(text: &[u8], before: &mut u8) -> u32 {
    let mut sum = 0;
    for &byte in text {
        let class = CLASSES[usize::from(byte)];
        sum += u32::from(WEIGHTS[pair(*before, class)]);
        *before = class;
    }
    sum
}

fn tokens(weight: u64) -> usize {
    usize::try_from(weight.div_ceil(UNIT)).unwrap_or(usize::MAX)
}

/// Returns the sum of the weights of `text`, or of the part of it that exceeds `limit`. Only an empty text has none.
fn weight(text: &[u8], limit: u64) -> u64 {
    let mut total = u64::from(!text.is_empty());
    let mut before = BEGINNING;
    let mut last = None;
    let (blocks, rest) = text.as_chunks::<RUN>();
    for block in blocks {
        if total > limit {
            return total;
        }
        let first = block[0];
        if last == Some(first) && *block == [first; RUN] {
            total += RUN as u64 * in_a_run(first);
            continue;
        }
        total += u64::from(changes(block, &mut before));
        last = Some(block[RUN - 1]);
    }
    total + u64::from(changes(rest, &mut before))
}
