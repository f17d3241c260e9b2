//! What a summary lost: lines of the messages that hold words which a later step is likely to repeat, and which stand
//! neither in the summary nor in what stays.

use std::collections::{BinaryHeap, HashMap, HashSet};

use foldhash::fast::RandomState;

use super::Removed;
use super::removed::Said;
use crate::anchors::{AnchorKind, anchors, strip_line_number};
use crate::message::Text;
use crate::tokens::{CountTokens, TextKind};

/// A longer line is data, or would take the room of many.
const LONGEST_LINE: usize = 300;

/// How much newer words weigh than older ones: from none at the oldest message to this at the newest.
const NEWEST: u64 = 2_000;
/// What a word weighs for each doubling of the number of times that it was used; 0.6 x ln 2 in the same units.
const DOUBLING: u64 = 416;
/// A word in the arguments of a call counts as so many others.
const IN_A_CALL: u64 = 3;
/// What a line costs beside its bytes, in bytes: the room that many short lines would waste.
const A_LINE: u64 = 60;
/// So many lines in a row that do not fit end the search.
const MISSES: usize = 32;

#[derive(Default)]
struct Word {
    newest: u64,
    uses: u64,
    kind: Option<AnchorKind>,
}

impl Word {
    fn weight(&self) -> u64 {
        let weight = self.newest + DOUBLING * u64::from((1 + self.uses).ilog2());
        // A number alone says less than a name, and there are more of them.
        if self.kind == Some(AnchorKind::Number) { weight / 2 } else { weight }
    }
}

struct Line<'a> {
    text: &'a str,
    words: Vec<usize>,
}

/// Lines of `removed`, and of what was said of older messages, with words that are in none of the texts `covered`, as they
/// stand, in at most `tokens`. Empty where nothing is lost, or nothing has room. O(length), and a sort of the lines.
///
/// Each word weighs by how new it is and how often it was used, so a line is worth the sum of its words over its length;
/// the lines are taken greedily, each word counted once.
pub fn lost_lines<'a, T: Text>(
    removed: &'a Removed<'_, T>,
    covered: impl Iterator<Item = &'a str>,
    tokens: usize,
    counter: &dyn CountTokens,
) -> String {
    let mut known: HashSet<&str, RandomState> = HashSet::default();
    for text in covered {
        anchors(text, |anchor| {
            known.insert(&text[anchor.range]);
        });
    }
    let (words, lines) = gathered(removed, &known);
    let chosen = cover(&words, &lines, tokens, counter);
    let chosen: Vec<&str> = chosen.into_iter().map(|line| lines[line].text).collect();
    chosen.join("\n")
}

fn gathered<'a, T: Text>(
    removed: &'a Removed<'_, T>,
    known: &HashSet<&str, RandomState>,
) -> (Vec<Word>, Vec<Line<'a>>) {
    let mut gathering =
        Gathering { known, ids: HashMap::default(), words: Vec::new(), lines: Vec::new(), seen: HashSet::default() };
    // What was chosen before has been worth it: it is as good as half new.
    gathering.text(&removed.previous, NEWEST / 2, 1);
    gathering.text(&removed.lines, NEWEST / 2, 1);
    let count = removed.messages().count() as u64;
    for (at, message) in removed.messages().enumerate() {
        let newest = NEWEST * (at as u64 + 1) / count;
        for (_, said) in removed.said(message) {
            match said {
                Said::Words(text) => gathering.text(text, newest, 1),
                Said::Call { input, .. } => gathering.text(input, newest, IN_A_CALL),
                Said::Result { items, .. } => {
                    items.iter().filter_map(|item| item.text()).for_each(|(text, _)| gathering.text(text, newest, 1));
                }
                Said::Thought(_) | Said::Thing(_) => {}
            }
        }
    }
    (gathering.words, gathering.lines)
}

struct Gathering<'k, 'a> {
    known: &'k HashSet<&'k str, RandomState>,
    ids: HashMap<&'a str, usize, RandomState>,
    words: Vec<Word>,
    lines: Vec<Line<'a>>,
    /// Lines that are among them already.
    seen: HashSet<&'a str, RandomState>,
}

impl<'a> Gathering<'_, 'a> {
    fn text(&mut self, text: &'a str, newest: u64, uses: u64) {
        for line in text.lines().map(strip_line_number).map(str::trim) {
            let mut words = Vec::new();
            anchors(line, |anchor| {
                let text = &line[anchor.range];
                if self.known.contains(text) {
                    return;
                }
                let id = *self.ids.entry(text).or_insert_with(|| {
                    self.words.push(Word { kind: Some(anchor.kind), ..Word::default() });
                    self.words.len() - 1
                });
                let word = &mut self.words[id];
                word.newest = word.newest.max(newest);
                word.uses += uses;
                if !words.contains(&id) {
                    words.push(id);
                }
            });
            // A long line still says how often its words are used.
            if !words.is_empty() && line.len() <= LONGEST_LINE && self.seen.insert(line) {
                self.lines.push(Line { text: line, words });
            }
        }
    }
}

/// The lines that are worth most in at most `tokens`, in their order.
fn cover(words: &[Word], lines: &[Line<'_>], tokens: usize, counter: &dyn CountTokens) -> Vec<usize> {
    let count = |text: &str| counter.count(text, TextKind::Prose) + 1;
    let mut rest = tokens;
    let mut covered = vec![false; words.len()];
    let worth = |line: &Line<'_>, covered: &[bool]| -> u64 {
        let sum: u64 = line.words.iter().filter(|word| !covered[**word]).map(|word| words[*word].weight()).sum();
        // Scaled, so that whole numbers tell lines apart.
        sum * 1_000 / (A_LINE + line.text.len() as u64)
    };
    let mut heap: BinaryHeap<(u64, usize)> =
        lines.iter().enumerate().map(|(at, line)| (worth(line, &covered), at)).collect();
    let (mut chosen, mut misses) = (Vec::new(), 0);
    while let Some((claimed, at)) = heap.pop().filter(|_| misses < MISSES && rest > 0) {
        let now = worth(&lines[at], &covered);
        if now == 0 {
            continue;
        }
        // Another line has taken words of this one: it waits until it is the best again.
        if now < claimed {
            heap.push((now, at));
            continue;
        }
        let needed = count(lines[at].text);
        if needed > rest {
            misses += 1;
            continue;
        }
        (rest, misses) = (rest - needed, 0);
        lines[at].words.iter().for_each(|word| covered[*word] = true);
        chosen.push(at);
    }
    chosen.sort_unstable();
    chosen
}
