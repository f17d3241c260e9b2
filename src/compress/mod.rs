//! Shorter text for long text: what a tool printed, by what it is.
//!
//! A text is cleaned of what a terminal would not show, a room that knows its kind takes it apart into pieces and ranks
//! them, and as many are kept, the most needed first, as a budget allows. What is left out is named where it stood.
//!
//! What always holds: the outcome is shorter than the text and fits the budget; a bigger budget never keeps less; every
//! line that reports a failure is kept, or counted where it was left out; what was shortened is not shortened again to
//! the same budget; the same input gives the same bytes.

mod alarms;
mod blob;
mod build;
mod choose;
mod clean;
mod code;
mod columns;
mod diff;
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
mod rooms;
mod sample;
mod search;
mod series;
mod table;
mod test_run;
mod trace;

pub use choose::Aim;
pub use focus::Focus;
pub use gap::{Gap, LeftOut, is_gap_line};
pub use kind::ContentKind;
pub use plain::{Compressor, JsonSample, Plain, PlainContent, json_sample};

use choose::Choosing;
use gap::{SPARED, has_gap_line};
use outline::{Outline, Unit};
use render::{Rendered, render};
use rooms::{Taken, take};

use crate::tokens::{CountTokens, TextKind};

/// What is left of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compressed {
    /// What is kept, with a line in each gap.
    pub text: String,
    /// What the text is.
    pub kind: ContentKind,
    /// What is left out, in the order of the text; nothing where the outcome says so in a form of its own.
    pub left_out: Vec<LeftOut>,
}

/// What is to be shortened, how far, and what for.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// What the tool that returned the text is called; empty where that is not known.
    pub tool: &'a str,
    /// How much to keep.
    pub aim: Aim,
    /// What the outcome counts as.
    pub kind: TextKind,
    /// The lines that were asked for, where the call names some.
    pub focus: Option<Focus<'a>>,
}

impl<'a> Request<'a> {
    /// What `tool` returned, to `aim`.
    pub fn of(tool: &'a str, aim: Aim) -> Request<'a> {
        Request { tool, aim, kind: TextKind::ToolOutput, focus: None }
    }
}

/// `text` shortened as `request` asks; `None` where that makes it no shorter, or it was done before. O(length).
///
/// Text of no kind keeps its head and its tail. Counted is what is left, lines in gaps included; at a budget that is too
/// small for anything, one such line is left.
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
    // Where nothing tells that it was shortened, a second time must not find more to leave out.
    while request.aim == Aim::Essence
        && !has_gap_line(&short.text)
        && !json::is_shortened(&short.text)
        && let Some(again) = once(&short.text, request, counter)
    {
        if again.kind == ContentKind::Json {
            // A line behind it would make it something else. OK to go on since each time is shorter.
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
    let Rendered { text: short, left_out } = match taken {
        Taken::Apart(outline) => kept(outline, &cleaned, request, counter),
        Taken::Short(text) => Rendered { text, left_out: Vec::new() },
    };
    if is_shorter(&short, text) {
        return Some(Compressed { text: short, kind, left_out });
    }
    // A form of its own can be longer than what it stands for; lines are not.
    let Aim::Tokens(budget) = request.aim else { return None };
    (0..TIGHTENED).find_map(|times| {
        let aim = Aim::Tokens(budget - budget * times / TIGHTENED);
        let (kind, outline) = log::outline(&cleaned);
        let Rendered { text: short, left_out } = kept(outline, &cleaned, &Request { aim, ..request.clone() }, counter);
        is_shorter(&short, text).then_some(Compressed { text: short, kind, left_out })
    })
}

/// Whether `short` has fewer bytes and no more characters than `text`.
fn is_shorter(short: &str, text: &str) -> bool {
    short.len() < text.len() && short.chars().count() <= text.chars().count()
}

/// Times that a budget is made smaller until what is left is shorter than the text.
const TIGHTENED: usize = 20;

/// The pieces of `outline` that `request` keeps.
fn kept(mut outline: Outline<'_>, text: &str, request: &Request<'_>, counter: &dyn CountTokens) -> Rendered {
    if let Some(focus) = &request.focus {
        focus.raise(&mut outline, text);
    }
    if outline.unit == Unit::Lines && has_gap_line(text) {
        // Shortened before: its lines do not have the numbers of the original.
        outline.unit = Unit::Items("lines");
    }
    let choosing = Choosing::of(&outline, text, request.kind, counter);
    let mut order = choosing.order(request.aim);
    let mut short = render(&outline, text, &choosing.kept(&order));
    // A tokenizer may make more of a text than of its pieces, by a token or two where they meet.
    while let Aim::Tokens(budget) = request.aim
        && !counter.fits(&short.text, request.kind, budget)
        && order.pop().is_some()
    {
        short = render(&outline, text, &choosing.kept(&order));
    }
    short
}
