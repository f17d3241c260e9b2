//! Judges what a provider accepts, without any code of ullage's.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use ullage::wire::Format;

/// The facts about an entry of the list that the rules need.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub role: String,
    pub calls: Vec<String>,
    pub results: Vec<String>,
    /// True if it has anything but calls and results.
    pub words: bool,
}

fn said(entry: &Value, format: Format) -> Said {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let kind = entry["type"].as_str().unwrap_or("message");
    let mut out = Said { role: text(&entry["role"]).unwrap_or_default(), ..Said::default() };
    let blocks = if format == Format::Gemini { list(&entry["parts"]) } else { list(&entry["content"]) };
    let ids = |of: &dyn Fn(&Value) -> Option<String>| blocks.iter().filter_map(of).collect::<Vec<_>>();
    let typed = |kind: &'static str, id: &'static str| {
        move |block: &Value| if block["type"] == kind { block[id].as_str().map(str::to_owned) } else { None }
    };
    match format {
        Format::Bedrock => {
            out.calls = ids(&|block| text(&block["toolUse"]["toolUseId"]));
            out.results = ids(&|block| text(&block["toolResult"]["toolUseId"]));
        }
        Format::Anthropic => {
            out.calls = ids(&typed("tool_use", "id"));
            out.results = ids(&typed("tool_result", "tool_use_id"));
        }
        Format::OpenAi => {
            out.calls = list(&entry["tool_calls"]).iter().filter_map(|call| text(&call["id"])).collect();
            out.results = text(&entry["tool_call_id"]).into_iter().collect();
        }
        Format::OpenAiResponses => match kind {
            "message" => {}
            "function_call_output" => {
                out.results = text(&entry["call_id"]).into_iter().collect();
                "user".clone_into(&mut out.role);
            }
            kind => {
                out.calls = text(&entry["call_id"]).filter(|_| kind == "function_call").into_iter().collect();
                "assistant".clone_into(&mut out.role);
            }
        },
        Format::Gemini => {
            out.calls = ids(&|block| text(&block["functionCall"]["id"]));
            out.results = ids(&|block| text(&block["functionResponse"]["id"]));
        }
        Format::AiSdk => {
            out.calls = ids(&typed("tool-call", "toolCallId"));
            out.results = ids(&typed("tool-result", "toolCallId"));
        }
    }
    out.words = kind == "message" && (!blocks.is_empty() || entry["content"].is_string()) && out.results.is_empty();
    out.role = match out.role.as_str() {
        "tool" => "user".to_owned(),
        "model" => "assistant".to_owned(),
        role => role.to_owned(),
    };
    out
}

/// The messages of a list, however many entries each takes.
pub fn turns(messages: &Value, format: Format) -> Vec<Said> {
    let mut turns: Vec<Said> = Vec::new();
    let mut open = false;
    for entry in messages.as_array().expect("a list") {
        let said = said(entry, format);
        let answers = !said.results.is_empty();
        let joins = |before: &Said| match format {
            // Anthropic makes one turn of what is of one role in a row. Bedrock refuses it, which is for `roles` to say.
            Format::Bedrock | Format::Anthropic => true,
            Format::OpenAi | Format::AiSdk => open && said.role == "user",
            Format::OpenAiResponses => said.role == "assistant" || open && said.role == "user",
            Format::Gemini if said.role == "assistant" => before.calls.is_empty() || !said.calls.is_empty(),
            Format::Gemini => open,
        };
        let goes_on = turns.last().is_some_and(|before| before.role == said.role && joins(before));
        open = answers;
        match turns.last_mut() {
            Some(before) if goes_on => {
                before.calls.extend(said.calls);
                before.results.extend(said.results);
                before.words |= said.words;
            }
            _ => turns.push(said),
        }
    }
    turns
}

