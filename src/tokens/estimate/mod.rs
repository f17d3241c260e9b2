//! Estimates for families whose tokenizer is not public.

mod calibration;
mod letters;
mod scale;
mod weights;

pub use calibration::{Calibration, Learned, Remainder};
pub use scale::Scale;

use super::{CountTokens, MediaRule, Overhead, Precision, TextKind};
use crate::error::{Error, Result};
use weights::{BEGINNING, CLASSES, UNIT, WEIGHTS, in_a_run, pair};

/// Tokens that Anthropic bills for a call and its result beside their texts, half of it for each: ids, names of fields,
/// the frame. Fitted with the weights, on texts without the ids.
const CALL_OR_RESULT: usize = 40;
/// The same for a block of reasoning.
const REASONING: usize = 10;
/// The same for any other block.
const BLOCK: usize = 1;

/// From this many equal bytes on, aligned as the text is read, a run has its own weight.
const RUN: usize = 64;

/// Ratios are kept in whole numbers, so that every machine gives the same answer: in millionths.
const MILLIONTHS: usize = 1_000_000;

/// Characters a token as the systems that ullage replaces have them, for those who want their numbers. Against the
/// tokenizers that they stand for they count 24 % (Kimi) to 42 % (Gemini) too little, and 64 % too much at 2.5.
pub const NAMED_RATIOS: [(&str, f64); 6] =
    [("claude", 3.7), ("gpt", 4.0), ("kimi-k2", 3.8), ("gemini", 4.2), ("default", 3.7), ("sre-agent", 2.5)];

/// Returns the characters for a token by their name in [`NAMED_RATIOS`].
///
/// # Errors
/// `Policy` if there is none of that name.
pub fn ratio_named(name: &str) -> Result<f64> {
    let known = NAMED_RATIOS.iter().find(|(known, _)| *known == name);
    known.map(|(_, ratio)| *ratio).ok_or_else(|| Error::Policy {
        setting: "ratio".to_owned(),
        problem: format!("unknown ratio '{name}'; known are {}", NAMED_RATIOS.map(|(name, _)| name).join(", ")),
    })
}

/// Characters a token that make sense. No tokenizer makes ten tokens of a character, which has at most four bytes, and the
/// longest tokens, drawn lines and white space, are far shorter than a thousand.
const LEAST_RATIO: f64 = 0.1;
const GREATEST_RATIO: f64 = 1_000.0;

/// The way in which an estimate reads a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Every byte by what is before it.
    Pairs,
    /// Characters a token, in millionths.
    Ratio(usize),
}

/// Estimates the tokens of a text without its vocabulary.
///
/// One pass over the text at memory speed, in integers, so that every machine gives the same answer. What it was fitted
/// on and how far it is off is in `docs/counting.md`.
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
    /// The estimate for Claude, fitted on what its provider reported.
    pub fn claude() -> Self {
        Self { name: "claude".to_owned(), reading: Reading::Pairs }
    }

    /// Returns the ratio with this name in [`NAMED_RATIOS`].
    ///
    /// # Errors
    /// `Policy` if there is none.
    pub fn named_ratio(name: &str) -> Result<Self> {
        Ok(Self::ratio(ratio_named(name)?)?.named(name))
    }

    /// Counts a token for this many characters of any text, and nothing for the frame.
    ///
    /// # Errors
    /// `Policy` if that is not from 0.1 to 1,000.
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

    /// The same estimate under another name.
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
            // The frame of a call has it.
            Reading::Pairs if kind == TextKind::Identifier => 0,
            // No tokenizer of bytes makes more tokens than there are bytes.
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
                // The most characters that still make `limit` tokens when rounded up.
                let most = limit.saturating_mul(ratio) / MILLIONTHS;
                text.len() <= most || text.chars().nth(most).is_none()
            }
        }
    }

    fn overhead(&self) -> Overhead {
        match self.reading {
            // The fit has the frame of a message in that of its blocks.
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

/// The weights of a short text after a byte of the class `before`.
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

/// The weights of `text` together, or of as much of it as takes them over `limit`. Only an empty text has none.
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
