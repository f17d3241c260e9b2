//! Counts the tokens that a request needs beside its messages.

use crate::error::Result;
use crate::ledger::Ledger;
use crate::tokens::TextKind;
use crate::wire::Node;

/// Tokens of a system prompt and of tool definitions, given as text or as any JSON-like value. Other threads of the host
/// run meanwhile.
///
/// # Errors
/// `Conversation` if a value is nested too deeply.
pub fn fixed_tokens<N: Node>(ledger: &Ledger, system: Option<&N>, tools: Option<&N>) -> Result<usize> {
    let counter = ledger.now();
    let mut total = 0;
    for (value, kind) in [(system, TextKind::Prose), (tools, TextKind::Json)] {
        let Some(value) = value else { continue };
        let text = match value.text() {
            Some(text) => text,
            None => value.rendered()?,
        };
        total += value.aside(|| counter.count_remembered(&text, kind));
    }
    Ok(total)
}
