//! The plain cover of lines: a baseline for the digest.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};

use foldhash::fast::RandomState;

use super::coverage::Coverage;
use super::pieces::{Voice, line_key, lines, pieces};
use crate::anchors::{anchors, strip_line_number};
use crate::ledger::Counting;
use crate::message::{Conversation, Text};
use crate::tokens::{CountTokens, TextKind};

/// Weight of a line's age: 0 at the beginning of the history, this at its end.
const RECENCY: f64 = 2.0;
/// Weight of an anchor's frequency: this times the logarithm of its count.
const FREQUENCY: f64 = 0.6;
/// A use of an anchor by the model counts like this many occurrences.
const USE: f64 = 2.0;
/// Cost of every line beside its own characters.
const LINE: f64 = 15.0;

/// A line that may be chosen.
struct Candidate {
    text: String,
    recency: f64,
    /// Its anchors, as indices in the table of all anchors.
    anchors: Vec<usize>,
}

/// A line by its last known worth. Of equal lines, the first one ranks higher.
#[derive(PartialEq)]
struct RankedLine(f64, usize);

impl Eq for RankedLine {}

impl Ord for RankedLine {
    fn cmp(&self, other: &RankedLine) -> Ordering {
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for RankedLine {
    fn partial_cmp(&self, other: &RankedLine) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The anchors of a history.
#[derive(Default)]
struct Table {
    places: HashMap<String, usize, RandomState>,
    weights: Vec<f64>,
    /// True for each anchor that is kept without any line.
    shown: Vec<bool>,
}

/// Returns the lines of results before the message `oldest` with the most worth in `room` tokens, and their tokens. The
/// worth of a line is the sum over its anchors that are not kept yet of `2 x recency + 0.6 x ln(1 + occurrences + 2 x
/// uses)`, divided by 15 plus its length. A line is chosen only if half of its anchors are new.
#[allow(clippy::cast_precision_loss)] // Lengths and places in a history stay far below 2^52.
pub(super) fn cover<T: Text>(
    history: &Conversation<T>,
    oldest: usize,
    shown: &Coverage,
    counting: Counting<'_>,
    room: usize,
) -> Vec<(String, usize)> {
    let table = Table::of(history, shown);
    let candidates = candidates(history, oldest, &table);
    let mut covered = table.shown.clone();
    let worth = |candidate: &Candidate, covered: &[bool]| {
        let new: Vec<usize> = candidate.anchors.iter().copied().filter(|anchor| !covered[*anchor]).collect();
        let half = !new.is_empty() && 2 * new.len() >= candidate.anchors.len();
        let sum: f64 = new.iter().map(|anchor| RECENCY * candidate.recency + table.weights[*anchor]).sum();
        half.then(|| sum / (LINE + candidate.text.chars().count() as f64))
    };
    let mut ranked: BinaryHeap<RankedLine> = candidates
        .iter()
        .enumerate()
        .filter_map(|(index, candidate)| Some(RankedLine(worth(candidate, &covered)?, index)))
        .collect();
    let (mut taken, mut room) = (Vec::new(), room);
    while let Some(RankedLine(_, index)) = ranked.pop() {
        let candidate = &candidates[index];
        let Some(now) = worth(candidate, &covered) else { continue };
        let now = RankedLine(now, index);
        // Lines chosen since then may have lowered its worth.
        if ranked.peek().is_some_and(|next| *next > now) {
            ranked.push(now);
            continue;
        }
        let line = [&candidate.text, "\n"].concat();
        let tokens = counting.count(&line, TextKind::ToolOutput);
        if tokens <= room {
            room -= tokens;
            candidate.anchors.iter().for_each(|anchor| covered[*anchor] = true);
            taken.push((index, line, tokens));
        }
    }
    taken.sort_unstable_by_key(|(index, ..)| *index);
    taken.into_iter().map(|(_, line, tokens)| (line, tokens)).collect()
}

impl Table {
    #[allow(clippy::cast_precision_loss)] // As above.
    fn of<T: Text>(history: &Conversation<T>, shown: &Coverage) -> Table {
        let mut table = Table::default();
        let mut counts: Vec<(usize, usize)> = Vec::new();
        for piece in history.messages.iter().flat_map(pieces) {
            anchors(piece.text, |anchor| {
                let anchor = &piece.text[anchor.range];
                let next = counts.len();
                let place = *table.places.entry(anchor.to_owned()).or_insert(next);
                if place == next {
                    counts.push((0, 0));
                    table.shown.push(shown.has_anchor(anchor));
                }
                match piece.voice {
                    Voice::Returned => counts[place].0 += 1,
                    Voice::Used => counts[place].1 += 1,
                    Voice::Given | Voice::Aside => {}
                }
            });
        }
        let weight = |(occurrences, uses): &(usize, usize)| (*occurrences as f64 + USE * *uses as f64).ln_1p();
        table.weights = counts.iter().map(|counts| FREQUENCY * weight(counts)).collect();
        table
    }
}

/// Returns every different line with anchors in the results before the message `oldest`. Of equal lines it is the
/// newest.
#[allow(clippy::cast_precision_loss)] // As above.
fn candidates<T: Text>(history: &Conversation<T>, oldest: usize, table: &Table) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut seen: HashSet<u128, RandomState> = HashSet::default();
    for index in (0..oldest.min(history.messages.len())).rev() {
        let recency = index as f64 / history.messages.len() as f64;
        let mut of_message: Vec<Candidate> = Vec::new();
        for piece in pieces(&history.messages[index]).into_iter().filter(|piece| piece.voice == Voice::Returned) {
            lines(piece, |line| {
                let mut found: Vec<usize> = Vec::new();
                anchors(line, |anchor| found.extend(table.places.get(&line[anchor.range])));
                found.sort_unstable();
                found.dedup();
                if !found.is_empty() && line_key(line).is_some_and(|key| seen.insert(key)) {
                    let text = strip_line_number(line).trim_end().to_owned();
                    of_message.push(Candidate { text, recency, anchors: found });
                }
            });
        }
        found.extend(of_message.into_iter().rev());
    }
    found.reverse();
    found
}
