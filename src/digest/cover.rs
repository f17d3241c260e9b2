//! Taking lines greedily, by what they add for each token.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::lines::Lines;
use super::mark::paths_in;
use super::names;
use super::pick::{Item, Pick};
use super::sections::{path_of, short};
use super::sources::{Source, is_numbered};

/// Tokens of the number in front of a run of lines, and a little more, since long runs are read more easily.
const RUN: f64 = 2.1;

/// The same where no number stands: what is left is that long runs are read more easily.
const UNNUMBERED: f64 = 0.1;

/// Bytes of a title for each token, and tokens of what stands around it.
const TITLE_BYTES: f64 = 3.5;
const TITLE: f64 = 4.4;

/// The share of a title that the first line below it bears when it is compared: others mostly follow.
const FIRST: f64 = 0.7;

/// The share of the budget that names without lines may take: a digest is no index.
const NAMES: f64 = 0.05;

/// The least that a line costs: its end.
const LEAST: f64 = 0.5;

/// The part of the budget that may stay unused: to look for what still fits there would go through all that is left.
const UNUSED: f64 = 0.01;

/// The lines and names worth most, the best first, in about `budget` tokens. `worths` is what each line is worth for a token
/// beside its anchors. O(n) in lines and names, and their anchors.
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
    // Names stand behind the lines of a gap.
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
        // The worth may have fallen since the item was ranked.
        let worth = cover.worth(item);
        if Ranked::rank(worth).is_none_or(|now| now > rank) {
            ranked.push(item, worth);
            continue;
        }
        let cost = cover.cost(item);
        if spent + cost > budget || matches!(item, Item::Name(_)) && cost > for_names {
            continue;
        }
        // A name that a line brings needs no place of its own any more.
        let freed = cover.take(item);
        for_names += if let Item::Name(_) = item { -cost } else { freed };
        spent += (cost - freed).max(0.0);
        picks.push(Pick { item, cost_so_far: spent });
        if let Item::Line(line) = item {
            // Beside a line that is taken its neighbours cost less.
            for line in cover.neighbours(line as usize).into_iter().flatten() {
                let beside = Item::Line(line as u32);
                ranked.push(beside, cover.worth(beside));
            }
        }
    }
    picks
}

/// Cost of naming a source: the first time, and again once its file has been named. Only the first slots name their sources.
fn title(source: &Source<'_>, titled: usize) -> (f64, f64) {
    if source.slot.is_none_or(|slot| slot >= titled) {
        return (0.0, 0.0);
    }
    let cost = |title: &str| title.len() as f64 / TITLE_BYTES + TITLE;
    (cost(&source.title), cost(short(path_of(&source.title))))
}

/// Items that can be taken, ranked by worth per token. The worths in one rank differ by 2 % at most: sorting within a rank
/// would take most of the time.
struct Ranked {
    ranks: Vec<Vec<Item>>,
    /// No rank before this one holds anything.
    best: usize,
}

/// Bits of the mantissa of a worth that tell ranks apart.
const FINENESS: u32 = 6;

/// The largest and the smallest worth with a rank of their own, as powers of two.
const LARGEST: i32 = 16;
const SMALLEST: i32 = -48;

impl Ranked {
    fn new() -> Ranked {
        let ranks = vec![Vec::new(); (((LARGEST - SMALLEST) as usize) << FINENESS) + 1];
        Ranked { best: ranks.len(), ranks }
    }

    /// The rank of what is worth so much; `None` if that is nothing.
    fn rank(worth: f64) -> Option<usize> {
        let lowest = ((LARGEST - SMALLEST) as u64) << FINENESS;
        // The bits of a number above 0 are in the order of the numbers.
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

    /// Removes an item of the best rank, the newest first.
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

/// The way in which an anchor is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnchorPlace {
    Missing,
    Alone,
    InLine,
}

/// Cost of a line of `tokens` tokens. It may begin a run or join two runs, depending on its neighbours `beside` it.
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
    /// Cost of naming each source, the first time and once its file is known.
    titles: Vec<(f64, f64)>,
    taken: Vec<bool>,
    /// For each source, the first of the same title.
    headings: &'a [u32],
    /// Slots whose sources have a title.
    titled: usize,
    /// Titles that are there already, by their first source.
    opened: Vec<bool>,
    /// Files that are named already.
    named: Vec<bool>,
    /// The way in which each anchor is kept.
    places: Vec<AnchorPlace>,
}

impl LineCover<'_> {
    /// Worth of an item per token, given the items taken so far.
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

    /// Worth of a line of `tokens` tokens.
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

    /// Cost of taking the item, in tokens.
    fn cost(&self, item: Item) -> f64 {
        match item {
            Item::Line(line) => {
                let line = line as usize;
                run_on(self.tokens(line), self.number(line), self.beside(line)) + self.title_above(line)
            }
            Item::Name(anchor) => names::cost(self.lines.names[anchor as usize]),
        }
    }

    /// Cost of the number at the beginning of a run.
    fn number(&self, line: usize) -> f64 {
        let source = &self.sources[self.lines.all[line].source as usize];
        if is_numbered(source, self.titled) { RUN } else { UNNUMBERED }
    }

    fn tokens(&self, line: usize) -> f64 {
        self.lines.all[line].text.len() as f64 * self.sources[self.lines.all[line].source as usize].density + LEAST
    }

    /// Cost of the title that a line needs above it.
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

    /// True for each neighbour of a line, before and behind, that is taken.
    fn beside(&self, line: usize) -> [bool; 2] {
        self.neighbours(line).map(|line| line.is_some_and(|line| self.taken[line]))
    }

    /// Takes it; gives what names cost that it makes needless.
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
