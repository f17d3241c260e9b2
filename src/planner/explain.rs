//! Explains a plan to people.

use std::fmt::Write;

use super::plan::Plan;
use crate::edit::{Action, Edit};
use crate::message::Spans;
use crate::numbers::thousands;
use crate::report::SummaryBy;

impl Plan {
    /// Returns the edits of the plan with their reasons, one on each line.
    pub fn explain(&self) -> String {
        let mut out = format!(
            "{} messages, {} tokens; budget {} (starts above {}, goes down to {})\n",
            thousands(self.spans.count()),
            thousands(self.tokens_before),
            thousands(self.budget.limit),
            thousands(self.budget.high),
            thousands(self.budget.low)
        );
        for repair in &self.repairs {
            line(&mut out, &format!("repaired: {repair}"));
        }
        if self.edits.is_empty() {
            out.push_str("nothing to do\n");
        }
        for edit in &self.edits {
            explain_edit(&mut out, edit, &self.spans);
        }
        if !self.edits.is_empty() {
            let saved = self.tokens_before.saturating_sub(self.tokens_after);
            let (after, rewritten) = (thousands(self.tokens_after), thousands(self.rewritten()));
            line(
                &mut out,
                &format!("after: {after} tokens, {} saved, {rewritten} to be cached again", thousands(saved)),
            );
        }
        if let Some(pending) = &self.pending {
            line(&mut out, &format!("a summary of up to {} tokens is still to be made", thousands(pending.tokens)));
        }
        if let Some(summary) = &self.summary {
            let by = match summary.by {
                SummaryBy::Summarizer => "by the summarizer",
                SummaryBy::Engine => "without a model",
            };
            line(&mut out, &format!("the summary was made {by} and takes {} tokens", thousands(summary.tokens)));
        }
        for warning in &self.warnings {
            line(&mut out, &format!("warning: {warning}"));
        }
        out
    }
}

fn explain_edit(out: &mut String, edit: &Edit, spans: &Spans) {
    let what = match &edit.action {
        Action::Shorten { place, .. } => {
            let (entry, part) = spans.place(place.message, place.part);
            format!("message {entry}, block {part}: shortened")
        }
        Action::Rewrite { message, part, .. } => {
            let (entry, part) = spans.place(*message, *part);
            format!("message {entry}, block {part}: arguments shortened")
        }
        Action::Drop { message, part } => {
            let (entry, part) = spans.place(*message, *part);
            format!("message {entry}, block {part}: dropped")
        }
        Action::Remove { messages, .. } => match spans.entries(messages.clone()) {
            entries if entries.len() == 1 => format!("message {}: removed", entries.start),
            entries => format!("messages {} to {}: removed", entries.start, entries.end - 1),
        },
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
            edit.why()
        ),
    );
}

fn line(out: &mut String, text: &str) {
    let _ = writeln!(out, "{text}"); // Writing to a string cannot fail.
}
