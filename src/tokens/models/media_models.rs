//! Chooses the rule by which a model counts media.

use super::ids::by_beginning;
use crate::tokens::MediaRule;

impl MediaRule {
    /// Returns the rule for a model, by the longest known beginning of its id, otherwise [`MediaRule::Dearest`].
    /// Prefixes of gateways are skipped.
    pub fn of_model(id: &str) -> MediaRule {
        by_beginning(id, MODELS).copied().unwrap_or(MediaRule::Dearest)
    }
}

// Tokens for a hundred patches (<https://platform.openai.com/docs/guides/images-vision#calculating-costs>).
const OPENAI_MINI: u32 = 162;
const OPENAI_NANO: u32 = 246;
const OPENAI_O4_MINI: u32 = 172;

/// Tokens of an image at the usual resolution (<https://ai.google.dev/gemini-api/docs/media-resolution>).
const GEMINI_3_IMAGE: u32 = 1_120;

/// Rules by the beginning of an id. A model's rule is published, or cheaper than the one given here: GPT-5, o1 and o3
/// take slightly less for each tile. A model that is not listed gets the most expensive rule.
const MODELS: &[(&str, MediaRule)] = &[
    ("claude", MediaRule::CLAUDE_FINE),
    ("claude-3", MediaRule::CLAUDE),
    ("claude-haiku-4", MediaRule::CLAUDE),
    ("claude-opus-4", MediaRule::CLAUDE),
    ("claude-opus-4.7", MediaRule::CLAUDE_FINE),
    ("claude-opus-4.8", MediaRule::CLAUDE_FINE),
    ("claude-sonnet-4", MediaRule::CLAUDE),
    ("gemini-1.5", MediaRule::Crops),
    ("gemini-2.0", MediaRule::Crops),
    ("gemini-2.5", MediaRule::Crops),
    ("gemini-3", MediaRule::Fixed { image: GEMINI_3_IMAGE }),
    ("gpt-4-turbo", MediaRule::Tiles),
    ("gpt-4-vision", MediaRule::Tiles),
    ("gpt-4.1", MediaRule::Tiles),
    ("gpt-4.1-mini", MediaRule::openai_patches(OPENAI_MINI)),
    ("gpt-4.1-nano", MediaRule::openai_patches(OPENAI_NANO)),
    ("gpt-4.5", MediaRule::Tiles),
    ("gpt-4o", MediaRule::Tiles),
    ("chatgpt-4o", MediaRule::Tiles),
    ("gpt-5", MediaRule::Tiles),
    ("gpt-5-mini", MediaRule::openai_patches(OPENAI_MINI)),
    ("gpt-5-nano", MediaRule::openai_patches(OPENAI_NANO)),
    // Their rule is not published.
    ("gpt-5.1", MediaRule::Dearest),
    ("gpt-5.2", MediaRule::Dearest),
    ("gpt-5.3", MediaRule::Dearest),
    ("gpt-5.4", MediaRule::Dearest),
    ("gpt-5.5", MediaRule::Dearest),
    ("gpt-5.6", MediaRule::Dearest),
    ("gpt-5.7", MediaRule::Dearest),
    ("gpt-5.8", MediaRule::Dearest),
    ("gpt-5.9", MediaRule::Dearest),
    ("o1", MediaRule::Tiles),
    ("o3", MediaRule::Tiles),
    ("o4-mini", MediaRule::openai_patches(OPENAI_O4_MINI)),
];
