//! Chooses lines greedily by the worth that they add for each token.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::lines::Lines;
use super::mark::paths_in;
use super::names;
use super::pick::{Item, Pick};
use super::sections::{path_of, short};
use super::sources::{Source, is_numbered};

/// Tokens of the line number that begins a run, and a little more, because long runs are easier to read.
const RUN: f64 = 2.1;

/// The same for runs without a number.
const UNNUMBERED: f64 = 0.1;

/// Bytes of a title for each token, and tokens around a title.
const TITLE_BYTES: f64 = 3.5;
const TITLE: f64 = 4.4;

/// Share of a title's cost that its first line bears when it is compared, because others mostly follow.
const FIRST: f64 = 0.7;

/// Share of the budget that names without lines may take. A digest is not an index.
const NAMES: f64 = 0.05;

/// Minimum cost of a line: its line end.
const LEAST: f64 = 0.5;

/// Share of the budget that may stay unused. A search for an item that still fits would go through all remaining items.
const UNUSED: f64 = 0.01;

/// Returns the lines and names with the most worth, best first, in about `budget` tokens. `worths` is the worth of each
/// line for a token, beside its anchors. O(n) in lines, names and their anchors.
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
    let mut cover = LineCover {
        sources,
        lines,
        worths,
        titles: sources.iter().map(|source| title(source, titled)).collect(),
        taken: vec![false; lines.all.len()],
        headings,
        opened: vec![false; sources.len()],
        named: files_named,
        titled,
        places: vec![AnchorPlace::Missing; lines.worth.len()],
    };
    // Names follow the lines of a gap.
    let names = if titled > 0 { lines.names.len() } else { 0 };
    let items = (0..lines.all.len() as u32).map(Item::Line).chain((0..names as u32).map(Item::Name));
    let mut ranked = Ranked::new();
    items.for_each(|item| ranked.push(item, cover.worth(item)));
    let (mut picks, mut spent) = (Vec::new(), 0.0);
    let budget = budget as f64;
    let mut for_names = budget * NAMES;
    while budget - spent > budget * UNUSED
        && let Some((item, rank)) = ranked.pop()
    {
        if cover.is_taken(item) {
            continue;
        }
        // Its worth may have fallen since it was ranked.
        let worth = cover.worth(item);
        if Ranked::rank(worth).is_none_or(|now| now > rank) {
            ranked.push(item, worth);
            continue;
        }
        let cost = cover.cost(item);
        if spent + cost > budget || matches!(item, Item::Name(_)) && cost > for_names {
            continue;
        }
        // A name in a chosen line is no longer needed separately.
        let freed = cover.take(item);
        for_names += if let Item::Name(_) = item { -cost } else { freed };
        spent += (cost - freed).max(0.0);
        picks.push(Pick { item, cost_so_far: spent });
        if let Item::Line(line) = item {
            // The neighbours of a chosen line now cost less.
            for line in cover.neighbours(line as usize).into_iter().flatten() {
                let beside = Item::Line(line as u32);
                ranked.push(beside, cover.worth(beside));
            }
        }
    }
    picks
}

/// Returns the cost of a source's title: the first time, and after its file was named. Only the first slots have
/// titles.
fn title(source: &Source<'_>, titled: usize) -> (f64, f64) {
    if source.slot.is_none_or(|slot| slot >= titled) {
        return (0.0, 0.0);
    }
    let cost = |title: &str| title.len() as f64 / TITLE_BYTES + TITLE;
    (cost(&source.title), cost(short(path_of(&source.title))))
}

/// Items that can be chosen, in ranks by worth per token. Worths in one rank differ by at most 2 %. Sorting within a
/// rank would take most of the time.
struct Ranked {
    ranks: Vec<Vec<Item>>,
    /// The best rank that may have items.
    best: usize,
}

/// Number of bits of the mantissa that distinguish ranks.
const FINENESS: u32 = 6;

/// The largest and smallest worths with their own rank, as powers of two.
const LARGEST: i32 = 16;
const SMALLEST: i32 = -48;

impl Ranked {
    fn new() -> Ranked {
        let ranks = vec![Vec::new(); (((LARGEST - SMALLEST) as usize) << FINENESS) + 1];
        Ranked { best: ranks.len(), ranks }
    }

    /// Returns the rank of a worth; `None` if it is not positive.
    fn rank(worth: f64) -> Option<usize> {
        let lowest = ((LARGEST - SMALLEST) as u64) << FINENESS;
        // The bits of positive numbers sort like the numbers.
        let step = |worth: f64| worth.to_bits() >> (f64::MANTISSA_DIGITS - 1 - FINENESS);
        let below = step(f64::from(1_u32 << LARGEST)).saturating_sub(step(worth));
        (worth > 0.0).then_some(below.min(lowest) as usize)
    }

    fn push(&mut self, item: Item, worth: f64) {
        if let Some(rank) = Ranked::rank(worth) {
            self.ranks[rank].push(item);
            self.best = self.best.min(rank);
        }
    }

