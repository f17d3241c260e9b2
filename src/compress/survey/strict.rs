//! Converts JSON as Python writes it to strict JSON.

/// Python's names for numbers that JSON does not have, longest first.
const NAMES: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// Returns the text with those names in quotes, as Prometheus writes them. O(length).
pub(super) fn quoted(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len() + 16);
    let (mut written, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = after_string(bytes, at),
            b'N' | b'I' | b'-' => match NAMES.iter().find(|name| text[at..].starts_with(**name)) {
                Some(name) => {
                    out.push_str(&text[written..at]);
                    out.push('"');
                    out.push_str(name);
                    out.push('"');
                    at += name.len();
                    written = at;
                }
                None => at += 1,
            },
            _ => at += 1,
        }
    }
    out.push_str(&text[written..]);
    out
}

fn after_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}
