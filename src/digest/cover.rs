//! Taking lines greedily, by what they add for each token.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::layout::{path_of, short};
use super::lines::Lines;
use super::sources::Source;

/// Tokens of the number in front of a run of lines, and a little more, since long runs are read more easily.
const RUN: f64 = 2.2;

/// Bytes of a title for each token, and tokens of what stands around it.
const TITLE_BYTES: f64 = 3.5;
const TITLE: f64 = 3.4;

/// Tokens that are added to the cost of a line when it is compared, so that very short lines do not always win.
const EVEN: f64 = 4.0;

/// The least that a line costs: its end.
const LEAST: f64 = 0.5;

/// By how much the worth of a line for edits grows when the lines on both sides of it are taken: an edit needs all of its
/// lines.
const HOLE: f64 = 0.7;

/// A line that is taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pick {
    /// Its source.
    pub source: u32,
    /// The line.
    pub line: u32,
    /// What it and all picks before it cost, as estimated.
    pub cost_so_far: f64,
}

/// The lines worth most, the best first, in about `budget` tokens. `worths` is what each line is worth for a token beside
/// its anchors. O(n log n) in lines.
pub(super) fn cover(
    sources: &[Source<'_>],
    lines: &Lines,
    headings: &[u32],
    worths: &[f64],
    titled: usize,
    budget: usize,
) -> Vec<Pick> {
    let mut covering = Covering {
        sources,
        lines,
        worths,
        titled,
        source_of: source_of(lines),
        taken: vec![false; lines.all.len()],
        headings,
        opened: vec![false; sources.len()],
        named: vec![false; sources.iter().filter_map(|source| source.file).max().map_or(0, |file| file as usize + 1)],
        covered: vec![false; lines.worth.len()],
    };
    let mut heap: BinaryHeap<Candidate> = (0..lines.all.len()).filter_map(|line| covering.candidate(line)).collect();
    let (mut picks, mut spent) = (Vec::new(), 0.0);
    while let Some(best) = heap.pop() {
        if covering.taken[best.line as usize] {
            continue;
        }
        let line = best.line as usize;
        let Some(now) = covering.candidate(line) else { continue };
        // What it adds can only have fallen since; if it is no longer the best, its turn comes later.
        if now.worth < best.worth && heap.peek().is_some_and(|next| now < *next) {
            heap.push(now);
            continue;
        }
        let cost = covering.cost(line);
        if spent + cost > budget as f64 {
            continue;
        }
        spent += cost;
        covering.take(line);
        picks.push(Pick { source: covering.source_of[line], line: best.line, cost_so_far: spent });
        // Beside a line that is taken its neighbours cost less.
        heap.extend(covering.neighbours(line).into_iter().flatten().filter_map(|line| covering.candidate(line)));
    }
    picks
}

fn source_of(lines: &Lines) -> Vec<u32> {
    let mut sources = Vec::with_capacity(lines.all.len());
    for (source, range) in lines.of_source.iter().enumerate() {
        sources.resize(range.end, source as u32);
    }
    sources
}

/// A line, and what it adds for each token.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    worth: f64,
    line: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        // Of two alike the newer one.
        self.worth.total_cmp(&other.worth).then(self.line.cmp(&other.line))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

struct Covering<'a> {
    sources: &'a [Source<'a>],
    lines: &'a Lines,
    worths: &'a [f64],
    /// How many slots, from the first on, name their sources.
    titled: usize,
    source_of: Vec<u32>,
    taken: Vec<bool>,
    /// See [`headings`](super::layout::headings).
    headings: &'a [u32],
    /// Titles that are there already, by their first source.
    opened: Vec<bool>,
    /// Files that are named already.
    named: Vec<bool>,
    covered: Vec<bool>,
}

impl Covering<'_> {
    /// What the line adds now; `None` if that is nothing.
    fn candidate(&self, line: usize) -> Option<Candidate> {
        let anchors = self.lines.anchors_of(line).iter().map(|anchor| *anchor as usize);
        let new: f64 = anchors.filter(|anchor| !self.covered[*anchor]).map(|anchor| self.lines.worth[anchor]).sum();
        let is_hole = self.beside(line).iter().all(|taken| *taken);
        let for_edits = self.worths[line] * self.tokens(line) * if is_hole { 1.0 + HOLE } else { 1.0 };
        let worth = new + for_edits;
        (worth > 0.0).then(|| Candidate { worth: worth / (self.cost(line) + EVEN), line: line as u32 })
    }

    fn tokens(&self, line: usize) -> f64 {
        self.lines.all[line].text.len() as f64 * self.sources[self.source_of[line] as usize].density + LEAST
    }

    fn cost(&self, line: usize) -> f64 {
        let source = self.source_of[line] as usize;
        let run = match self.beside(line) {
            [false, false] => RUN,
            [true, true] => -RUN,
            _ => 0.0,
        };
        let title = if self.opened[self.headings[source] as usize] { 0.0 } else { self.title(source) };
        (self.tokens(line) + run + title).max(LEAST)
    }

    /// What naming a source costs.
    fn title(&self, source: usize) -> f64 {
        let Source { title, file, slot, .. } = &self.sources[source];
        let known = file.is_some_and(|file| self.named[file as usize]);
        let length = match slot {
            Some(slot) if *slot < self.titled => {
                if known {
                    short(path_of(title)).len()
                } else {
                    title.len()
                }
            }
            _ => return 0.0,
        };
        length as f64 / TITLE_BYTES + TITLE
    }

    /// The lines of the same source before and behind a line.
    fn neighbours(&self, line: usize) -> [Option<usize>; 2] {
        let range = &self.lines.of_source[self.source_of[line] as usize];
        [(line > range.start).then(|| line - 1), (line + 1 < range.end).then_some(line + 1)]
    }

    /// Whether the lines before and behind a line are taken.
    fn beside(&self, line: usize) -> [bool; 2] {
        self.neighbours(line).map(|line| line.is_some_and(|line| self.taken[line]))
    }

    fn take(&mut self, line: usize) {
        self.taken[line] = true;
        let source = self.source_of[line] as usize;
        self.opened[self.headings[source] as usize] = true;
        if let Some(file) = self.sources[source].file {
            self.named[file as usize] = true;
        }
        for anchor in self.lines.anchors_of(line) {
            self.covered[*anchor as usize] = true;
        }
    }
}
