//! The rules of a format's provider, and the provider's error if one is broken.

use crate::invariants::Demand;
use crate::wire::Format;

/// Returns the rules of the provider of `format`, beside the rules that all providers share. Each rule's source is in
/// `invariants`.
pub fn demands_of(format: Format) -> &'static [Demand] {
    match format {
        Format::Bedrock => &[
            Demand::FirstIsUsers,
            Demand::Alternation,
            Demand::NoBlanks,
            Demand::NoEmptyMessage,
            Demand::SystemApart,
            Demand::ResultsFirst,
            Demand::NoOpenCallAtTheEnd,
            Demand::ReasoningLeads,
        ],
        Format::Anthropic => &[
            Demand::FirstIsUsers,
            Demand::NoBlanks,
            Demand::NoEmptyMessage,
            Demand::SystemApart,
            Demand::ResultsFirst,
            Demand::NoOpenCallAtTheEnd,
            Demand::ReasoningLeads,
        ],
        Format::OpenAi | Format::OpenAiResponses | Format::AiSdk => {
            &[Demand::NothingBetween, Demand::NoEmptyMessage, Demand::NoOpenCallAtTheEnd]
        }
        // A call may stay open, because the tools of ADK may take days.
        Format::Gemini => &[
            Demand::FirstIsUsers,
            Demand::NoEmptyMessage,
            Demand::SystemApart,
            Demand::ResultsAlone,
            Demand::ResultsTogether,
            Demand::ResultsNameTheirTool,
        ],
    }
}

/// Returns the rules that all of these formats share, for a conversation that may be in any of them.
pub fn shared_demands(formats: &[Format]) -> Vec<Demand> {
    let [first, rest @ ..] = formats else { return Vec::new() };
    let all = |demand: &Demand| rest.iter().all(|format| demands_of(*format).contains(demand));
    demands_of(*first).iter().copied().filter(all).collect()
}

/// Returns the error of the provider behind `format`, in short, for a request that breaks the rule of this name.
pub fn provider_says(rule: &str, format: Format) -> &'static str {
    match (rule, format) {
        ("result-follows-call", Format::Bedrock) => {
            "ValidationException: the number of toolResult blocks exceeds the number of toolUse blocks of previous turn"
        }
        ("result-follows-call", Format::Anthropic) => "400: unexpected `tool_use_id` found in `tool_result` blocks",
        ("result-follows-call", Format::OpenAi) => {
            "400: messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
        }
        ("result-follows-call", Format::OpenAiResponses) => "400: no tool call found for function call output",
        ("result-follows-call" | "call-has-result" | "parallel-results-together", Format::Gemini) => {
            "400: the number of function response parts must equal the number of function call parts"
        }
        ("call-has-result", Format::Bedrock) => "ValidationException: expected toolResult blocks for the toolUse ids",
        ("call-has-result", Format::Anthropic) => {
            "400: `tool_use` ids were found without `tool_result` blocks immediately after"
        }
        ("call-has-result", Format::OpenAi) => {
            "400: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"
        }
        ("call-has-result", Format::OpenAiResponses) => "400: no tool output found for function call",
        ("call-has-result", Format::AiSdk) => "MissingToolResultsError: tool result is missing for tool call",
        ("call-ids-unique", Format::Bedrock) => "ValidationException: the toolUse blocks contain duplicate ids",
        ("call-ids-unique", Format::Anthropic) => "400: `tool_use` ids must be unique",
        ("starts-with-user", Format::Bedrock) => "ValidationException: a conversation must start with a user message",
        ("starts-with-user", Format::Anthropic) => "400: first message must use the \"user\" role",
        ("starts-with-user", Format::Gemini) => {
            "400: function call turn must come immediately after a user turn or a function response turn"
        }
        ("roles-alternate", _) => "ValidationException: roles must alternate between \"user\" and \"assistant\"",
        ("no-blank-text", Format::Bedrock) => "ValidationException: the text field in the ContentBlock object is blank",
        ("no-blank-text", _) => "400: text content blocks must contain non-whitespace text",
        ("no-empty-message", Format::Bedrock) => {
            "ValidationException: the content field in the Message object is empty"
        }
        ("no-empty-message", Format::Gemini) => "400: contents.parts must not be empty",
        ("no-empty-message", _) => "400: messages must have non-empty content",
        ("system-not-in-messages", Format::Gemini) => "400: please use a valid role: user, model",
        ("system-not-in-messages", _) => "400: unexpected role \"system\"",
        ("results-not-mixed", _) => {
            "400: within a single message, FunctionResponse cannot be mixed with other type of part"
        }
        ("result-names-tool", _) => "400: the name of a function response must match that of its function call",
        ("results-first", _) => "400: `tool_result` blocks must stand before other content",
        ("reasoning-not-last", _) => "400: the final block in an assistant message cannot be `thinking`",
        ("role-allows-block", _) => "400: this block is not allowed in a message of this role",
        _ => "400: invalid request",
    }
}
