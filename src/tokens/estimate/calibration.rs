//! Corrects a counter by the provider's reports.
//!
//! A provider reports the size of a whole prompt. It includes the messages as its own tokenizer sees them, the system
//! prompt, the tools, and hidden additions. From one request of a conversation to the next only the messages grow. So
//! the growth of the report divided by the growth of the count is the counter's error (the scale). The rest of the
//! report is the size of everything beside the messages.
//!
//! Both are medians: of ratios over many requests, and of rests over the last few. So a wrong report, or a request with
//! hidden content, moves them little.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::scale::Scale;
use crate::shared::Shared;

/// Number of remembered ratios, over all conversations. On recorded sessions the median error after ten requests was a
/// fifth larger with 16 ratios, and a twentieth larger with 64.
const RATIOS: usize = 200;

/// The ratio that a calibration starts with.
const RATIO_AT_FIRST: f64 = 1.0;

/// If a conversation grows by fewer tokens, the ratio shows the frame of a message rather than its text.
const SMALLEST_GROWTH: usize = 30;

/// The limits of a plausible ratio. The ratios between the tokenizers in use, and between any of them and a poor
/// estimate by characters, are within them. Outside them, something else was added or removed.
const LEAST_RATIO: f64 = 0.4;
const GREATEST_RATIO: f64 = 2.5;

/// The first report of a conversation is used for the scale only if it is this close to the count. Then little is
/// beside the messages.
const CLOSE: f64 = 0.25;

/// Number of remembered rests for each conversation. With five, two wrong reports change nothing.
const REMAINDERS: usize = 5;

/// The tokens beside the messages are used after this many reports of a conversation, so that a single wrong report,
/// even the first, is outvoted.
const REPORTS_BELIEVED: usize = 3;

/// Number of remembered conversations. The least recently observed one is dropped.
const CONVERSATIONS: usize = 64;

/// A report is a mistake if it exceeds this multiple of the count plus this many tokens. The largest sets of tools in
/// use take fewer tokens.
const MOST_TIMES: usize = 4;
const MOST_BESIDE: usize = 200_000;

/// The use that was made of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learned {
    /// It is remembered. A single odd report counts little among the others.
    Something,
    /// It is not remembered: it cannot be the size of this request, or another thread holds the memory.
    Nothing,
}

/// A counter's correction so far. Threads may share it.
#[derive(Debug)]
pub struct Calibration {
    /// The scale in hundredths. Counting reads it without a lock.
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
    /// Reported growth divided by counted growth, oldest first.
    ratios: VecDeque<f64>,
    /// Conversations by their beginnings, last observed last.
    conversations: Vec<(u128, VecDeque<Point>)>,
}

/// A request: the unscaled count of its messages, and the provider's report.
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
    /// The scaled count of the messages.
    counted: usize,
}

impl Remainder {
    /// Returns the tokens beside the messages.
    pub fn beside(self) -> usize {
        self.reported.saturating_sub(self.counted)
    }

    /// Returns the tokens of a request of the conversation whose messages count `total`. If less was reported than
    /// counted, the difference is subtracted; for a shorter history only in proportion, so that the result stays
    /// positive.
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
    /// Returns the learned scale; [`Scale::ONE`] at first.
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
        // Of an even number, the larger: too large a reserve does less harm than too small a one.
        remainders.get(remainders.len() / 2).copied()
    }

    /// Learns that the provider reported `reported` tokens for a request whose messages have the unscaled count
    /// `counted`, in the conversation with this beginning. O(n log n) in the remembered ratios, at most 200, and O(n)
    /// in the conversations, at most 64.
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

    /// Adds a ratio and returns the scale, the median. Of an even number it is the one of the middle two that is nearer
    /// to the initial ratio, so that no single odd ratio moves it.
    fn learn(&mut self, ratio: f64) -> Scale {
        if self.ratios.len() == RATIOS {
            self.ratios.pop_front();
        }
        self.ratios.push_back(ratio);
        let mut sorted: Vec<f64> = self.ratios.iter().copied().collect();
        sorted.push(RATIO_AT_FIRST);
        sorted.sort_unstable_by(f64::total_cmp);
        let (below, above) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        // The initial ratio is one of them, so both are above it or both are below it.
        Scale::near(if below < RATIO_AT_FIRST { above } else { below })
    }
}

impl Point {
    /// Returns the ratio of the growth from this request to a later one, if it says something about tokens.
    fn growth_to(self, later: Point) -> Option<f64> {
        let counted = later.counted.checked_sub(self.counted)?;
        let reported = later.reported.checked_sub(self.reported)?;
        if counted < SMALLEST_GROWTH {
            return None;
        }
        let ratio = ratio(reported, counted);
        (LEAST_RATIO..=GREATEST_RATIO).contains(&ratio).then_some(ratio)
    }

    /// Returns the ratio of the request itself, if hardly anything is beside its messages.
    fn alone(self, scale: Scale) -> Option<f64> {
        let ratio = ratio(self.reported, self.counted);
        (self.counted >= SMALLEST_GROWTH && (ratio / scale.factor() - 1.0).abs() <= CLOSE).then_some(ratio)
    }
}

#[allow(clippy::cast_precision_loss)] // Token counts are far below 2^52.
fn ratio(reported: usize, counted: usize) -> f64 {
    reported as f64 / counted as f64
}
