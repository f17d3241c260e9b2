//! The limits of models, as their makers state them.
//!
//! Each group names the page with the provider's figures. They were taken in November 2026 from the tables of
//! models.dev and litellm, which cite these pages, and for a few retired models from the pages themselves. If sources
//! differ, the smaller number is used: if a window is assumed too large, the provider rejects a request; if it is
//! assumed too small, a compaction only comes early. A host of an open model may allow less.

use super::ModelLimits;

/// Input and output share the window.
const fn shared(window: usize, max_output: usize) -> ModelLimits {
    ModelLimits { window, max_input: window, max_output: Some(max_output) }
}

/// The input has its own limit.
const fn split(window: usize, max_input: usize, max_output: usize) -> ModelLimits {
    ModelLimits { window, max_input, max_output: Some(max_output) }
}

/// An answer may take the rest of the window.
pub(super) const fn open(window: usize) -> ModelLimits {
    ModelLimits { window, max_input: window, max_output: None }
}

/// Limits by the beginning of an id. A new model of a line has the earlier model's limits until it is listed, because
/// windows grow.
#[rustfmt::skip]
pub const KNOWN_LIMITS: &[(&str, ModelLimits)] = &[
    // OpenAI: <https://platform.openai.com/docs/models>. From GPT-5 on, the room for the longest answer cannot be used
    // for input: "Input tokens exceed the configured limit of 272,000 tokens" in a window of 400,000.
    ("gpt-3.5-turbo", shared(16_385, 4_096)),
    ("gpt-3.5-turbo-instruct", shared(4_096, 4_096)),
    ("gpt-4", shared(8_192, 8_192)),
    ("gpt-4-32k", shared(32_768, 4_096)),
    ("gpt-4-turbo", shared(128_000, 4_096)),
    ("gpt-4-0125", shared(128_000, 4_096)),
    ("gpt-4-1106", shared(128_000, 4_096)),
    ("gpt-4o", shared(128_000, 16_384)),
    ("gpt-4o-2024-05-13", shared(128_000, 4_096)),
    ("chatgpt-4o", shared(128_000, 16_384)),
    ("gpt-4.1", shared(1_047_576, 32_768)),
    ("gpt-4.5", shared(128_000, 16_384)),
    ("gpt-5", split(400_000, 272_000, 128_000)),
    ("gpt-5-chat", shared(128_000, 16_384)),
    ("gpt-5.1-chat", shared(128_000, 16_384)),
    ("gpt-5.2-chat", shared(128_000, 16_384)),
    ("gpt-5.3-chat", shared(128_000, 16_384)),
    ("gpt-5.3-codex-spark", split(128_000, 100_000, 32_000)),
    ("gpt-5.4", split(1_050_000, 922_000, 128_000)),
    ("gpt-5.4-mini", split(400_000, 272_000, 128_000)),
    ("gpt-5.4-nano", split(400_000, 272_000, 128_000)),
    ("gpt-5.5", split(1_050_000, 922_000, 128_000)),
    ("gpt-5.6", split(1_050_000, 922_000, 128_000)),
    ("gpt-5.6-cyber", split(400_000, 272_000, 128_000)),
    ("gpt-6", split(1_050_000, 922_000, 128_000)),
    ("codex-mini", shared(200_000, 100_000)),
    ("gpt-oss", shared(131_072, 131_072)),
    ("o1", shared(200_000, 100_000)),
    ("o1-mini", shared(128_000, 65_536)),
    ("o1-preview", shared(128_000, 32_768)),
    ("o3", shared(200_000, 100_000)),
    ("o4", shared(200_000, 100_000)),

    // Anthropic: <https://platform.claude.com/docs/en/about-claude/models/overview>. Without the beta header that gave
    // Sonnet 4 and 4.5 a million tokens.
    ("claude", open(200_000)),
    ("claude-instant", shared(100_000, 4_096)),
    ("claude-2", shared(100_000, 4_096)),
    ("claude-2.1", shared(200_000, 4_096)),
    ("claude-v2", shared(100_000, 4_096)),
    ("claude-3", shared(200_000, 4_096)),
    ("claude-3.5", shared(200_000, 8_192)),
    ("claude-3.7", shared(200_000, 64_000)),
    ("claude-haiku-4.5", shared(200_000, 64_000)),
    ("claude-haiku-5.5", shared(1_000_000, 128_000)),
    ("claude-sonnet-4", shared(200_000, 64_000)),
    ("claude-sonnet-4.6", shared(1_000_000, 64_000)),
    ("claude-sonnet-5", shared(1_000_000, 128_000)),
    ("claude-opus-4", shared(200_000, 32_000)),
    ("claude-opus-4.5", shared(200_000, 64_000)),
    ("claude-opus-4.6", shared(1_000_000, 128_000)),
    ("claude-opus-4.7", shared(1_000_000, 128_000)),
    ("claude-opus-4.8", shared(1_000_000, 128_000)),
    ("claude-opus-5", shared(1_000_000, 128_000)),
    ("claude-fable-5", shared(1_000_000, 128_000)),
    ("claude-mythos-preview", shared(1_000_000, 128_000)),
    ("claude-mythos-5", shared(1_000_000, 128_000)),

    // Google: <https://ai.google.dev/gemini-api/docs/models>, which limits input and output separately; the limit of
    // the input is used as the window. Gemma: its model cards.
    ("gemini-1.5-flash", shared(1_048_576, 8_192)),
    ("gemini-2.0-flash", shared(1_048_576, 8_192)),
    ("gemini-2.5", shared(1_048_576, 65_536)),
    ("gemini-2.5-computer-use", shared(128_000, 64_000)),
    ("gemini-2.5-flash-image", shared(32_768, 32_768)),
    ("gemini-3", shared(1_048_576, 65_536)),
    ("gemini-3-pro-image", shared(65_536, 32_768)),
    ("gemini-3.1-flash-image", shared(65_536, 65_536)),
    ("gemini-flash-latest", shared(1_048_576, 65_536)),
    ("gemini-flash-lite-latest", shared(1_048_576, 65_536)),
    ("gemini-pro-latest", shared(1_048_576, 65_536)),
    ("gemma-2", shared(8_192, 8_192)),
    ("gemma-3", shared(128_000, 8_192)),
    ("gemma-3-1b", shared(32_768, 8_192)),
    ("gemma-4-26b", shared(262_144, 32_768)),
    ("gemma-4-31b", shared(262_144, 32_768)),

    // Mistral: <https://docs.mistral.ai/getting-started/models/>, which states windows and no limits of answers.
    ("codestral", open(128_000)),
    ("codestral-2405", open(32_000)),
    ("devstral", open(128_000)),
    ("devstral-2", open(256_000)),
    ("devstral-2512", open(256_000)),
    ("devstral-latest", open(256_000)),
    ("devstral-medium-latest", open(256_000)),
    ("devstral-small-2512", open(256_000)),
    ("devstral-small-latest", open(256_000)),
    ("magistral", open(128_000)),
    ("ministral", open(128_000)),
    ("mistral-large", open(128_000)),
    ("mistral-large-2402", open(32_000)),
    ("mistral-large-2512", open(256_000)),
    ("mistral-large-3", open(256_000)),
    ("mistral-large-latest", open(256_000)),
    ("mistral-medium", open(128_000)),
    ("mistral-medium-2604", open(256_000)),
    ("mistral-medium-3.5", open(256_000)),
    ("mistral-medium-latest", open(256_000)),
    ("mistral-nemo", open(128_000)),
    ("mistral-small", open(32_000)),
    ("mistral-small-2503", open(128_000)),
    ("mistral-small-2506", open(128_000)),
    ("mistral-small-2603", open(256_000)),
    ("mistral-small-latest", open(256_000)),
    ("mixtral-8x7b", open(32_000)),
    ("mixtral-8x22b", open(64_000)),
    ("open-mistral-nemo", open(128_000)),
    ("open-mixtral-8x7b", open(32_000)),
    ("open-mixtral-8x22b", open(64_000)),
    ("pixtral", open(128_000)),
    ("voxtral-small", open(32_000)),

    // Meta: the model cards at <https://www.llama.com/docs/model-cards-and-prompt-formats/>. Llama 4 is trained for
    // more, but Meta's own API serves as little as this.
    ("llama-2", open(4_096)),
    ("llama-3", open(8_192)),
    ("llama-3.1", open(128_000)),
    ("llama-3.2", open(128_000)),
    ("llama-3.3", open(128_000)),
    ("llama-4", open(128_000)),
    ("meta-llama-3", open(8_192)),
    // "Meta-Llama-3.1-8B", and Bedrock's "meta.llama3-3-70b", whose dot may be a separator too.
    ("meta-llama-3.1", open(128_000)),
    ("meta-llama-3.2", open(128_000)),
    ("meta-llama-3.3", open(128_000)),

    // Alibaba: <https://www.alibabacloud.com/help/en/model-studio/models>. For open models it is the length of their
    // training, which the cards call native.
    ("qwen-max", split(32_768, 30_720, 8_192)),
    ("qwen-plus", split(131_072, 129_024, 16_384)),
    ("qwen-turbo", split(131_072, 129_024, 16_384)),
    ("qwen-flash", split(1_000_000, 997_952, 32_768)),
    ("qwen-2.5", shared(32_768, 8_192)),
    ("qwen-3", open(32_768)),
    ("qwen-3-coder", shared(262_144, 65_536)),
    ("qwen-3-coder-flash", split(1_000_000, 997_952, 65_536)),
    ("qwen-3-coder-plus", split(1_000_000, 997_952, 65_536)),
    ("qwen-3-max", split(262_144, 258_048, 65_536)),
    ("qwen-3-next", shared(131_072, 32_768)),
    ("qwen-3-vl", shared(131_072, 32_768)),
    ("qwen-3-235b-a22b", shared(131_072, 16_384)),
    ("qwen-3.5", shared(262_144, 65_536)),
    ("qwen-3.5-plus", split(1_000_000, 991_808, 65_536)),
    ("qwen-3.6", shared(262_144, 65_536)),
    ("qwen-3.7", shared(262_144, 65_536)),
    ("qwen-3.8", shared(262_144, 65_536)),
    ("qwq", split(131_072, 98_304, 8_192)),

    // Moonshot: <https://platform.moonshot.ai/docs/api/chat>.
    ("kimi-k2", shared(131_072, 16_384)),
    ("kimi-k2-0905", open(262_144)),
    ("kimi-k2-thinking", open(262_144)),
    ("kimi-k2-turbo", open(262_144)),
    ("kimi-k2.5", open(262_144)),
    ("kimi-k2.6", open(262_144)),
    ("kimi-k2.7", open(262_144)),
    ("kimi-k3", shared(1_000_000, 131_072)),
    ("moonshot-v1-8k", open(8_192)),
    ("moonshot-v1-32k", open(32_768)),
    ("moonshot-v1-128k", open(131_072)),

    // DeepSeek: <https://api-docs.deepseek.com/quick_start/pricing>. It served R1 and V3 with half of the length that
    // they are trained for.
    ("deepseek-chat", shared(131_072, 8_192)),
    ("deepseek-reasoner", shared(131_072, 65_536)),
    ("deepseek-r1", open(65_536)),
    ("deepseek-v3", open(65_536)),
    ("deepseek-v3.1", open(128_000)),
    ("deepseek-v3.2", open(128_000)),
    ("deepseek-v4", shared(1_000_000, 384_000)),

    // Z.ai: <https://docs.z.ai/guides/overview/pricing> and the pages of the models.
    ("glm-4.5", shared(128_000, 32_000)),
    ("glm-4.5v", shared(64_000, 16_384)),
    ("glm-4.6", shared(200_000, 128_000)),
    ("glm-4.6v", shared(128_000, 32_768)),
    ("glm-4.7", shared(200_000, 128_000)),
    ("glm-5", shared(200_000, 128_000)),

    // xAI: <https://docs.x.ai/docs/models>.
    ("grok-2", open(131_072)),
    ("grok-2-vision", open(32_768)),
    ("grok-3", open(131_072)),
    ("grok-4", open(256_000)),
    ("grok-4-fast", shared(2_000_000, 30_000)),
    ("grok-4.1-fast", shared(2_000_000, 30_000)),
    ("grok-4.20", shared(1_000_000, 30_000)),
    ("grok-4.3", shared(1_000_000, 30_000)),
    ("grok-4.5", open(500_000)),
    ("grok-4.6", open(500_000)),
    ("grok-4.7", open(500_000)),
    ("grok-build", open(256_000)),
    ("grok-code-fast", open(256_000)),

    // Amazon: <https://docs.aws.amazon.com/nova/latest/userguide/what-is-nova.html>. If pages state different lengths
    // of an answer, the smallest is used.
    ("nova-micro", shared(128_000, 5_000)),
    ("nova-lite", shared(300_000, 5_000)),
    ("nova-pro", shared(300_000, 5_000)),
    ("nova-premier", shared(1_000_000, 10_000)),
    ("nova-2-lite", shared(1_000_000, 64_000)),

    // Cohere: <https://docs.cohere.com/docs/models>.
    ("c4ai-aya-expanse-8b", shared(8_000, 4_000)),
    ("c4ai-aya-expanse-32b", shared(128_000, 4_000)),
    ("command-a", shared(128_000, 8_000)),
    ("command-a-03-2025", shared(256_000, 8_000)),
    ("command-a-reasoning", shared(256_000, 32_000)),
    ("command-a-translate", shared(8_000, 8_000)),
    ("command-light", shared(4_096, 4_096)),
    ("command-r", shared(128_000, 4_000)),
    ("command-r7b", shared(128_000, 4_000)),
    ("command-text", shared(4_096, 4_096)),

    // AI21: <https://docs.ai21.com/docs/jamba-foundation-models>.
    ("jamba-1.5", shared(256_000, 4_096)),
    ("jamba-instruct", shared(70_000, 4_096)),
    ("jamba-large", shared(256_000, 4_096)),
    ("jamba-mini", shared(256_000, 4_096)),

    // MiniMax: <https://platform.minimax.io/docs/guides/quickstart>.
    ("minimax-m2", open(196_000)),
];
