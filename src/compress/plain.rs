//! The plain ways of five systems that cut by characters: their numbers and their words, for those who rely on them.
//!
//! Each measures characters and not tokens, and looks at what a value is and not at what it says. Where a system's words
//! would make a text longer, it stays.

use std::fmt::Write;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::numbers::thousands;

/// What shortens a tool's output as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compressor {
    /// By what the output is, to a number of tokens: [`super::compress`].
    #[default]
    Content,
    /// Results from 10,000 characters on: the first 8,000 of a text, three keys of an object, three elements of a list.
    CyberAutoagent,
    /// The first 250 characters, and a hint to call the tool again.
    Amplifier,
    /// The first 1,000 and the last 500 characters of more than 2,000.
    Supyagent,
    /// A guard: 200,000 characters of a text, 500 items of a list, a preview of 100,000 of anything else.
    SreAgent,
    /// Three samples of a list of more than 50 items, or of anything of more than 100,000 characters.
    SreAgentPayload,
    /// The first ten lines, of what is above a number of tokens.
    Valis,
}

impl Compressor {
    /// Every one, for those who list them.
    pub const ALL: [Compressor; 7] = [
        Compressor::Content,
        Compressor::CyberAutoagent,
        Compressor::Amplifier,
        Compressor::Supyagent,
        Compressor::SreAgent,
        Compressor::SreAgentPayload,
        Compressor::Valis,
    ];

    /// The public name.
    pub fn name(self) -> &'static str {
        match self {
            Compressor::Content => "content",
            Compressor::CyberAutoagent => "cyber-autoagent",
            Compressor::Amplifier => "amplifier",
            Compressor::Supyagent => "supyagent",
            Compressor::SreAgent => "sre-agent",
            Compressor::SreAgentPayload => "sre-agent-payload",
            Compressor::Valis => "valis",
        }
    }

    /// Whether it shortens what is above a number of tokens, and has no threshold of its own.
    pub fn counts_tokens(self) -> bool {
        matches!(self, Compressor::Content | Compressor::Valis)
    }

    /// `text` cut the plain way; `None` where it stays, and for [`Compressor::Content`], which needs a budget. JSON is
    /// sampled by its keys or elements where the system does that. O(length).
    pub fn plain(self, text: &str) -> Option<Plain> {
        let cut = match self {
            Compressor::Content => None,
            Compressor::CyberAutoagent => cyber_autoagent(text),
            Compressor::Amplifier => amplifier(text).map(Plain::text),
            Compressor::Supyagent => supyagent(text).map(Plain::text),
            Compressor::SreAgent => sre_agent(text),
            Compressor::SreAgentPayload => sre_agent_payload(text),
            Compressor::Valis => Some(Plain::text(valis(text))),
        };
        cut.filter(|cut| cut.text.len() < text.len())
    }
}

/// A text that was cut the plain way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    /// What is left.
    pub text: String,
    /// What it was.
    pub content: PlainContent,
}

/// What a plain way takes a text for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainContent {
    /// Characters.
    Text,
    /// A JSON object of so many keys.
    Object(usize),
    /// A JSON list of so many elements.
    List(usize),
}

/// The upper layer of a JSON text in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonSample {
    /// What it is.
    pub content: PlainContent,
    /// Its first members or elements as JSON, without the brackets around them; long values as cut strings.
    pub members: String,
}

/// The first three members of a JSON object, or elements of a list, with a hundred characters of each; `None` if `text`
/// is neither. O(length).
pub fn json_sample(text: &str) -> Option<JsonSample> {
    /// Keys of an object, or elements of a list, that are shown.
    const SAMPLES: usize = 3;
    /// Characters of a value that are shown.
    const SAMPLE: usize = 100;
    let (content, members): (_, Vec<String>) = match json(text)? {
        Json::Object(members) => {
            let sample =
                |(key, value): &(String, &RawValue)| format!("{}:{}", string(key), clipped(value.get(), SAMPLE));
            (PlainContent::Object(members.len()), members.iter().take(SAMPLES).map(sample).collect())
        }
        Json::List(items) => {
            let sample = |item: &&RawValue| clipped(item.get(), SAMPLE);
            (PlainContent::List(items.len()), items.iter().take(SAMPLES).map(sample).collect())
        }
    };
    Some(JsonSample { content, members: members.join(",") })
}

