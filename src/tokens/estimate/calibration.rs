//! Corrects a counter by the provider's reports.
//!
//! A provider reports the size of a whole prompt: the messages as its own tokenizer sees them, and beside them the
//! system prompt, the tools and what it adds unseen. From one request of a conversation to the next only the messages
//! grow. So how much the report grew, over how much the count grew, says how far the counter is off (the scale), and
//! what is then left of the report is what is beside the messages.
//!
//! Both are medians, of ratios over many requests and of remainders over the last few, so that a report that is wrong,
//! or a request with something hidden in it, moves them little.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::scale::Scale;
use crate::shared::Shared;

/// Ratios that are remembered, over all conversations. On recorded sessions the median error after ten requests was larger
/// by a fifth with 16 of them, and by a twentieth with 64.
const RATIOS: usize = 200;

/// The ratio that a calibration starts with.
const RATIO_AT_FIRST: f64 = 1.0;

/// A message that grows a conversation by less says more about the frame than about the text.
const SMALLEST_GROWTH: usize = 30;

/// A ratio outside is no matter of tokenizers: something else was added or taken away. Between the tokenizers in use, and
/// between any of them and a bad ratio of characters, it stays inside.
const LEAST_RATIO: f64 = 0.4;
const GREATEST_RATIO: f64 = 2.5;

/// The first report of a conversation says something about the scale only where it is this close to the count, so that
/// little is beside the messages.
const CLOSE: f64 = 0.25;

/// Remainders that are remembered for each conversation: with five, two wild reports change nothing.
const REMAINDERS: usize = 5;

/// The tokens beside the messages are used from this many reports of a conversation on, so that a single wild report,
/// even the first, is outvoted.
const REPORTS_BELIEVED: usize = 3;

/// Conversations that are remembered; the one that was not observed for longest is forgotten.
const CONVERSATIONS: usize = 64;

/// A report beyond this many times the count and this much beside it is a mistake. The largest sets of tools in use take
/// less than the second.
const MOST_TIMES: usize = 4;
const MOST_BESIDE: usize = 200_000;

/// True if a report taught something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learned {
    /// It is remembered. One that is only odd counts little among the others.
    Something,
    /// It cannot be the size of this request, and is not remembered; or it could not be remembered now.
    Nothing,
}

/// A counter's correction so far. Shared freely between threads.
#[derive(Debug)]
pub struct Calibration {
    /// The scale, in hundredths: a count has it without waiting.
    scale: AtomicUsize,
    known: Shared<TaughtConversation>,
}

impl Default for Calibration {
    fn default() -> Calibration {
        Calibration { scale: AtomicUsize::new(Scale::ONE.hundredths), known: Shared::default() }
    }
}

#[derive(Debug, Default)]
struct TaughtConversation {
    /// Growth reported over growth counted, oldest first.
    ratios: VecDeque<f64>,
    /// By their beginnings; the one observed last at the end.
    conversations: Vec<(u128, VecDeque<Point>)>,
}

/// A request: what was counted for its messages, unscaled, and what the provider reported.
#[derive(Debug, Clone, Copy)]
struct Point {
    counted: usize,
    reported: usize,
}

/// The part of a conversation's reports beyond the count of its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remainder {
    /// The tokens that the provider reported.
    reported: usize,
    /// The count of the messages, at the scale.
    counted: usize,
}

impl Remainder {
    /// Tokens that are beside the messages.
    pub fn beside(self) -> usize {
        self.reported.saturating_sub(self.counted)
    }

    /// Tokens of a request of the conversation whose messages count `total`. Where less was reported than counted, so much
    /// less; but a shorter history than that one only in proportion, since it is still something.
    pub fn request(self, total: usize) -> usize {
        let Some(less) = self.counted.checked_sub(self.reported) else {
            return total.saturating_add(self.beside());
        };
        let part = total as u128 * self.reported as u128 / self.counted.max(1) as u128;
        let part = usize::try_from(part).unwrap_or(usize::MAX).max(usize::from(total > 0));
        part.max(total.saturating_sub(less))
    }
}

impl Calibration {
    /// The scale learned; [`Scale::ONE`] at first.
    pub fn scale(&self) -> Scale {
        Scale { hundredths: self.scale.load(Ordering::Relaxed) }
    }

