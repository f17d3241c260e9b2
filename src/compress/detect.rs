//! Chooses the module that shortens a text, by its content type.

use super::kind::ContentKind;
use super::outline::Outline;
use super::sample::Sample;
use super::{Request, blob, build, code, columns, diff, json, listing, log, markup, metrics, search, test_run, trace};
use crate::tokens::CountTokens;

/// A content type: recognizes its texts and splits them.
struct Detector {
    kind: ContentKind,
    /// True if a text with this sample is of the type. Cheap, because it sees only a sample.
    claims: fn(&Sample<'_>) -> bool,
    means: Means,
}

/// The method by which a content type shortens a text.
enum Means {
    /// Splits the text into pieces; `None` if a closer look shows another type.
    Pieces(for<'a> fn(&'a str) -> Option<Outline<'a>>),
    /// Writes the shortened text itself, because it has a form of its own; `None` if the text has another type.
    Whole(fn(&str, &Request<'_>, &dyn CountTokens) -> Option<String>),
}

/// The content types, clearest signs first. Any other text is plain lines.
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

/// A text that was split, or is already shortened.
pub(super) enum Detection<'a> {
    Apart(Outline<'a>),
    Short(String),
}

/// Shortens `text` by the first content type that claims it. O(length).
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