/// Violations of the rule of pairs: all calls are answered together in the next message, and nothing else is answered. The
/// calls of the last message may wait.
pub fn unpaired(messages: &Value, format: Format) -> Vec<String> {
    let mut problems = Vec::new();
    let mut waiting = Vec::new();
    for (index, mut turn) in turns(messages, format).into_iter().enumerate() {
        turn.results.sort_unstable();
        if turn.results != waiting {
            problems.push(format!("message {index} answers {:?}, asked were {waiting:?}", turn.results));
        }
        turn.calls.sort_unstable();
        waiting = turn.calls;
    }
    problems
}

/// The entries of a list.
pub fn entries(messages: &Value) -> &[Value] {
    messages.as_array().expect("a list")
}

/// True if the list ends in results to some of the last calls, but not to all.
pub fn waits_for_more(messages: &Value, format: Format) -> bool {
    match &turns(messages, format)[..] {
        [.., asked, answered] => !answered.results.is_empty() && answered.results.len() < asked.calls.len(),
        _ => false,
    }
}

/// The calls that wait at the end.
pub fn waiting(messages: &Value, format: Format) -> usize {
    turns(messages, format).last().map_or(0, |turn| turn.calls.len())
}

/// Counts the messages whose role repeats the one before, without system messages, and says if the user's comes first.
pub fn roles(messages: &Value, format: Format) -> (usize, bool) {
    let turns = match format {
        Format::Bedrock => entries(messages).iter().map(|entry| said(entry, format)).collect(),
        _ => turns(messages, format),
    };
    let roles: Vec<&str> = turns.iter().map(|turn| turn.role.as_str()).filter(|role| *role != "system").collect();
    let repeated = roles.windows(2).filter(|pair| pair[0] == pair[1]).count();
    (repeated, roles.first().is_none_or(|role| *role == "user"))
}

pub fn is_pinned(message: &Value) -> bool {
    message["metadata"]["custom"]["pinned"] == true
}

pub fn is_signed(message: &Value) -> bool {
    message["content"].as_array().is_some_and(|blocks| {
        blocks.iter().any(|block| {
            block["reasoningContent"]["reasoningText"]["signature"].is_string()
                || block["signature"].as_str().is_some_and(|signature| !signature.is_empty())
        })
    })
}

/// Index before, index after of every entry that stays, whole or edited: `render` has numbered them.
pub fn survivors(after: &Value) -> BTreeMap<usize, usize> {
    let entries = after.as_array().expect("a list").iter().enumerate();
    entries.filter_map(|(at, entry)| Some((usize::try_from(entry["x-entry"].as_u64()?).ok()?, at))).collect()
}

/// The blocks of an entry, each text of a plain string being one.
pub fn blocks(entry: &Value) -> Vec<Value> {
    match entry.get("content").or_else(|| entry.get("parts")) {
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(Value::String(text)) => {
            texts(text).into_iter().map(|text| serde_json::json!({ "type": "text", "text": text })).collect()
        }
        other => other.cloned().into_iter().collect(),
    }
}

/// The texts of a string, which a line of six digits and dashes parts.
pub fn texts(string: &str) -> Vec<&str> {
    let length = "\n\n123456 ---\n".len();
    let is_border = |end: &usize| {
        let border = end.checked_sub(length).and_then(|at| string.get(at..*end));
        let number = border.and_then(|border| border.strip_prefix("\n\n")?.strip_suffix(" ---\n"));
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let ends = string.match_indices(" ---\n").map(|(at, tail)| at + tail.len());
    let borders: Vec<usize> = ends.filter(is_border).collect();
    let starts = std::iter::once(0).chain(borders.iter().copied());
    let ends = borders.iter().map(|end| end - length).chain([string.len()]);
    starts.zip(ends).map(|(start, end)| &string[start..end]).collect()
}

/// Every text in a value, at any depth.
pub fn strings<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => into.extend(texts(text)),
        Value::Array(items) => items.iter().for_each(|item| strings(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, into)),
        _ => {}
    }
}

/// Everything that looks like a reference in a text.
pub fn references(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    text.split(|c: char| !word(c))
        .filter(|word| {
            word.rsplit_once('-').is_some_and(|(tool, hash)| {
                !tool.is_empty() && hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit())
            })
        })
        .map(str::to_owned)
        .collect()
}
