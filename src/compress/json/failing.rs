//! Which values of JSON report a failure.

use super::tape::{Kind, Tape, after_space};

/// How sure it is that a value reports a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compress) enum Sign {
    /// It says so.
    Said,
    /// A number says so, as in `"errors": 3`; where many values do, it is a measure.
    Counted,
}

/// The values that report a failure, in their order, of those in which one of `alarms` stands or in whose key.
/// `alarms` are offsets in the text, sorted. O(alarms × log values).
pub(in crate::compress) fn failing(tape: &Tape, text: &str, alarms: &[usize]) -> Vec<(usize, Sign)> {
    let mut found: Vec<(usize, Sign)> = Vec::new();
    for alarm in alarms {
        let Some(node) = tape.at(*alarm).filter(|node| tape.node(*node).span().contains(alarm)) else { continue };
        if tape.node(node).kind != Kind::String {
            continue;
        }
        let sign = if is_key(tape, text, node) {
            sign_of(tape, text, node + 1).map(|sign| (node + 1, sign))
        } else {
            Some((node, Sign::Said))
        };
        let Some((node, sign)) = sign else { continue };
        match found.last_mut() {
            // A key and its value may both say so.
            Some(last) if last.0 == node => last.1 = sign,
            Some(last) if last.0 > node => {}
            _ => found.push((node, sign)),
        }
    }
    found
}

fn is_key(tape: &Tape, text: &str, node: usize) -> bool {
    let end = tape.node(node).span().end;
    text.as_bytes().get(after_space(text.as_bytes(), end)) == Some(&b':')
}

/// What the value of a key such as `error` says; nothing if it is none.
fn sign_of(tape: &Tape, text: &str, value: usize) -> Option<Sign> {
    let node = tape.node(value);
    let raw = &text[node.span()];
    let says_none = match node.kind {
        Kind::Object | Kind::Array => tape.next(value) == value + 1,
        Kind::String => matches!(raw, "\"\"" | "\"0\"" | "\"none\"" | "\"None\"" | "\"false\"" | "\"no\""),
        Kind::Number => !raw.bytes().any(|digit| matches!(digit, b'1'..=b'9')),
        Kind::Word => raw != "true",
    };
    let sign = if node.kind == Kind::Number { Sign::Counted } else { Sign::Said };
    (!says_none).then_some(sign)
}