    /// Returns the tokens that the provider counts beyond the messages of the conversation with this beginning: the
    /// median of the last reports less the scaled counts. `None` before three reports.
    pub fn remainder(&self, beginning: u128) -> Option<Remainder> {
        let scale = self.scale();
        let known = self.known.lock()?;
        let (_, points) = known.conversations.iter().find(|(known, _)| *known == beginning)?;
        if points.len() < REPORTS_BELIEVED {
            return None;
        }
        let remainder = |point: &Point| Remainder { reported: point.reported, counted: scale.of(point.counted) };
        let mut remainders: Vec<Remainder> = points.iter().map(remainder).collect();
        remainders.sort_unstable_by_key(|remainder| remainder.reported as i128 - remainder.counted as i128);
        // Of an even number, the greater: too large a reserve does less harm than too small a one.
        remainders.get(remainders.len() / 2).copied()
    }

    /// Learns that the provider reported `reported` tokens for a request whose messages count `counted`, unscaled, in the
    /// conversation with this beginning. O(n log n) in the ratios that are remembered, which are at most 200, and O(n) in the
    /// conversations, at most 64.
    pub fn observe(&self, beginning: u128, counted: usize, reported: usize) -> Learned {
        let most = counted.saturating_mul(MOST_TIMES).saturating_add(MOST_BESIDE);
        if reported == 0 || reported > most || reported.saturating_mul(MOST_TIMES) < counted {
            return Learned::Nothing;
        }
        let Some(mut known) = self.known.lock() else { return Learned::Nothing };
        let point = Point { counted, reported };
        let mut points = known.take(beginning);
        let ratio = match points.back() {
            Some(last) => last.growth_to(point),
            None => point.alone(self.scale()),
        };
        if points.len() == REMAINDERS {
            points.pop_front();
        }
        points.push_back(point);
        if known.conversations.len() == CONVERSATIONS {
            known.conversations.remove(0);
        }
        known.conversations.push((beginning, points));
        if let Some(ratio) = ratio {
            self.scale.store(known.learn(ratio).hundredths, Ordering::Relaxed);
        }
        Learned::Something
    }
}

impl TaughtConversation {
    fn take(&mut self, beginning: u128) -> VecDeque<Point> {
        match self.conversations.iter().position(|(known, _)| *known == beginning) {
            Some(at) => self.conversations.remove(at).1,
            None => VecDeque::new(),
        }
    }

    /// The scale when this ratio is learned too: the median. Of an even number the one of the middle two that is nearer
    /// to what one begins with, so that no odd ratio moves it before another agrees.
    fn learn(&mut self, ratio: f64) -> Scale {
        if self.ratios.len() == RATIOS {
            self.ratios.pop_front();
        }
        self.ratios.push_back(ratio);
        let mut sorted: Vec<f64> = self.ratios.iter().copied().collect();
        sorted.push(RATIO_AT_FIRST);
        sorted.sort_unstable_by(f64::total_cmp);
        let (below, above) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        // It is one of them itself, so that both are above it or both below.
        Scale::near(if below < RATIO_AT_FIRST { above } else { below })
    }
}

impl Point {
    /// The ratio of the growth from this request to a later one, if it says something about tokens.
    fn growth_to(self, later: Point) -> Option<f64> {
        let counted = later.counted.checked_sub(self.counted)?;
        let reported = later.reported.checked_sub(self.reported)?;
        if counted < SMALLEST_GROWTH {
            return None;
        }
        let ratio = ratio(reported, counted);
        (LEAST_RATIO..=GREATEST_RATIO).contains(&ratio).then_some(ratio)
    }

    /// The ratio of the request itself, if hardly anything is beside its messages.
    fn alone(self, scale: Scale) -> Option<f64> {
        let ratio = ratio(self.reported, self.counted);
        (self.counted >= SMALLEST_GROWTH && (ratio / scale.factor() - 1.0).abs() <= CLOSE).then_some(ratio)
    }
}

#[allow(clippy::cast_precision_loss)] // Token counts are far below 2^52.
fn ratio(reported: usize, counted: usize) -> f64 {
    reported as f64 / counted as f64
}
