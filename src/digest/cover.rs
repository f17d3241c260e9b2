//! Taking lines greedily, by what they add for each token.

use std::collections::{BinaryHeap, HashSet};

use foldhash::fast::RandomState;

use super::layout::{is_numbered, path_of, short};
use super::lines::Lines;
use super::mark::paths_in;
use super::names;
use super::sources::Source;

/// Tokens of the number in front of a run of lines, and a little more, since long runs are read more easily.
const RUN: f64 = 2.1;

/// The same where no number stands: what is left is that long runs are read more easily.
const UNNUMBERED: f64 = 0.1;

/// Bytes of a title for each token, and tokens of what stands around it.
const TITLE_BYTES: f64 = 3.5;
const TITLE: f64 = 4.4;

/// The share of a title that the first line below it bears when it is compared: others mostly follow.
const FIRST: f64 = 0.7;

/// Tokens that are added to the cost of a line when it is compared, so that very short lines do not always win.
const EVEN: f64 = 3.8;

/// The share of the budget that names without lines may take: a digest is no index.
const NAMES: f64 = 0.05;

/// The least that a line costs: its end.
const LEAST: f64 = 0.5;

/// What will never have room is left out when no more than this part of the room is left since it was done last.
const SIFTED: f64 = 0.5;

/// By how much the worth of a line for edits grows when the lines on both sides of it are taken: an edit needs all of its
/// lines.
const HOLE: f64 = 0.49;

/// What can be taken, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    /// A name without a line.
    Name(u32),
    /// A line.
    Line(u32),
}

/// What is taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pick {
    /// It.
    pub item: Item,
    /// What it and all picks before it cost, as estimated.
    pub cost_so_far: f64,
}

/// The lines and names worth most, the best first, in about `budget` tokens. `worths` is what each line is worth for a token
/// beside its anchors. O(n log n) in lines and names.
pub(super) fn cover(
    sources: &[Source<'_>],
    lines: &Lines<'_>,
    headings: &[u32],
    worths: &[f64],
    (titled, account): (usize, &str),
    budget: usize,
) -> Vec<Pick> {
    let known: HashSet<&str, RandomState> = paths_in(account).collect();
    let mut files_named =
        vec![false; sources.iter().filter_map(|source| source.file).max().map_or(0, |file| file as usize + 1)];
    for source in sources.iter().filter(|source| known.contains(path_of(&source.title))) {
        if let Some(file) = source.file {
            files_named[file as usize] = true;
        }
    }
    let mut covering = Covering {
        sources,
        lines,
        worths,
        titles: sources.iter().map(|source| title(source, titled)).collect(),
        taken: vec![false; lines.all.len()],
        headings,
        opened: vec![false; sources.len()],
        named: files_named,
        titled,
        kept: vec![Kept::Not; lines.worth.len()],
    };
    // Names stand behind the lines of a gap.
    let names = if titled > 0 { lines.names.len() } else { 0 };
    let items = (0..lines.all.len() as u32).map(Item::Line).chain((0..names as u32).map(Item::Name));
    let mut heap: BinaryHeap<Candidate> = items.filter_map(|item| covering.candidate(item)).collect();
    let (mut picks, mut spent) = (Vec::new(), 0.0);
    let budget = budget as f64;
    let (mut for_names, mut sifted_at) = (budget * NAMES, budget);
    while let Some(best) = heap.pop() {
        if covering.is_taken(best.item) {
            continue;
        }
        let Some(now) = covering.candidate(best.item) else { continue };
        // What it adds can only have fallen since; if it is no longer the best, its turn comes later.
        if now.worth < best.worth && heap.peek().is_some_and(|next| now < *next) {
            heap.push(now);
            continue;
        }
        let cost = covering.cost(best.item);
        if spent + cost > budget {
            // Most of a long past is still in the heap when the budget is spent, and to take it out in order costs the most.
            if budget - spent <= sifted_at * SIFTED {
                sifted_at = budget - spent;
                heap.retain(|other| spent + covering.least_cost(other.item) <= budget);
            }
            continue;
        }
        if matches!(best.item, Item::Name(_)) && cost > for_names {
            continue;
        }
        // A name that a line brings needs no place of its own any more.
        let freed = covering.take(best.item);
        for_names += if let Item::Name(_) = best.item { -cost } else { freed };
        spent += (cost - freed).max(0.0);
        picks.push(Pick { item: best.item, cost_so_far: spent });
        if let Item::Line(line) = best.item {
            // Beside a line that is taken its neighbours cost less.
            let beside = covering.neighbours(line as usize).into_iter().flatten();
            heap.extend(beside.filter_map(|line| covering.candidate(Item::Line(line as u32))));
        }
    }
    picks
}

/// What naming a source costs: at first, and when its file is named already. Only the first slots name theirs.
fn title(source: &Source<'_>, titled: usize) -> (f64, f64) {
    if source.slot.is_none_or(|slot| slot >= titled) {
        return (0.0, 0.0);
    }
    let cost = |title: &str| title.len() as f64 / TITLE_BYTES + TITLE;
    (cost(&source.title), cost(short(path_of(&source.title))))
}

/// What can be taken, and what it adds for each token. Of two alike the newer one comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// The bits of a number above 0, which are in the order of the numbers and faster to compare.
    worth: u64,
    item: Item,
}

/// How an anchor is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Not,
    Alone,
    InLine,
}