    /// Removes and returns an item of the best rank, newest first.
    fn pop(&mut self) -> Option<(Item, usize)> {
        while self.best < self.ranks.len() {
            if let Some(item) = self.ranks[self.best].pop() {
                return Some((item, self.best));
            }
            self.best += 1;
        }
        None
    }
}

/// The form in which an anchor is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnchorPlace {
    Missing,
    Alone,
    InLine,
}

/// Returns the cost of a line of `tokens` tokens. Depending on its neighbours `beside` it, it begins a run or joins
/// two.
fn run_on(tokens: f64, number: f64, beside: [bool; 2]) -> f64 {
    let run = match beside {
        [false, false] => number,
        [true, true] => -number,
        _ => 0.0,
    };
    (tokens + run).max(LEAST)
}

struct LineCover<'a> {
    sources: &'a [Source<'a>],
    lines: &'a Lines<'a>,
    worths: &'a [f64],
    /// Cost of each source's title, the first time and after its file was named.
    titles: Vec<(f64, f64)>,
    taken: Vec<bool>,
    /// For each source, the first source with the same title.
    headings: &'a [u32],
    /// Number of slots whose sources have a title.
    titled: usize,
    /// For each first source, true if its title is written.
    opened: Vec<bool>,
    /// For each file, true if it was named.
    named: Vec<bool>,
    /// The form in which each anchor is kept.
    places: Vec<AnchorPlace>,
}

impl LineCover<'_> {
    /// Returns the worth of an item per token, given the items chosen so far.
    fn worth(&self, item: Item) -> f64 {
        match item {
            Item::Line(line) => {
                let line = line as usize;
                let tokens = self.tokens(line);
                let cost = run_on(tokens, self.number(line), self.beside(line)) + self.title_above(line) * FIRST;
                self.line(line, tokens) / cost
            }
            Item::Name(anchor) => match self.places[anchor as usize] {
                AnchorPlace::Missing => self.lines.alone[anchor as usize] / self.cost(item),
                AnchorPlace::Alone | AnchorPlace::InLine => 0.0,
            },
        }
    }

    /// Returns the worth of a line of `tokens` tokens.
    fn line(&self, line: usize, tokens: f64) -> f64 {
        let anchors = self.lines.anchors_of(line);
        let new = |anchor: &u32| match self.places[*anchor as usize] {
            AnchorPlace::InLine => 0.0,
            AnchorPlace::Alone => self.lines.worth[*anchor as usize] - self.lines.alone[*anchor as usize],
            AnchorPlace::Missing => self.lines.worth[*anchor as usize],
        };
        let new: f64 = anchors.iter().map(new).sum();
        new + self.worths[line] * tokens
    }

    fn is_taken(&self, item: Item) -> bool {
        match item {
            Item::Line(line) => self.taken[line as usize],
            Item::Name(anchor) => self.places[anchor as usize] != AnchorPlace::Missing,
        }
    }

    /// Returns the cost of an item in tokens.
    fn cost(&self, item: Item) -> f64 {
        match item {
            Item::Line(line) => {
                let line = line as usize;
                run_on(self.tokens(line), self.number(line), self.beside(line)) + self.title_above(line)
            }
            Item::Name(anchor) => names::cost(self.lines.names[anchor as usize]),
        }
    }

    /// Returns the cost of the line number that begins a run.
    fn number(&self, line: usize) -> f64 {
        let source = &self.sources[self.lines.all[line].source as usize];
        if is_numbered(source, self.titled) { RUN } else { UNNUMBERED }
    }

    fn tokens(&self, line: usize) -> f64 {
        self.lines.all[line].text.len() as f64 * self.sources[self.lines.all[line].source as usize].density + LEAST
    }

    /// Returns the cost of the title that a line needs above it.
    fn title_above(&self, line: usize) -> f64 {
        let source = self.lines.all[line].source as usize;
        if self.opened[self.headings[source] as usize] {
            return 0.0;
        }
        let (long, short) = self.titles[source];
        if self.sources[source].file.is_some_and(|file| self.named[file as usize]) { short } else { long }
    }

    /// Returns the previous and the next line of the same source.
    fn neighbours(&self, line: usize) -> [Option<usize>; 2] {
        let range = &self.lines.of_source[self.lines.all[line].source as usize];
        [(line > range.start).then(|| line - 1), (line + 1 < range.end).then_some(line + 1)]
    }

    /// Returns for the previous and the next line if it was chosen.
    fn beside(&self, line: usize) -> [bool; 2] {
        self.neighbours(line).map(|line| line.is_some_and(|line| self.taken[line]))
    }

    /// Chooses an item. Returns the cost of the names that it makes unnecessary.
    fn take(&mut self, item: Item) -> f64 {
        let line = match item {
            Item::Line(line) => line as usize,
            Item::Name(anchor) => {
                self.places[anchor as usize] = AnchorPlace::Alone;
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
            if std::mem::replace(&mut self.places[*anchor as usize], AnchorPlace::InLine) == AnchorPlace::Alone {
                freed += self.cost(Item::Name(*anchor));
            }
        }
        freed
    }
}
