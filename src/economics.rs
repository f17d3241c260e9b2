//! Computes the cost of prompts with the provider's prompt cache, and the effect of a compaction on it.
//!
//! A cache holds the prompt up to the first message that changed. What is read from it costs a fraction, what is
//! written into it somewhat more than plain input. So a compaction costs something once, at the next request, and saves
//! something at each. All costs are in tokens of plain input; a price for these makes money of them.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::tokens::by_beginning;

/// Tokens that a price is for.
const MILLION: f64 = 1e6;

/// The prices of a model's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// A million tokens of plain input, in any currency.
    pub input: f64,
    /// A million tokens of output, in the same.
    pub output: f64,
    /// A token that is written into the cache, as a multiple of one of plain input.
    pub cache_write: f64,
    /// A token that is read from the cache, likewise.
    pub cache_read: f64,
}

impl Default for Prices {
    /// One for a million tokens of either kind, so that costs are in millions of tokens, and Anthropic's factors: those of
    /// the providers who charge for writing, and so the ones by which a change of the prompt costs most.
    fn default() -> Prices {
        Prices { input: 1.0, output: 1.0, cache_write: 1.25, cache_read: 0.1 }
    }
}

/// Factors for writing into the cache and reading from it, by the beginning of a model's id: Anthropic's five-minute cache
/// (docs.claude.com, "Prompt caching"), OpenAI's (platform.openai.com, "Pricing": cached input against input), and the
/// implicit cache of Gemini (ai.google.dev, "Gemini Developer API pricing").
const FACTORS: &[(&str, (f64, f64))] = &[
    ("claude", (1.25, 0.1)),
    ("gpt-4o", (1.0, 0.5)),
    ("gpt-4.1", (1.0, 0.25)),
    ("gpt-5", (1.0, 0.1)),
    ("o1", (1.0, 0.5)),
    ("o3", (1.0, 0.25)),
    ("o3-mini", (1.0, 0.5)),
    ("o4", (1.0, 0.25)),
    ("gemini-2.0", (1.0, 0.25)),
    ("gemini", (1.0, 0.1)),
];

impl Prices {
    /// The factors of a model's provider, with a price of one; `None` of a model that is not known.
    pub fn factors_of_model(model: &str) -> Option<Prices> {
        by_beginning(model, FACTORS).map(|(cache_write, cache_read)| Prices {
            cache_write: *cache_write,
            cache_read: *cache_read,
            ..Prices::default()
        })
    }

    /// The prices themselves, if they can be prices.
    ///
    /// # Errors
    /// `Policy` with the first that cannot: a negative one, or none.
    pub fn checked(self) -> Result<Prices> {
        let prices = [
            ("input", self.input),
            ("output", self.output),
            ("cache_write", self.cache_write),
            ("cache_read", self.cache_read),
        ];
        match prices.into_iter().find(|(_, price)| !(price.is_finite() && *price >= 0.0)) {
            Some((setting, price)) => Err(Error::Policy {
                setting: setting.to_owned(),
                problem: format!("it is {price}, and must be a number of 0 or more"),
            }),
            None => Ok(self),
        }
    }
}

/// The cost and the savings of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlanCost {
    /// Tokens before the first change, which stay in the cache.
    pub unchanged: usize,
    /// Tokens from the first change on, which must be written again.
    pub rewritten: usize,
    /// Tokens that each later request is shorter by.
    pub saved: usize,
    /// The extra cost of writing the prompt rather than reading it, in money: once, at the next request.
    pub once: f64,
    /// The amount that each request costs less, the next one included, in money.
    pub each: f64,
    /// The number of requests after which it has cost less than doing nothing; `None` if it never does.
    pub pays_back_after: Option<u64>,
}

impl PlanCost {
    /// Of a compaction of `before` tokens to `after`, of which the first `unchanged` stay unchanged, while the whole
    /// history is in the cache. With `w` and `r` the factors, `once = rewritten (w - r)` and `each = saved r`; it pays back
    /// after `once / each` requests. O(1).
    #[allow(clippy::cast_precision_loss)] // Tokens stay far below 2^52.
    pub fn of(before: usize, after: usize, unchanged: usize, prices: Prices) -> PlanCost {
        let unchanged = unchanged.min(after);
        let rewritten = after - unchanged;
        let saved = before.saturating_sub(after);
        // In tokens of plain input, so that a price of zero has a break-even too.
        let debt = rewritten as f64 * (prices.cache_write - prices.cache_read).max(0.0);
        let gain = saved as f64 * prices.cache_read;
        let money = |tokens: f64| tokens * prices.input / MILLION;
        PlanCost {
            unchanged,
            rewritten,
            saved,
            once: money(debt),
            each: money(gain),
            pays_back_after: requests(debt, gain),
        }
    }
}

/// Returns the number of gains that make up for a debt; `None` without a gain.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A ratio of tokens, rounded up, at least zero.
fn requests(debt: f64, gain: f64) -> Option<u64> {
    if debt <= 0.0 {
        return Some(0);
    }
    (gain > 0.0).then(|| (debt / gain).ceil() as u64)
}

/// The cache of a provider over the requests of one session: what of each prompt it has, and what it must write.
#[derive(Debug, Clone, Default)]
pub struct PromptCache {
    /// The messages of the last request: what each is recognized by.
    last: Vec<u128>,
    used: CacheUse,
}

/// The tokens that a session read from the cache and wrote into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CacheUse {
    /// Requests.
    pub requests: usize,
    /// Tokens of messages that were as in the request before, as all before them.
    pub read: usize,
    /// Tokens of all other messages.
    pub written: usize,
}

impl PromptCache {
    /// A request with these messages: what each is recognized by, and its tokens. Those at the beginning that are those of
    /// the request before are read, the others written. O(messages).
    pub fn request(&mut self, messages: impl IntoIterator<Item = (u128, usize)>) {
        self.used.requests += 1;
        let mut now = Vec::with_capacity(self.last.len());
        let mut same = true;
        for (key, tokens) in messages {
            same = same && self.last.get(now.len()) == Some(&key);
            if same {
                self.used.read += tokens;
            } else {
                self.used.written += tokens;
            }
            now.push(key);
        }
        self.last = now;
    }

    /// Returns the tokens read and written so far.
    pub fn used(&self) -> CacheUse {
        self.used
    }
}

impl CacheUse {
    /// Returns the cost, in tokens of plain input.
    #[allow(clippy::cast_precision_loss)] // Tokens stay far below 2^52.
    pub fn cost(self, prices: Prices) -> f64 {
        self.read as f64 * prices.cache_read + self.written as f64 * prices.cache_write
    }
}
