//! Names that are kept without a line. If a line does not fit, its name may.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::lines::Lines;
use super::pick::{Item, Pick};
use super::sources::{Origin, Source};
use crate::anchors::anchors;

/// Bytes of a name for each token; and tokens of the space before it and of its share of the title.
const NAME_BYTES: f64 = 3.5;
const SPACE: f64 = 1.0;

/// Returns the estimated tokens of a name among others.
pub(super) fn cost(name: &str) -> f64 {
    name.len() as f64 / NAME_BYTES + SPACE
}

/// Returns the names among `picks` that are in no chosen line and in no title, in order of first appearance.
/// O(picks log picks + anchors).
pub(super) fn beside<'a>(sources: &'a [Source<'_>], lines: &Lines<'a>, picks: &[Pick]) -> Vec<&'a str> {
    let (mut names, mut in_line) = (Vec::new(), vec![false; lines.names.len()]);
    let mut elsewhere: HashSet<&str, RandomState> = HashSet::default();
    let mut add = |text: &'a str| {
        anchors(text, |anchor| {
            elsewhere.insert(&text[anchor.range]);
        });
    };
    let mut last = None;
    for pick in picks {
        let line = match pick.item {
            Item::Line(line) => &lines.all[line as usize],
            Item::Name(anchor) => {
                names.push(anchor);
                continue;
            }
        };
        let source = &sources[line.source as usize];
        if last.replace(line.source) != Some(line.source) {
            add(&source.title);
        }
        lines.anchors[line.anchors.clone()].iter().for_each(|anchor| in_line[*anchor as usize] = true);
        if matches!(source.origin, Origin::Statement | Origin::Request) {
            // These lines have no anchors of their own.
            add(&source.text[line.text.clone()]);
        }
    }
    names.sort_unstable();
    let names = names.into_iter().filter(|name| !in_line[*name as usize]).map(|name| lines.names[name as usize]);
    names.filter(|name| !elsewhere.contains(name)).collect()
}
