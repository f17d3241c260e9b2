//! Chooses the module that shortens a text, by its content type.

use super::kind::ContentKind;
use super::outline::Outline;
use super::sample::Sample;
use super::{Request, blob, build, code, columns, diff, json, listing, log, markup, metrics, search, test_run, trace};
use crate::tokens::CountTokens;

/// A room: tells whether a text is of its kind, and takes it apart.
struct Detector {
    kind: ContentKind,
    /// True if a text that looks like this is of the kind. Cheap: it sees only a sample.
    claims: fn(&Sample<'_>) -> bool,
    means: Means,
}

/// The method of a room.
enum Means {
    /// It takes the text apart into pieces; `None` where a closer look shows that it is something else.
    Pieces(for<'a> fn(&'a str) -> Option<Outline<'a>>),
    /// It writes what is left itself, since the outcome has a form of its own; `None` where the text is something else.
    Whole(fn(&str, &Request<'_>, &dyn CountTokens) -> Option<String>),
}

/// The rooms, those of the clearest signs first. What none of them takes is a text of lines.
const ROOMS: &[Detector] = &[
    Detector { kind: ContentKind::Records, claims: json::claims_records, means: Means::Pieces(json::records) },
    Detector { kind: ContentKind::Json, claims: json::claims, means: Means::Whole(json_shrunk) },
    Detector { kind: ContentKind::Diff, claims: diff::claims, means: Means::Pieces(diff::outline) },
    Detector { kind: ContentKind::Diff, claims: diff::claims_history, means: Means::Pieces(diff::history) },
    Detector {
        kind: ContentKind::TestRun,
        claims: test_run::claims,
        means: Means::Pieces(|text| Some(test_run::outline(text))),
    },
    Detector {
        kind: ContentKind::Trace,
        claims: trace::claims,
        means: Means::Pieces(|text| Some(trace::outline(text))),
    },
    Detector {
        kind: ContentKind::Build,
        claims: build::claims,
        means: Means::Pieces(|text| Some(build::outline(text))),
    },
    Detector { kind: ContentKind::JsonLines, claims: json::claims_lines, means: Means::Pieces(json::records_of_lines) },
    Detector { kind: ContentKind::Markup, claims: markup::claims, means: Means::Pieces(markup::outline) },
    Detector { kind: ContentKind::Metrics, claims: metrics::claims, means: Means::Pieces(metrics::outline) },
    Detector { kind: ContentKind::Data, claims: blob::claims, means: Means::Pieces(blob::outline) },
    Detector { kind: ContentKind::Listing, claims: listing::claims, means: Means::Pieces(listing::outline) },
    Detector { kind: ContentKind::Search, claims: search::claims, means: Means::Pieces(search::outline) },
    Detector { kind: ContentKind::Table, claims: columns::claims, means: Means::Pieces(columns::outline) },
    Detector { kind: ContentKind::Code, claims: code::claims, means: Means::Pieces(code::outline) },
];

fn json_shrunk(text: &str, request: &Request<'_>, counter: &dyn CountTokens) -> Option<String> {
    json::shrink(text, request.aim, request.kind, counter)
}

/// A text that was taken apart, or is already shortened.
pub(super) enum Detection<'a> {
    Apart(Outline<'a>),
    Short(String),
}

/// Shortens `text` with the first room that claims it. O(length).
pub(super) fn take<'a>(
    text: &'a str,
    request: &Request<'_>,
    counter: &dyn CountTokens,
) -> (ContentKind, Detection<'a>) {
    let sample = Sample::of(text, request.tool);
    let taken = ROOMS.iter().filter(|room| (room.claims)(&sample)).find_map(|room| {
        let taken = match room.means {
            Means::Pieces(outline) => Detection::Apart(outline(text)?),
            Means::Whole(shrink) => Detection::Short(shrink(text, request, counter)?),
        };
        Some((room.kind, taken))
    });
    taken.unwrap_or_else(|| {
        let (kind, outline) = log::outline(text);
        (kind, Detection::Apart(outline))
    })
}
