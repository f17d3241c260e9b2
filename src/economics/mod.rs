//! Computes the cost of prompts with the provider's prompt cache, and the effect of a compaction on it.
//!
//! A cache holds the prompt up to the first message that changed. Reading from the cache costs a fraction of plain
//! input, and writing to it costs somewhat more. So a compaction has a cost once, at the next request, and a saving at
//! each request. All costs are in tokens of plain input; multiplied by its price they are money.

mod account;
mod provider_cache;

use serde::{Deserialize, Serialize};

pub use account::{Account, Removal, Savings, SentRequest};
pub use provider_cache::ProviderCache;

use crate::error::{Error, Result};
use crate::tokens::by_beginning;

/// Prices are for this many tokens.
const MILLION: f64 = 1e6;

/// The prices of a model's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// Price of a million tokens of plain input, in any currency.
    pub input: f64,
    /// Price of a million tokens of output, in the same currency.
    pub output: f64,
    /// Price of a token written to the cache, as a multiple of plain input.
    pub cache_write: f64,
    /// Price of a token read from the cache, as a multiple of plain input.
    pub cache_read: f64,
}

impl Default for Prices {
    /// A price of 1 for a million tokens, so that costs are in millions of tokens, and Anthropic's factors. Anthropic
    /// charges for writing to the cache, so a change of the prompt costs most there.
    fn default() -> Prices {
        Prices { input: 1.0, output: 1.0, cache_write: 1.25, cache_read: 0.1 }
    }
}

/// Factors for writing to the cache and reading from it, by the beginning of a model's id: Anthropic's five-minute
/// cache (docs.claude.com, "Prompt caching"), OpenAI's (platform.openai.com, "Pricing": cached input against input),
/// and Gemini's implicit cache (ai.google.dev, "Gemini Developer API pricing").
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
    /// Returns the factors of a model's provider, with prices of 1; `None` for an unknown model.
    pub fn factors_of_model(model: &str) -> Option<Prices> {
        by_beginning(model, FACTORS).map(|(cache_write, cache_read)| Prices {
            cache_write: *cache_write,
            cache_read: *cache_read,
            ..Prices::default()
        })
    }

    /// Returns the prices, if all are valid.
    ///
    /// # Errors
    /// `Policy` with the first price that is negative or not a number.
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
    /// Tokens by which each later request is shorter.
    pub saved: usize,
    /// The one-time cost, in money, of writing the changed prompt to the cache instead of reading it.
    pub once: f64,
    /// The saving of each request, including the next, in money.
    pub each: f64,
    /// The number of requests after which the compaction costs less than none; `None` if it never does.
    pub pays_back_after: Option<u64>,
}

impl PlanCost {
    /// Returns the cost of a compaction from `before` to `after` tokens that leaves the first `unchanged` tokens as
    /// they are, if the whole history is in the cache. With the factors `w` and `r`, `once = rewritten (w - r)` and
    /// `each = saved r`. It pays back after `once / each` requests. O(1).
    #[allow(clippy::cast_precision_loss)] // Tokens stay far below 2^52.
    pub fn of(before: usize, after: usize, unchanged: usize, prices: Prices) -> PlanCost {
        let unchanged = unchanged.min(after);
        let rewritten = after - unchanged;
        let saved = before.saturating_sub(after);
        // In tokens of plain input, so that a price of zero has a break-even point too.
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

    /// Returns the most by which the next request costs more than doing nothing, in tokens of plain input.
    #[allow(clippy::cast_precision_loss)] // As above.
    pub fn debt(self, prices: Prices) -> f64 {
        self.rewritten as f64 * (prices.cache_write - prices.cache_read) - self.saved as f64 * prices.cache_read
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

/// A provider's cache during the requests of one session: it knows the part of each prompt that is cached.
#[derive(Debug, Clone, Default)]
pub struct PromptCache {
    /// A digest of each message of the last request.
    last: Vec<u128>,
    used: CacheUse,
}

/// The tokens that a session read from the cache and wrote to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CacheUse {
    /// Number of requests.
    pub requests: usize,
    /// Tokens of messages that were the same as in the previous request, up to the first difference.
    pub read: usize,
    /// Tokens of all other messages.
    pub written: usize,
}

impl PromptCache {
    /// Counts a request with these messages, given as digests and tokens. The messages at the beginning that equal the
    /// previous request's are read, and the others are written. O(messages).
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