/// What a line of so many tokens costs beside lines that are taken or not: it may begin a run, or join two.
fn run_on(tokens: f64, number: f64, beside: [bool; 2]) -> f64 {
    let run = match beside {
        [false, false] => number,
        [true, true] => -number,
        _ => 0.0,
    };
    (tokens + run).max(LEAST)
}

struct Covering<'a> {
    sources: &'a [Source<'a>],
    lines: &'a Lines<'a>,
    worths: &'a [f64],
    /// What naming each source costs, at first and when its file is known.
    titles: Vec<(f64, f64)>,
    taken: Vec<bool>,
    /// See [`headings`](super::layout::headings).
    headings: &'a [u32],
    /// Slots whose sources have a title.
    titled: usize,
    /// Titles that are there already, by their first source.
    opened: Vec<bool>,
    /// Files that are named already.
    named: Vec<bool>,
    /// How each anchor is kept.
    kept: Vec<Kept>,
}

impl Covering<'_> {
    /// What it adds now; `None` if that is nothing.
    fn candidate(&self, item: Item) -> Option<Candidate> {
        let (worth, cost, shared) = match item {
            Item::Line(line) => {
                let line = line as usize;
                let (tokens, beside, title) = (self.tokens(line), self.beside(line), self.title_above(line));
                (
                    self.line(line, tokens, beside),
                    run_on(tokens, self.number(line), beside) + title,
                    title * (1.0 - FIRST),
                )
            }
            Item::Name(anchor) => match self.kept[anchor as usize] {
                Kept::Not => (self.lines.alone[anchor as usize], self.cost(item), 0.0),
                Kept::Alone | Kept::InLine => return None,
            },
        };
        let worth = worth / (cost - shared + EVEN);
        (worth > 0.0).then(|| Candidate { worth: worth.to_bits(), item })
    }

    /// What a line of so many tokens adds, beside lines that are taken or not.
    fn line(&self, line: usize, tokens: f64, beside: [bool; 2]) -> f64 {
        let anchors = self.lines.anchors_of(line);
        let new = |anchor: &u32| match self.kept[*anchor as usize] {
            Kept::InLine => 0.0,
            Kept::Alone => self.lines.worth[*anchor as usize] - self.lines.alone[*anchor as usize],
            Kept::Not => self.lines.worth[*anchor as usize],
        };
        let new: f64 = anchors.iter().map(new).sum();
        let is_hole = beside == [true, true];
        new + self.worths[line] * tokens * if is_hole { 1.0 + HOLE } else { 1.0 }
    }

    fn is_taken(&self, item: Item) -> bool {
        match item {
            Item::Line(line) => self.taken[line as usize],
            Item::Name(anchor) => self.kept[anchor as usize] != Kept::Not,
        }
    }

    /// What taking it costs.
    fn cost(&self, item: Item) -> f64 {
        match item {
            Item::Line(line) => {
                let line = line as usize;
                run_on(self.tokens(line), self.number(line), self.beside(line)) + self.title_above(line)
            }
            Item::Name(anchor) => names::cost(self.lines.names[anchor as usize]),
        }
    }

    /// What taking it costs at the least, whatever is taken before.
    fn least_cost(&self, item: Item) -> f64 {
        match item {
            Item::Line(line) => run_on(self.tokens(line as usize), self.number(line as usize), [true, true]),
            Item::Name(_) => self.cost(item),
        }
    }

    /// What the number at the beginning of a run costs.
    fn number(&self, line: usize) -> f64 {
        let source = &self.sources[self.lines.all[line].source as usize];
        if is_numbered(source, self.titled) { RUN } else { UNNUMBERED }
    }

    fn tokens(&self, line: usize) -> f64 {
        self.lines.all[line].text.len() as f64 * self.sources[self.lines.all[line].source as usize].density + LEAST
    }

    /// What the title costs that a line needs above it.
    fn title_above(&self, line: usize) -> f64 {
        let source = self.lines.all[line].source as usize;
        if self.opened[self.headings[source] as usize] {
            return 0.0;
        }
        let (long, short) = self.titles[source];
        if self.sources[source].file.is_some_and(|file| self.named[file as usize]) { short } else { long }
    }

    /// The lines of the same source before and behind a line.
    fn neighbours(&self, line: usize) -> [Option<usize>; 2] {
        let range = &self.lines.of_source[self.lines.all[line].source as usize];
        [(line > range.start).then(|| line - 1), (line + 1 < range.end).then_some(line + 1)]
    }

    /// Whether the lines before and behind a line are taken.
    fn beside(&self, line: usize) -> [bool; 2] {
        self.neighbours(line).map(|line| line.is_some_and(|line| self.taken[line]))
    }

    /// Takes it; gives what names cost that it makes needless.
    fn take(&mut self, item: Item) -> f64 {
        let line = match item {
            Item::Line(line) => line as usize,
            Item::Name(anchor) => {
                self.kept[anchor as usize] = Kept::Alone;
                return 0.0;
            }
        };
        self.taken[line] = true;
        let source = self.lines.all[line].source as usize;
        self.opened[self.headings[source] as usize] = true;
        if let Some(file) = self.sources[source].file {
            self.named[file as usize] = true;
        }
        let mut freed = 0.0;
        for anchor in self.lines.anchors_of(line) {
            if std::mem::replace(&mut self.kept[*anchor as usize], Kept::InLine) == Kept::Alone {
                freed += self.cost(Item::Name(*anchor));
            }
        }
        freed
    }
}
