//! Edits: calls that replace text, for which the agent must know the exact text.

use serde_json::Value;

use super::coverage::Coverage;
use super::pieces::{Piece, TextForm, Voice, line_key, pieces};
use crate::message::{Message, Part, Text};

/// Arguments with text to be replaced in common tools: Claude Code's `Edit` and `MultiEdit`, Anthropic's text editor,
/// and the editors of other agents.
const OLD_TEXT: [&str; 8] =
    ["old_string", "old_str", "old_text", "old_content", "oldString", "oldStr", "oldText", "oldContent"];

/// An edit after a cut: the keys of the lines that the agent can only know from before the cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    lines: Vec<u128>,
}

impl Edit {
    /// True if every such line is in `context`.
    pub(super) fn is_grounded(&self, context: &Coverage) -> bool {
        self.lines.iter().all(|line| context.has_line(*line))
    }
}

/// Returns the edits after a cut that need lines from before it.
pub(super) fn edits<T: Text>(before: &[Message<T>], after: &[Message<T>]) -> Vec<Edit> {
    let mut known = Coverage::default();
    for piece in before.iter().flat_map(pieces) {
        if piece.voice == Voice::Returned || piece.form == TextForm::Json {
            known.add_lines(piece);
        }
    }
    let mut shown_again = Coverage::default();
    let mut edits = Vec::new();
    for message in after {
        for part in &message.parts {
            if let Part::Call { input, .. } = part {
                let mut lines = Vec::new();
                if let Ok(input) = serde_json::from_str(input) {
                    old_lines(&input, &mut |line| lines.extend(line_key(line)));
                }
                lines.retain(|line| known.has_line(*line) && !shown_again.has_line(*line));
                if !lines.is_empty() {
                    edits.push(Edit { lines });
                }
            }
        }
        let returned = |piece: &Piece<'_>| piece.voice == Voice::Returned;
        pieces(message).into_iter().filter(returned).for_each(|piece| shown_again.add_lines(piece));
    }
    edits
}

/// Calls `each` with the lines of every text to be replaced. The parser limits the nesting of arguments.
fn old_lines(input: &Value, each: &mut impl FnMut(&str)) {
    match input {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if OLD_TEXT.contains(&name.as_str()) => text.lines().for_each(&mut *each),
                    value => old_lines(value, each),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| old_lines(item, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
