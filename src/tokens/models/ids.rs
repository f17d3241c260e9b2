//! Finds a model in a table of id prefixes.

/// The separators in an id. Gateways use different ones: `claude-3.5-sonnet`, `claude-3-5-sonnet`, `llama3-1`,
/// `Llama-3.1`, `claude-3-5-sonnet@20240620`.
const SEPARATORS: [u8; 4] = [b'-', b'.', b'_', b'@'];

/// Returns the entry with the longest beginning of the model's id.
///
/// Prefixes of providers and gateways are skipped: `us.anthropic.claude-…`, `bedrock/…`, `openai:…`. Of the segments
/// between slashes, the last one that matches an entry decides, because earlier ones name the host. A beginning ends at
/// a word boundary of the id: `gpt-4` is the beginning of `gpt-4-0613`, but not of `gpt-4o`. Case and separators do not
/// matter. O(segments x table).
pub fn by_beginning<'t, B: AsRef<str>, T>(id: &str, table: &'t [(B, T)]) -> Option<&'t T> {
    let id = id.to_ascii_lowercase();
    id.rsplit('/').find_map(|segment| {
        let prefixes = segment.match_indices(['.', ':']).map(|(at, _)| at + 1);
        std::iter::once(0).chain(prefixes).find_map(|start| longest(&segment[start..], table))
    })
}

fn longest<'t, B: AsRef<str>, T>(id: &str, table: &'t [(B, T)]) -> Option<&'t T> {
    table
        .iter()
        .filter(|(beginning, _)| begins(id, beginning.as_ref()))
        .max_by_key(|(beginning, _)| beginning.as_ref().len())
        .map(|(_, entry)| entry)
}

/// True if `id`, which is in lower case, begins with `beginning`, and a word of `id` ends there.
fn begins(id: &str, beginning: &str) -> bool {
    let mut rest = id.as_bytes();
    for byte in beginning.bytes() {
        let next = rest.first().copied();
        if SEPARATORS.contains(&byte) {
            rest = if next.is_some_and(|next| SEPARATORS.contains(&next)) { &rest[1..] } else { rest };
        } else if next == Some(byte.to_ascii_lowercase()) {
            rest = &rest[1..];
        } else {
            return false;
        }
    }
    !beginning.is_empty() && !rest.first().is_some_and(u8::is_ascii_alphanumeric)
}
