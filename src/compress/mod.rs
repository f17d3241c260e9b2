//! Shorter text for long text: what a tool printed, by what it is.
//!
//! A text is cleaned of what a terminal would not show, a room that knows its kind takes it apart into pieces and ranks
//! them, and as many are kept, the most needed first, as a budget allows. What is left out is named where it stood.
//!
//! What always holds: the outcome is shorter than the text and fits the budget; a bigger budget never keeps less; every
//! line that reports a failure is kept, or counted where it was left out; the same input gives the same bytes.

mod alarms;
mod blob;
mod choose;
mod clean;
mod columns;
mod gap;
mod json;
mod log;
mod markup;
mod metrics;
mod outline;
mod plain;
mod render;
mod sample;
mod search;
mod series;
mod table;

pub use choose::Aim;
pub use gap::{Gap, LeftOut, is_gap_line};
pub use outline::{Outline, Piece, Rank, Unit, Wording};
pub use plain::{Compressor, JsonSample, Plain, PlainContent, json_sample};

use choose::Choosing;
use render::{Rendered, render};
use sample::Sample;

use crate::tokens::{CountTokens, TextKind};

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContentKind {
    /// An array of objects in JSON.
    Records,
    /// Any other JSON.
    Json,
    /// An object in JSON a line.
    JsonLines,
    /// HTML, XML and their like.
    Markup,
    /// Metrics as Prometheus exposes them.
    Metrics,
    /// Encoded data in lines.
    Data,
    /// Rows with separators or in columns.
    Table,
    /// Results of a search, with the files that they are in.
    Search,
    /// Lines of a program about what it does, which repeat.
    Log,
    /// Anything else.
    Text,
}

impl ContentKind {
    /// The public name.
    pub fn name(self) -> &'static str {
        match self {
            ContentKind::Records => "JSON records",
            ContentKind::Json => "JSON",
            ContentKind::JsonLines => "JSON lines",
            ContentKind::Markup => "markup",
            ContentKind::Metrics => "metrics",
            ContentKind::Data => "encoded data",
            ContentKind::Table => "table",
            ContentKind::Search => "search results",
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
    /// It writes what is left itself, since the outcome has a form of its own; `None` where the text is something else.
    Whole(fn(&str, Aim, TextKind, &dyn CountTokens) -> Option<String>),
}

/// The rooms, those of the clearest signs first. What none of them takes is a text of lines.
const ROOMS: &[Room] = &[
    Room { kind: ContentKind::Records, claims: json::claims_records, means: Means::Pieces(json::records) },
    Room { kind: ContentKind::Json, claims: json::claims, means: Means::Whole(json::shrink) },
    Room { kind: ContentKind::JsonLines, claims: json::claims_lines, means: Means::Pieces(json::records_of_lines) },
    Room { kind: ContentKind::Markup, claims: markup::claims, means: Means::Pieces(markup::outline) },
    Room { kind: ContentKind::Metrics, claims: metrics::claims, means: Means::Pieces(metrics::outline) },
    Room { kind: ContentKind::Data, claims: blob::claims, means: Means::Pieces(blob::outline) },
    Room { kind: ContentKind::Search, claims: search::claims, means: Means::Pieces(search::outline) },
    Room { kind: ContentKind::Table, claims: columns::claims, means: Means::Pieces(columns::outline) },
];

/// What is left of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compressed {
    /// What is kept, with a line in each gap.
    pub text: String,
    /// What the text is.
    pub kind: ContentKind,
    /// What is left out, in the order of the text.
    pub left_out: Vec<LeftOut>,
}

/// `text`, which `tool` returned, shortened to `aim`; `None` where that makes it no shorter. O(length).
///
/// Text of no kind keeps its head and its tail. Counted is what is left, lines in gaps included; at a budget that is too
/// small for anything, one such line is left.
pub fn compress(tool: &str, text: &str, aim: Aim, kind: TextKind, counter: &dyn CountTokens) -> Option<Compressed> {
    let cleaned = clean::clean(text);
    let short = of_room(tool, &cleaned, aim, kind, counter).unwrap_or_else(|| {
        let (content, outline) = log::outline(&cleaned);
        (content, kept(outline, &cleaned, aim, kind, counter))
    });
    let (content, Rendered { text: short, left_out }) = short;
    (short.len() < text.len()).then_some(Compressed { text: short, kind: content, left_out })
}

/// What the first room makes of `text` that takes it.
fn of_room(
    tool: &str,
    text: &str,
    aim: Aim,
    kind: TextKind,
    counter: &dyn CountTokens,
) -> Option<(ContentKind, Rendered)> {
    let sample = Sample::of(text, tool);
    ROOMS.iter().filter(|room| (room.claims)(&sample)).find_map(|room| {
        let short = match room.means {
            Means::Pieces(outline) => kept(outline(text)?, text, aim, kind, counter),
            Means::Whole(shrink) => Rendered { text: shrink(text, aim, kind, counter)?, left_out: Vec::new() },
        };
        Some((room.kind, short))
    })
}

/// The pieces that `aim` keeps.
fn kept(mut outline: Outline<'_>, text: &str, aim: Aim, kind: TextKind, counter: &dyn CountTokens) -> Rendered {
    if outline.unit == Unit::Lines && text.lines().any(is_gap_line) {
        // Shortened before: its lines do not have the numbers of the original.
        outline.unit = Unit::Items("lines");
    }
    let choosing = Choosing::new(&outline, text, kind, counter);
    let mut order = choosing.order(aim);
    let mut short = render(&outline, text, &choosing.kept(&order));
    // A tokenizer may make more of a text than of its pieces, by a token or two where they meet.
    while let Aim::Tokens(budget) = aim
        && !counter.fits(&short.text, kind, budget)
        && order.pop().is_some()
    {
        short = render(&outline, text, &choosing.kept(&order));
    }
    short
}
