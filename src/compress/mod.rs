//! Shorter text for long text: what a tool printed, by what it is.
//!
//! A text is cleaned of what a terminal would not show, a room that knows its kind takes it apart into pieces and ranks
//! them, and as many are kept, the most needed first, as a budget allows. What is left out is named where it stood.
//!
//! What always holds: the outcome is shorter than the text and fits the budget; a bigger budget never keeps less; every
//! line that reports a failure is kept, or counted where it was left out; the same input gives the same bytes.

mod alarms;
mod build;
mod choose;
mod clean;
mod code;
mod diff;
mod focus;
mod gap;
mod head_tail;
mod listing;
mod log;
mod outline;
mod ranked;
mod render;
mod sample;
mod search;
mod test_run;
mod trace;

pub use choose::Aim;
pub use focus::Focus;
pub use gap::{Gap, is_gap_line};
pub use head_tail::{Shortened, gap_line, head_and_tail};
pub use outline::{Absence, Outline, Piece, Rank, Unit, Wording};

use choose::Choosing;
use render::render;
use sample::Sample;

use crate::tokens::{CountTokens, TextKind};

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContentKind {
    /// What compilers and installers print.
    Build,
    /// Changes of files.
    Diff,
    /// A list of files.
    Listing,
    /// What a run of tests printed.
    TestRun,
    /// Stacks of calls, mostly of failures.
    Trace,
    /// Results of a search, with the files that they are in.
    Search,
    /// Source code, or a file of settings.
    Code,
    /// Lines of a program about what it does, which repeat.
    Log,
    /// Anything else.
    Text,
}

impl ContentKind {
    /// The public name.
    pub fn name(self) -> &'static str {
        match self {
            ContentKind::Build => "build output",
            ContentKind::Diff => "diff",
            ContentKind::Listing => "listing",
            ContentKind::TestRun => "test run",
            ContentKind::Trace => "stack trace",
            ContentKind::Search => "search results",
            ContentKind::Code => "source code",
            ContentKind::Log => "log",
            ContentKind::Text => "text",
        }
    }
}

/// A room: tells whether a text is of its kind, and takes it apart.
struct Room {
    kind: ContentKind,
    /// Whether a text that looks like this is of the kind. Cheap: it sees only a sample.
    claims: fn(&Sample<'_>) -> bool,
    means: Means,
}

/// How a room shortens.
enum Means {
    /// It takes the text apart into pieces; `None` where a closer look shows that it is something else.
    Pieces(for<'a> fn(&'a str) -> Option<Outline<'a>>),
}

/// The rooms, those of the clearest signs first. What none of them takes is a text of lines.
const ROOMS: &[Room] = &[
    Room { kind: ContentKind::Diff, claims: diff::claims, means: Means::Pieces(diff::outline) },
    Room {
        kind: ContentKind::TestRun,
        claims: test_run::claims,
        means: Means::Pieces(|text| Some(test_run::outline(text))),
    },
    Room { kind: ContentKind::Trace, claims: trace::claims, means: Means::Pieces(|text| Some(trace::outline(text))) },
    Room { kind: ContentKind::Build, claims: build::claims, means: Means::Pieces(|text| Some(build::outline(text))) },
    Room { kind: ContentKind::Listing, claims: listing::claims, means: Means::Pieces(listing::outline) },
    Room { kind: ContentKind::Search, claims: search::claims, means: Means::Pieces(search::outline) },
    Room { kind: ContentKind::Code, claims: code::claims, means: Means::Pieces(code::outline) },
];

/// What is left of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compressed {
    /// What is kept, with a line in each gap.
    pub text: String,
    /// What the text is.
    pub kind: ContentKind,
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

/// `text` shortened as `request` asks; `None` where that makes it no shorter. O(length).
///
/// Text of no kind keeps its head and its tail. Counted is what is left, lines in gaps included; at a budget that is too
/// small for anything, one such line is left.
pub fn compress(text: &str, request: &Request<'_>, counter: &dyn CountTokens) -> Option<Compressed> {
    let Request { tool, aim, kind, focus } = request;
    let (aim, kind) = (*aim, *kind);
    let cleaned = clean::clean(text);
    let (content, mut outline) = outline_of(tool, &cleaned);
    if let Some(focus) = focus {
        focus.raise(&mut outline, &cleaned);
    }
    let choosing = Choosing::of(&outline, &cleaned, kind, counter);
    let mut order = choosing.order(aim);
    let mut short = render(&outline, &cleaned, &choosing.kept(&order));
    // A tokenizer may make more of a text than of its pieces, by a token or two where they meet.
    while let Aim::Tokens(budget) = aim
        && !counter.fits(&short, kind, budget)
        && order.pop().is_some()
    {
        short = render(&outline, &cleaned, &choosing.kept(&order));
    }
    (short.len() < text.len()).then_some(Compressed { text: short, kind: content })
}

fn outline_of<'a>(tool: &str, text: &'a str) -> (ContentKind, Outline<'a>) {
    let sample = Sample::of(text, tool);
    for room in ROOMS {
        if !(room.claims)(&sample) {
            continue;
        }
        match room.means {
            Means::Pieces(outline) => {
                if let Some(outline) = outline(text) {
                    return (room.kind, outline);
                }
            }
        }
    }
    log::outline(text)
}
