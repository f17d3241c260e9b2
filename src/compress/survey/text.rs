//! Shortens texts that serve as examples.

use serde_json::Value as Json;

use super::value::Value;

/// Returns the first `longest` characters, and the number of the rest.
pub(super) fn truncated(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}... ({} more characters)", &text[..end], text[end..].chars().count()),
    }
}

/// Returns a short value itself, or the beginning of its source if it is long.
pub(super) fn brief(value: Value<'_>, longest: usize) -> Json {
    let raw = value.raw();
    if raw.len() <= longest
        && let Ok(whole) = serde_json::from_str(raw)
    {
        return whole;
    }
    Json::String(truncated(&value.said(), longest))
}