impl Plain {
    fn text(text: String) -> Plain {
        Plain { text, content: PlainContent::Text }
    }
}

/// The upper layer of a JSON text; what stands below is not read.
enum Json<'a> {
    Object(Vec<(String, &'a RawValue)>),
    List(Vec<&'a RawValue>),
}

fn json(text: &str) -> Option<Json<'_>> {
    match text.trim_start().as_bytes().first()? {
        b'{' => serde_json::from_str(text).ok().map(|Members(members)| Json::Object(members)),
        b'[' => serde_json::from_str(text).ok().map(Json::List),
        _ => None,
    }
}

/// The members of an object in their order, twice where they are there twice.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Reader)
    }
}

/// The first `count` characters; all of them if there are fewer.
fn first(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

/// The last `count` characters.
fn last(text: &str, count: usize) -> &str {
    let start = text.char_indices().rev().take(count).last().map_or(text.len(), |(start, _)| start);
    &text[start..]
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// A JSON value, or the first `longest` characters of it as a string.
fn clipped(value: &str, longest: usize) -> String {
    if length(value) <= longest {
        return value.to_owned();
    }
    // What a string says, rather than how it is written.
    let said: Option<String> = serde_json::from_str(value).ok();
    let said = said.as_deref().unwrap_or(value);
    string(&format!("{}...", first(said, longest)))
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn cyber_autoagent(text: &str) -> Option<Plain> {
    /// Results of fewer characters stay.
    const THRESHOLD: usize = 10_000;
    /// Characters of a text that are kept.
    const HEAD: usize = 8_000;
    let size = length(text);
    if size < THRESHOLD {
        return None;
    }
    let Some(JsonSample { content, members }) = json_sample(text) else {
        return Some(Plain::text(format!("{}... [truncated from {size} chars]", first(text, HEAD))));
    };
    let compressed = length(&members);
    let (what, sample) = match content {
        PlainContent::List(items) => {
            (format!("{items} items"), format!("\"_n_original_items\":{items},\"_items\":[{members}]"))
        }
        PlainContent::Object(0) | PlainContent::Text => ("0 keys".to_owned(), "\"_n_original_keys\":0".to_owned()),
        PlainContent::Object(keys) => (format!("{keys} keys"), format!("\"_n_original_keys\":{keys},{members}")),
    };
    // Sizes of texts are far below 2^52, so they are exact.
    #[allow(clippy::cast_precision_loss)]
    let ratio = compressed as f64 / size as f64;
    let text = format!(
        "[Compressed: {size} → {compressed} chars ({:.1}%), {what}, type: json]\n{{\"_compressed\":true,\
         \"_original_size\":{size},\"_compressed_size\":{compressed},\"_compression_ratio\":{ratio:.3},\
         \"_type\":\"json\",{sample}}}",
        ratio * 100.0
    );
    Some(Plain { text, content })
}

fn amplifier(text: &str) -> Option<String> {
    /// Characters that are kept.
    const HEAD: usize = 250;
    /// Characters of a token, as that system estimates.
    const CHARACTERS_PER_TOKEN: usize = 4;
    let size = length(text);
    let tokens = thousands(size / CHARACTERS_PER_TOKEN);
    let head = first(text, HEAD);
    (size > HEAD).then(|| format!("[truncated: ~{tokens} tokens - call tool again if needed] {head}..."))
}

fn supyagent(text: &str) -> Option<String> {
    /// Texts of at most so many characters stay.
    const LONG: usize = 2_000;
    /// Characters that are kept in front.
    const HEAD: usize = 1_000;
    /// Characters that are kept at the end.
    const TAIL: usize = 500;
    (length(text) > LONG).then(|| format!("{}\n...[truncated]...\n{}", first(text, HEAD), last(text, TAIL)))
}

fn valis(text: &str) -> String {
    /// Lines that are shown.
    const LINES: usize = 10;
    /// Characters of a line that are shown, so that an output of one line is shortened too.
    const LONGEST_LINE: usize = 1_000;
    let preview: Vec<&str> = text.lines().take(LINES).map(|line| first(line, LONGEST_LINE)).collect();
    let more = text.lines().count().saturating_sub(LINES);
    let preview = preview.join("\n");
    if more == 0 { preview } else { format!("{preview}\n... ({more} more lines)") }
}

fn sre_agent(text: &str) -> Option<Plain> {
    /// Characters of a text that are kept.
    const LONGEST: usize = 200_000;
    /// Items of a list that are kept.
    const ITEMS: usize = 500;
    /// Characters of anything else that are shown.
    const PREVIEW: usize = 100_000;
    const GUARD: &str = "\n\n... [TRUNCATED BY SRE AGENT SAFETY GUARD: Result too large for LLM context] ...";
    let size = length(text);
    let (content, kept) = match json(text) {
        None if size <= LONGEST => return None,
        None => return Some(Plain::text(format!("{}{GUARD}", first(text, LONGEST)))),
        Some(Json::Object(members)) => (PlainContent::Object(members.len()), None),
        Some(Json::List(items)) if items.len() > ITEMS => {
            let kept: Vec<&str> = items[..ITEMS].iter().map(|item| item.get()).collect();
            let left_out = items.len() - ITEMS;
            let text = format!("{{\"result\":[{}],\"metadata\":{{\"truncated_count\":{left_out}}}}}", kept.join(","));
            (PlainContent::List(items.len()), Some(text))
        }
        Some(Json::List(items)) => (PlainContent::List(items.len()), None),
    };
    // A few items can be as large as many.
    let guarded = match kept {
        Some(kept) if length(&kept) <= LONGEST => kept,
        None if size <= LONGEST => return None,
        _ => format!(
            "{{\"error\":\"Result too large\",\"message\":\"Tool output ({} chars) exceeded safety limit. Try a more \
             specific filter.\",\"truncated_preview\":{}}}",
            thousands(size),
            string(&format!("{}...", first(text, PREVIEW)))
        ),
    };
    Some(Plain { text: guarded, content })
}

fn sre_agent_payload(text: &str) -> Option<Plain> {
    /// Items of a list that need no sampling.
    const ITEMS: usize = 50;
    /// Characters of anything that needs no sampling.
    const LONGEST: usize = 100_000;
    /// Items that are shown.
    const SAMPLES: usize = 3;
    /// Characters of an item that are shown.
    const SAMPLE: usize = 2_000;
    let json = json(text)?;
    let (content, total, items) = match &json {
        Json::Object(members) => (PlainContent::Object(members.len()), members.len(), Vec::new()),
        Json::List(items) => (PlainContent::List(items.len()), items.len(), items[..items.len().min(SAMPLES)].to_vec()),
    };
    if total <= ITEMS && length(text) <= LONGEST {
        return None;
    }
    let mut out = format!("{{\"total_count\":{total},\"schema_hint\":{},\"sample_items\":[", schema(&json));
    let samples: Vec<String> = match &json {
        Json::Object(members) => {
            let sample =
                |(key, value): &(String, &RawValue)| format!("{{{}:{}}}", string(key), clipped(value.get(), SAMPLE));
            members.iter().take(SAMPLES).map(sample).collect()
        }
        Json::List(_) => items.iter().map(|item| clipped(item.get(), SAMPLE)).collect(),
    };
    let _ = write!(out, "{}]}}", samples.join(",")); // Writing to a string cannot fail.
    Some(Plain { text: out, content })
}

/// The keys of an object, or of the first object in a list, with the types of their values.
fn schema(json: &Json<'_>) -> String {
    /// Keys that are named.
    const KEYS: usize = 50;
    let first = match json {
        Json::Object(members) => return types(members.iter().take(KEYS)),
        Json::List(items) => items.first().and_then(|item| serde_json::from_str::<Members<'_>>(item.get()).ok()),
    };
    first.map_or_else(|| "{}".to_owned(), |Members(members)| types(members.iter().take(KEYS)))
}

fn types<'a>(members: impl Iterator<Item = &'a (String, &'a RawValue)>) -> String {
    let named = |(key, value): &(String, &RawValue)| {
        let name = match value.get().as_bytes().first() {
            Some(b'{') => "object",
            Some(b'[') => "array",
            Some(b'"') => "string",
            Some(b't' | b'f') => "boolean",
            Some(b'n') => "null",
            _ => "number",
        };
        format!("{}:\"{name}\"", string(key))
    };
    format!("{{{}}}", members.map(named).collect::<Vec<_>>().join(","))
}
