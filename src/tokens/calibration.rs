//! What a provider's reports teach about a counter.
//!
//! A provider reports the size of a whole prompt: the messages as its own tokenizer sees them, and beside them the system
//! prompt, the tools and what it adds unseen. From one request of a conversation to the next only the messages grow. So
//! how much the report grew, over how much the count grew, says how far the counter is off (the scale), and what is then
//! left of the report is what stands beside the messages.
//!
//! Both are medians, of ratios over many requests and of remainders over the last few, so that a report that is wrong, or
//! a request with something hidden in it, moves them little.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// A scale moves in steps of a hundredth: what was counted at the old one stays true until something was learned.
const HUNDREDTHS: usize = 100;

/// Ratios that are remembered, over all conversations. On recorded sessions the median error after ten requests was larger
/// by a fifth with 16 of them, and by a twentieth with 64.
const RATIOS: usize = 200;

/// Ratios of 1 that every calibration begins with: one odd report at the beginning shows nothing.
const RATIOS_AT_FIRST: usize = 1;

/// A message that grows a conversation by less says more about the frame than about the text.
const SMALLEST_GROWTH: usize = 30;

/// A ratio outside is no matter of tokenizers: something else was added or taken away. Between the tokenizers in use, and
/// between any of them and a bad ratio of characters, it stays inside.
const LEAST_RATIO: f64 = 0.4;
const GREATEST_RATIO: f64 = 2.5;

/// The first report of a conversation says something about the scale only where it is this close to the count, so that
/// little stands beside the messages.
const CLOSE: f64 = 0.25;

/// Remainders that are remembered for each conversation: with five, two wild reports change nothing.
const REMAINDERS: usize = 5;

/// What stands beside the messages is believed from this many reports of a conversation on: a single wild one, which may
/// be the first, is then outvoted.
const REPORTS_BELIEVED: usize = 3;

/// Conversations that are remembered; the one that was not observed for longest is forgotten.
const CONVERSATIONS: usize = 64;

/// A report beyond this many times the count and this much beside it is a mistake. The largest sets of tools in use take
/// less than the second.
const MOST_TIMES: usize = 4;
const MOST_BESIDE: usize = 200_000;

/// How many tokens of the provider one token of a counter is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    hundredths: usize,
}

impl Default for Scale {
    fn default() -> Scale {
        Scale::ONE
    }
}

impl Scale {
    /// The counter is taken at its word.
    pub const ONE: Scale = Scale { hundredths: HUNDREDTHS };

    /// As a number.
    #[allow(clippy::cast_precision_loss)] // From 0.4 to 2.5.
    pub fn factor(self) -> f64 {
        self.hundredths as f64 / HUNDREDTHS as f64
    }

    /// `tokens` at this scale, to the nearest whole number; something is never nothing.
    #[inline]
    #[must_use]
    pub fn of(self, tokens: usize) -> usize {
        if self == Scale::ONE {
            return tokens;
        }
        let scaled = tokens.saturating_mul(self.hundredths).saturating_add(HUNDREDTHS / 2) / HUNDREDTHS;
        scaled.max(usize::from(tokens > 0))
    }

    /// The most tokens that are at most `limit` at this scale.
    #[must_use]
    pub fn most_within(self, limit: usize) -> usize {
        if self == Scale::ONE || limit == 0 {
            return limit;
        }
        // `of(n) <= limit` where `n * hundredths + 50 < (limit + 1) * 100`.
        let below = limit.saturating_add(1).saturating_mul(HUNDREDTHS) - HUNDREDTHS / 2;
        (below - 1) / self.hundredths
    }
}

/// Whether a report taught something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learned {
    /// It is remembered. One that is only odd counts little among the others.
    Something,
    /// It cannot be the size of this request, and is not remembered.
    Nothing,
}

/// What was learned so far. Shared freely between threads.
#[derive(Debug, Default)]
pub struct Calibration {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    scale: Scale,
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

impl Calibration {
    /// The scale learned; [`Scale::ONE`] at first.
    pub fn scale(&self) -> Scale {
        self.known.lock().scale
    }

    /// What the provider counts beside the messages of the conversation with this beginning: the median of what the last
    /// reports leave over the scaled counts. `None` before three reports.
    pub fn beside(&self, beginning: u128) -> Option<isize> {
        let known = self.known.lock();
        let scale = known.scale;
        let (_, points) = known.conversations.iter().find(|(known, _)| *known == beginning)?;
        if points.len() < REPORTS_BELIEVED {
            return None;
        }
        let signed = |tokens| isize::try_from(tokens).unwrap_or(isize::MAX);
        let remainder = |point: &Point| signed(point.reported).saturating_sub(signed(scale.of(point.counted)));
        let mut remainders: Vec<isize> = points.iter().map(remainder).collect();
        remainders.sort_unstable();
        // Of an even number the greater: too much room kept does less harm than too little.
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
        let mut known = self.known.lock();
        let point = Point { counted, reported };
        let mut points = known.take(beginning);
        let ratio = match points.back() {
            Some(last) => last.growth_to(point),
            None => point.alone(known.scale),
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
            known.learn(ratio);
        }
        Learned::Something
    }
}

impl Known {
    fn take(&mut self, beginning: u128) -> VecDeque<Point> {
        match self.conversations.iter().position(|(known, _)| *known == beginning) {
            Some(at) => self.conversations.remove(at).1,
            None => VecDeque::new(),
        }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // From 40 to 250.
    fn learn(&mut self, ratio: f64) {
        if self.ratios.len() == RATIOS {
            self.ratios.pop_front();
        }
        self.ratios.push_back(ratio);
        let mut sorted: Vec<f64> = self.ratios.iter().copied().collect();
        sorted.extend([1.0; RATIOS_AT_FIRST]);
        sorted.sort_unstable_by(f64::total_cmp);
        let median = sorted[sorted.len() / 2];
        self.scale = Scale { hundredths: (median * HUNDREDTHS as f64).round() as usize };
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

    /// The ratio of the request itself, if hardly anything stands beside its messages.
    fn alone(self, scale: Scale) -> Option<f64> {
        let ratio = ratio(self.reported, self.counted);
        (self.counted >= SMALLEST_GROWTH && (ratio / scale.factor() - 1.0).abs() <= CLOSE).then_some(ratio)
    }
}

#[allow(clippy::cast_precision_loss)] // Token counts are far below 2^52.
fn ratio(reported: usize, counted: usize) -> f64 {
    reported as f64 / counted as f64
}
