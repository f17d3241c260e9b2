//! A plan in words, for people.

use std::fmt::Write;

use super::Plan;
use crate::edit::{Action, Edit};
use crate::numbers::thousands;

impl Plan {
    /// What the plan does and why, a line for each edit.
    pub fn explain(&self) -> String {
        let mut out = format!(
            "{} messages, {} tokens; budget {} (starts above {}, goes down to {})\n",
            thousands(self.messages),
            thousands(self.tokens_before),
            thousands(self.budget.limit),
            thousands(self.budget.high),
            thousands(self.budget.low)
        );
        if self.edits.is_empty() {
            out.push_str("nothing to do\n");
        }
        for edit in &self.edits {
            explain_edit(&mut out, edit);
        }
        if !self.edits.is_empty() {
            let saved = self.tokens_before.saturating_sub(self.tokens_after);
            line(&mut out, &format!("after: {} tokens, {} saved", thousands(self.tokens_after), thousands(saved)));
        }
        for warning in &self.warnings {
            line(&mut out, &format!("warning: {warning}"));
        }
        out
    }
}

fn explain_edit(out: &mut String, edit: &Edit) {
    let what = match &edit.action {
        Action::Shorten { place, .. } => {
            format!("message {}, block {}: shortened", place.message, place.part)
        }
        Action::Remove { messages, .. } if messages.len() == 1 => {
            format!("message {}: removed", messages.start)
        }
        Action::Remove { messages, .. } => format!("messages {} to {}: removed", messages.start, messages.end - 1),
    };
    let kept = match &edit.reference {
        Some(reference) => format!("; stored as {reference}"),
        None => String::new(),
    };
    line(
        out,
        &format!(
            "  {:8} {what}, {} -> {} tokens ({}{kept})",
            edit.stage.name(),
            thousands(edit.tokens_before),
            thousands(edit.tokens_after),
            edit.stage.reason()
        ),
    );
}

fn line(out: &mut String, text: &str) {
    let _ = writeln!(out, "{text}"); // Writing to a string cannot fail.
}
