//! The request to a model for a summary.

use std::ops::Range;

use serde::Serialize;

use super::account::continue_account;
use super::cut::bounded;
use super::source::{of_one_speaker, source};
use super::{Removed, SummaryPrompt};
use crate::message::Text;
use crate::tokens::{CountTokens, TextKind};

/// English words for four tokens, approximately: the ratio of 0.75 that OpenAI states for its encodings
/// (<https://help.openai.com/en/articles/4936856-what-are-tokens-and-how-to-count-them>).
const WORDS_OF_FOUR_TOKENS: usize = 3;

/// The number of words is rounded to a multiple of this, because models do not count well.
const ROUNDED_TO: usize = 10;

/// The previous summary may take one in this many tokens of the input. If ullage wrote it, it is shorter.
const SHARE_OF_PREVIOUS: usize = 3;

/// The account may take one in this many tokens of the summary that must contain it, and of the input.
const SHARE_OF_ACCOUNT: usize = 2;
const LEAST_SHARE: usize = 6;

/// A request to a model for a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SummaryRequest {
    /// Text for the system prompt, for callers that can send it separately.
    pub system: String,
    /// The whole request: the previous summary, the messages and the instructions.
    pub prompt: String,
    /// The messages as text, newest last.
    pub text: String,
    /// Notes about messages that were removed earlier; empty if there are none.
    pub previous: String,
    /// The messages in the caller's list.
    pub messages: Vec<Range<usize>>,
    /// Tokens that the summary may take. A longer one is cut.
    pub max_tokens: usize,
    /// The number of words that the prompt asks for.
    pub max_words: usize,
}

/// Returns the request for a summary of `removed` in at most `max_tokens`. `sizes` are the tokens of each message.
/// `input` is the limit for the previous summary and the messages together. O(length).
pub fn request<T: Text>(
    removed: &Removed<'_, T>,
    sizes: &[usize],
    prompt: SummaryPrompt,
    max_tokens: usize,
    input: usize,
    counter: &dyn CountTokens,
) -> SummaryRequest {
    let previous = bounded(&removed.previous, input / SHARE_OF_PREVIOUS, counter);
    // The text of an older summary is included separately.
    let account = continue_account(removed, "", (max_tokens / SHARE_OF_ACCOUNT).min(input / LEAST_SHARE), counter);
    let account = of_one_speaker(&account);
    let count = |text: &str| counter.count(text, TextKind::Prose);
    let text = source(removed, sizes, input.saturating_sub(count(&previous) + count(&account)), counter);
    let words = max_tokens.saturating_mul(WORDS_OF_FOUR_TOKENS) / 4;
    let words = words.min(prompt.most_words().unwrap_or(words));
    let max_words = (words / ROUNDED_TO * ROUNDED_TO).max(ROUNDED_TO);
    let spans = removed.conversation.spans();
    SummaryRequest {
        system: prompt.system().to_owned(),
        prompt: prompt.request(&text, &previous, &account, max_words),
        messages: removed.ranges.iter().map(|range| spans.entries(range.clone())).collect(),
        text,
        previous,
        max_tokens,
        max_words,
    }
}
