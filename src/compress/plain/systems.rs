//! The rules of each system, with its numbers and words.

use std::fmt::Write;

use serde_json::value::RawValue;

use super::json::{Json, JsonSample, clipped, json, json_sample, schema, string};
use super::{Plain, PlainContent, first, last, length};
use crate::numbers::thousands;

pub(super) fn cyber_autoagent(text: &str) -> Option<Plain> {
    /// Results with fewer characters stay unchanged.
    const THRESHOLD: usize = 10_000;
    /// Number of characters of a text that are kept.
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

pub(super) fn amplifier(text: &str) -> Option<String> {
    /// Number of characters that are kept.
    const HEAD: usize = 250;
    /// Characters of a token, by that system's estimate.
    const CHARACTERS_PER_TOKEN: usize = 4;
    let size = length(text);
    let tokens = thousands(size / CHARACTERS_PER_TOKEN);
    let head = first(text, HEAD);
    (size > HEAD).then(|| format!("[truncated: ~{tokens} tokens - call tool again if needed] {head}..."))
}

pub(super) fn supyagent(text: &str) -> Option<String> {
    /// Texts with at most this many characters stay whole.
    const LONG: usize = 2_000;
    /// Number of characters kept at the beginning.
    const HEAD: usize = 1_000;
    /// Number of characters kept at the end.
    const TAIL: usize = 500;
    (length(text) > LONG).then(|| format!("{}\n...[truncated]...\n{}", first(text, HEAD), last(text, TAIL)))
}

pub(super) fn valis(text: &str) -> String {
    /// Number of lines that are shown.
    const LINES: usize = 10;
    /// Number of characters of a line that are shown, so that an output of one line is shortened too.
    const LONGEST_LINE: usize = 1_000;
    let shown = |line: &str| match length(line) {
        size if size > LONGEST_LINE => {
            format!("{}... ({} more characters)", first(line, LONGEST_LINE), size - LONGEST_LINE)
        }
        _ => line.to_owned(),
    };
    let preview: Vec<String> = text.lines().take(LINES).map(shown).collect();
    let more = text.lines().count().saturating_sub(LINES);
    let preview = preview.join("\n");
    if more == 0 { preview } else { format!("{preview}\n... ({more} more lines)") }
}

pub(super) fn sre_agent(text: &str) -> Option<Plain> {
    /// Number of characters of a text that are kept.
    const LONGEST: usize = 200_000;
    /// Number of items of a list that are kept.
    const ITEMS: usize = 500;
    /// Number of characters of anything else that are shown.
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

pub(super) fn sre_agent_payload(text: &str) -> Option<Plain> {
    /// A list with at most this many items is not sampled.
    const ITEMS: usize = 50;
    /// Anything with at most this many characters is not sampled.
    const LONGEST: usize = 100_000;
    /// Number of items that are shown.
    const SAMPLES: usize = 3;
    /// Number of characters of an item that are shown.
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
