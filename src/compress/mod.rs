//! Shortens long tool output by content type.
//!
//! First the text is cleaned of what a terminal would not show. The module for its content type splits it into ranked
//! pieces. The highest-ranked pieces are kept, as many as the budget allows. A line in each gap says what is missing.
//!
//! Guarantees: the output is shorter than the text and fits the budget. A bigger budget never keeps less. Every line
//! that reports a failure is kept, or counted in its gap. Shortened text is not shortened again to the same budget. The
//! same input gives the same bytes.

mod alike;
mod blob;
mod build;
mod choose;
mod clean;
mod code;
mod columns;
mod detect;
mod diff;
mod failure_words;
mod focus;
mod gap;
mod json;
mod kind;
mod listing;
mod log;
mod markup;
mod metrics;
mod outline;
mod plain;
mod ranked;
mod render;
mod sample;
mod search;
mod series;
mod survey;
mod table;
mod test_run;
mod trace;
mod written;

pub use choose::Aim;
pub use failure_words::{reports, reports_own_failure};
pub use focus::Focus;
pub use gap::{Gap, LeftOut, is_gap_line};
pub use kind::ContentKind;
pub use plain::{Compressor, JsonSample, Plain, PlainContent, json_sample};
pub use survey::{Payload, PayloadKind, Whole};
pub use written::{condense, pasted};

use choose::OutlineChoice;
use detect::{Detection, take};
use gap::{SPARED, has_gap_line};
use outline::{Outline, Unit};
use render::{Rendered, render};

use crate::tokens::{CountTokens, TextKind};

/// A shortened text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compressed {
    /// The kept text, with a line in each gap.
    pub text: String,
    /// The content type of the text.
    pub kind: ContentKind,
    /// The missing pieces, in the order of the text. Empty if the output describes its gaps in a form of its own.
    pub left_out: Vec<LeftOut>,
}

/// A text to shorten, with its limit and its purpose.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The name of the tool that returned the text; empty if unknown.
    pub tool: &'a str,
    /// The amount to keep.
    pub aim: Aim,
    /// The kind of text that the output is counted as.
    pub kind: TextKind,
    /// The lines that the call asked for, if it named some.
    pub focus: Option<Focus<'a>>,
}

impl<'a> Request<'a> {
    /// Returns a request to shorten the output of `tool` to `aim`.
    pub fn of(tool: &'a str, aim: Aim) -> Request<'a> {
        Request { tool, aim, kind: TextKind::ToolOutput, focus: None }
    }
}

/// Shortens `text` as `request` asks. `None` if that makes it no shorter, or if it is shortened already. O(length).
///
/// Text of no known type keeps its beginning and its end. The budget includes gap lines. If it is too small for any
/// piece, a single gap line is left.
pub fn compress(text: &str, request: &Request<'_>, counter: &dyn CountTokens) -> Option<Compressed> {
    let is_done = match request.aim {
        _ if is_gap_line(text) => true,
        Aim::Tokens(budget) => counter.fits(text, request.kind, budget),
        Aim::Essence => has_gap_line(text) || json::is_shortened(text),
    };
    if is_done {
        return None;
    }
    let mut short = once(text, request, counter)?;
    // If the output does not show that it was shortened, a second pass must find nothing more to leave out.
    while request.aim == Aim::Essence
        && !has_gap_line(&short.text)
        && !json::is_shortened(&short.text)
        && let Some(again) = once(&short.text, request, counter)
    {
        if again.kind == ContentKind::Json {
            // A further gap line would change its content type. The loop ends because each pass makes the text shorter.
            short = again;
            continue;
        }
        if !short.text.ends_with('\n') {
            short.text.push('\n');
        }
        short.text.push_str(SPARED);
    }
    is_shorter(&short.text, text).then_some(short)
}

fn once(text: &str, request: &Request<'_>, counter: &dyn CountTokens) -> Option<Compressed> {
    let cleaned = clean::clean(text);
    let (kind, taken) = take(&cleaned, request, counter);
    let short = match taken {
        Detection::Apart(outline) => select(outline, &cleaned, request, counter, |short| is_shorter(short, text)),
        Detection::Short(text) => Rendered { text, left_out: Vec::new() },
    };
    if is_shorter(&short.text, text) {
        return Some(Compressed { text: short.text, kind, left_out: short.left_out });
    }
    // Only JSON, which has its own form of markers, can become longer than the original; lines cannot.
    let (Aim::Tokens(_), ContentKind::Json) = (request.aim, kind) else { return None };
    let (kind, outline) = log::outline(&cleaned);
    let short = select(outline, &cleaned, request, counter, |short| is_shorter(short, text));
    is_shorter(&short.text, text).then_some(Compressed { text: short.text, kind, left_out: short.left_out })
}

/// True if `short` has fewer bytes and no more characters than `text`.
fn is_shorter(short: &str, text: &str) -> bool {
    short.len() < text.len() && short.chars().count() <= text.chars().count()
}

/// Returns the pieces of `outline` that `request` keeps.
///
/// The pieces chosen last are dropped again if the outcome does not fit, because a text may have more tokens than its
/// pieces together. They are also dropped while it is not `is_short`, because a made line may be longer than its
/// source.
fn select(
    mut outline: Outline<'_>,
    text: &str,
    request: &Request<'_>,
    counter: &dyn CountTokens,
    is_short: impl Fn(&str) -> bool,
) -> Rendered {
    if let Some(focus) = &request.focus {
        focus.raise(&mut outline, text);
    }
    if outline.unit == Unit::Lines && has_gap_line(text) {
        // It was shortened before, so its lines do not have the numbers of the original.
        outline.unit = Unit::Items("lines");
    }
    let choosing = OutlineChoice::of(&outline, text, request.kind, counter);
    let mut order = choosing.order(request.aim);
    let mut short = render(&outline, text, &choosing.selection(&order));
    let Aim::Tokens(budget) = request.aim else { return short };
    let is_good = |short: &str| is_short(short) && counter.fits(short, request.kind, budget);
    let mut tries = 0;
    while !is_good(&short.text) && !order.is_empty() {
        // First one piece at a time. The estimate is never far off for many pieces, and each try costs O(length).
        tries += 1;
        let going = if tries <= SINGLE_TRIES { 1 } else { order.len().div_ceil(2) };
        order.truncate(order.len() - going);
        short = render(&outline, text, &choosing.selection(&order));
    }
    short
}

/// Number of tries that drop one piece at a time.
const SINGLE_TRIES: usize = 64;
