//! Counts the tokens of a request beside its messages.

use crate::error::Result;
use crate::ledger::Ledger;
use crate::tokens::TextKind;
use crate::wire::Node;

/// Returns the tokens of a system prompt or of tool definitions, given as text or as any JSON-like value. Other threads
/// of the host can run meanwhile.
///
/// # Errors
/// `Conversation` if the value is nested too deeply.
pub fn fixed_tokens<N: Node>(ledger: &Ledger, value: &N, kind: TextKind) -> Result<usize> {
    let text = value.text().map_or_else(|| value.rendered(), Ok)?;
    let counter = ledger.now();
    Ok(value.aside(|| counter.count_remembered(&text, kind)))
}
