//! The wire formats by name, and sets of them.

use serde::{Deserialize, Serialize};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Bedrock Converse, also the format of Strands.
    Bedrock,
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, also the format of Amplifier and litellm.
    #[serde(rename = "openai")]
    OpenAi,
    /// Items of OpenAI Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Gemini's contents, also the format of Google ADK.
    Gemini,
    /// Model messages of the AI SDK.
    AiSdk,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 6] =
        [Format::Bedrock, Format::Anthropic, Format::OpenAi, Format::OpenAiResponses, Format::Gemini, Format::AiSdk];

    /// Returns the public name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Bedrock => "bedrock",
            Format::Anthropic => "anthropic",
            Format::OpenAi => "openai",
            Format::OpenAiResponses => "openai-responses",
            Format::Gemini => "gemini",
            Format::AiSdk => "ai-sdk",
        }
    }

    /// Returns the format with that public name.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// A set of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Formats(u8);

impl Formats {
    pub(super) const ALL: Formats = Formats::of(&Format::ALL);

    pub(super) const fn of(formats: &[Format]) -> Formats {
        let mut set = 0;
        let mut index = 0;
        while index < formats.len() {
            set |= 1 << formats[index] as u8;
            index += 1;
        }
        Formats(set)
    }

    pub(super) const fn and(self, other: Formats) -> Formats {
        Formats(self.0 & other.0)
    }

    pub(super) fn has(self, format: Format) -> bool {
        self.0 >> format as u8 & 1 != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the format, if there is only one.
    pub(super) fn only(self) -> Option<Format> {
        let mut formats = Format::ALL.into_iter().filter(|format| self.has(*format));
        let first = formats.next();
        if formats.next().is_some() { None } else { first }
    }

    /// Returns their names for use in a sentence.
    pub(super) fn names(self) -> String {
        let names: Vec<&str> = Format::ALL.into_iter().filter(|format| self.has(*format)).map(Format::name).collect();
        names.join(" or ")
    }
}
