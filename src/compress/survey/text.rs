//! Texts as examples.

use serde_json::Value as Json;

use super::value::Value;

/// The first `longest` characters, and how many more there are.
pub(super) fn truncated(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}... ({} more characters)", &text[..end], text[end..].chars().count()),
    }
}

/// The value itself where it is short, and the front of its source where it is not.
pub(super) fn brief(value: Value<'_>, longest: usize) -> Json {
    let raw = value.raw();
    if raw.len() <= longest
        && let Ok(whole) = serde_json::from_str(raw)
    {
        return whole;
    }
    Json::String(truncated(&value.said(), longest))
}
