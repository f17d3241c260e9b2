//! Which counter a model has, by its id.

use std::sync::Arc;

use super::media::with_media;
use super::{CountTokens, Encoding, Estimate, Exact, MediaRule};

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

const O200K: Family = Family::OpenAi(Encoding::O200kBase);
const CL100K: Family = Family::OpenAi(Encoding::Cl100kBase);

/// Beginnings of ids. The longest that fits wins. OpenAI's are those of tiktoken's own table
/// (<https://github.com/openai/tiktoken/blob/main/tiktoken/model.py>).
const TABLE: &[(&str, Family)] = &[
    ("claude", Family::Claude),
    ("gemini", Family::Gemini),
    ("gpt-5", O200K),
    ("gpt-4.5", O200K),
    ("gpt-4.1", O200K),
    ("gpt-4o", O200K),
    ("chatgpt-4o", O200K),
    ("gpt-oss", O200K),
    ("o1", O200K),
    ("o3", O200K),
    ("o4", O200K),
    ("gpt-4", CL100K),
    ("gpt-3.5", CL100K),
    ("gpt-35", CL100K),
];

/// The counter for a model: exact where its encoding is public, an estimate elsewhere.
///
/// ```
/// use ullage::tokens::counter_for_model;
///
/// assert_eq!(counter_for_model("openai/gpt-4o-mini").name(), "o200k_base");
/// ```
pub fn counter_for_model(id: &str) -> Arc<dyn CountTokens> {
    with_media(family_of_model(id).counter(), MediaRule::of_model(id))
}

/// The family of a model, by the longest beginning of its id that the table knows.
///
/// What providers and gateways write before an id is skipped: `us.anthropic.claude-…`, `bedrock/…`, `openai:…`.
pub fn family_of_model(id: &str) -> Family {
    let id = id.to_ascii_lowercase();
    let separators = id.match_indices(['/', '.', ':']);
    let mut starts = std::iter::once(0).chain(separators.map(|(at, _)| at + 1));
    starts.find_map(|start| longest_beginning(&id[start..])).unwrap_or(Family::Unknown)
}

fn longest_beginning(id: &str) -> Option<Family> {
    TABLE
        .iter()
        .filter(|(beginning, _)| begins_with_word(id, beginning))
        .max_by_key(|(beginning, _)| beginning.len())
        .map(|&(_, family)| family)
}

/// Whether `id` begins with `beginning` and a word of it ends there: `gpt-4` begins `gpt-4-0613`, and not `gpt-4o`.
fn begins_with_word(id: &str, beginning: &str) -> bool {
    id.strip_prefix(beginning).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
}
