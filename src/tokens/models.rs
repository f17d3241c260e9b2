//! Which counter and which limits a model has, by its id.

use std::sync::Arc;

use super::{CountTokens, Encoding, Estimate, Exact};

/// The models that share a tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// OpenAI's models whose encoding is public.
    OpenAi(Encoding),
    /// Anthropic's models.
    Claude,
    /// Google's models.
    Gemini,
    /// A model that the table does not know.
    Unknown,
}

impl Family {
    /// A counter for the models of this family.
    pub fn counter(self) -> Arc<dyn CountTokens> {
        match self {
            Self::OpenAi(encoding) => Arc::new(Exact::new(encoding)),
            Self::Claude => Arc::new(Estimate::claude()),
            // Nothing is fitted for Gemini. Its open sibling Gemma takes 1.21 times the tokens of o200k_base and
            // Claude 1.28 times, so the constants of Claude err on the safe side.
            Self::Gemini => Arc::new(Estimate::claude().named("gemini")),
            // Of the estimates at hand the one that errs least often below.
            Self::Unknown => Arc::new(Estimate::claude().named("unknown")),
        }
    }
}

/// What a model can take and give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelLimits {
    /// Its family; [`Family::Unknown`] says that the numbers beside it are defaults.
    pub family: Family,
    /// Tokens that fit into a request and its answer together.
    pub window: usize,
    /// Tokens of the longest answer, and so what to keep free for it.
    pub max_output: usize,
}

/// For a model that the table does not know: the least window of today's large models, and an answer that leaves most
/// of it to the conversation.
const UNKNOWN: ModelLimits = limits(Family::Unknown, 200_000, 32_000);

const O200K: Family = Family::OpenAi(Encoding::O200kBase);
const CL100K: Family = Family::OpenAi(Encoding::Cl100kBase);

/// Beginnings of ids, with the limits that the providers publish. The longest that fits wins.
const TABLE: &[(&str, ModelLimits)] = &[
    ("claude", limits(Family::Claude, 200_000, 64_000)),
    ("claude-3", limits(Family::Claude, 200_000, 4_096)),
    ("claude-3-5", limits(Family::Claude, 200_000, 8_192)),
    ("claude-3-7", limits(Family::Claude, 200_000, 64_000)),
    ("claude-opus-4", limits(Family::Claude, 200_000, 32_000)),
    ("gpt-5", limits(O200K, 400_000, 128_000)),
    ("gpt-5-chat", limits(O200K, 128_000, 16_384)),
    ("gpt-4.1", limits(O200K, 1_047_576, 32_768)),
    ("gpt-4o", limits(O200K, 128_000, 16_384)),
    ("chatgpt-4o", limits(O200K, 128_000, 16_384)),
    ("o1", limits(O200K, 200_000, 100_000)),
    ("o1-mini", limits(O200K, 128_000, 65_536)),
    ("o1-preview", limits(O200K, 128_000, 32_768)),
    ("o3", limits(O200K, 200_000, 100_000)),
    ("o4", limits(O200K, 200_000, 100_000)),
    // The published limit of its answers is the whole window; half of it keeps room for a conversation.
    ("gpt-4", limits(CL100K, 8_192, 4_096)),
    ("gpt-4-32k", limits(CL100K, 32_768, 8_192)),
    ("gpt-4-turbo", limits(CL100K, 128_000, 4_096)),
    ("gpt-4-1106", limits(CL100K, 128_000, 4_096)),
    ("gpt-4-0125", limits(CL100K, 128_000, 4_096)),
    ("gpt-3.5-turbo", limits(CL100K, 16_385, 4_096)),
    ("gpt-35-turbo", limits(CL100K, 16_385, 4_096)),
    ("gemini", limits(Family::Gemini, 1_048_576, 65_536)),
];

const fn limits(family: Family, window: usize, max_output: usize) -> ModelLimits {
    ModelLimits { family, window, max_output }
}

/// The counter for a model: exact where its encoding is public, an estimate elsewhere.
pub fn counter_for_model(id: &str) -> Arc<dyn CountTokens> {
    limits_for_model(id).family.counter()
}

/// The limits of a model, by the longest beginning of its id that the table knows.
///
/// What providers and gateways write before an id is skipped: `us.anthropic.claude-…`, `bedrock/…`, `openai:…`.
///
/// ```
/// use ullage::tokens::limits_for_model;
///
/// assert_eq!(limits_for_model("openai/gpt-4o-mini").window, 128_000);
/// ```
pub fn limits_for_model(id: &str) -> ModelLimits {
    let id = id.to_ascii_lowercase();
    let separators = id.match_indices(['/', '.', ':']);
    let mut starts = std::iter::once(0).chain(separators.map(|(at, _)| at + 1));
    starts.find_map(|start| longest_beginning(&id[start..])).unwrap_or(UNKNOWN)
}

fn longest_beginning(id: &str) -> Option<ModelLimits> {
    TABLE
        .iter()
        .filter(|(beginning, _)| begins_with_word(id, beginning))
        .max_by_key(|(beginning, _)| beginning.len())
        .map(|&(_, limits)| limits)
}

/// Whether `id` begins with `beginning` and a word of it ends there: `gpt-4` begins `gpt-4-0613`, and not `gpt-4o`.
fn begins_with_word(id: &str, beginning: &str) -> bool {
    id.strip_prefix(beginning).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
}
