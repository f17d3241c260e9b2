//! The lines of the sources, and how likely each of their anchors is needed.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use foldhash::fast::RandomState;
use xxhash_rust::xxh3::xxh3_64;

use super::Past;
use super::age::Ages;
use super::anchor_worth::{AnchorFacts, alone, worth};
use super::files::Files;
use super::mark::{BULLET, Mark};
use super::numbers::{Numbering, numbered_line};
use super::sources::{LONGEST_LINE, Origin, Source};
use crate::anchors::{Anchor, anchors};
use crate::message::{Role, Text};
use crate::text::{end_of_slice, ends_line, has_other_line_ends, lines_of, sentences, sentences_with_space};

/// Minimum length in bytes of a word that is counted.
const LEAST_WORD: usize = 4;

/// Approximate size of a slice in bytes.
const SLICE: usize = 200;

/// Number of the model's newest messages in which mentions are counted.
const MENTIONS_IN: usize = 12;

/// Arguments of a call with more bytes are content instead of dialogue.
const LONGEST_TALK: usize = 400;

/// Weight of a mention in the arguments of a call, relative to a mention in the model's words.
const IN_ARGUMENTS: f64 = 0.5;

/// Share by which the weight of a mention falls with each later message of the model.
const FADING: f64 = 0.2;

/// One line of a source, or one sentence of the dialogue.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Its source.
    pub source: u32,
    /// Its bytes in the text of the source, without a line number at its beginning.
    pub text: Range<usize>,
    /// Its number in the source.
    pub number: u32,
    /// Its anchors, as a range of all lines' anchors.
    pub anchors: Range<usize>,
}

/// The lines of all sources that can be kept.
#[derive(Debug, Default)]
pub(super) struct Lines<'a> {
    /// The lines.
    pub all: Vec<Line>,
    /// The lines of each source.
    pub of_source: Vec<Range<usize>>,
    /// The anchors of all lines, one line after another.
    pub anchors: Vec<u32>,
    /// The text of each anchor.
    pub names: Vec<&'a str>,
    /// Worth that each anchor adds to a line.
    pub worth: Vec<f64>,
    /// Worth of each anchor without its line.
    pub alone: Vec<f64>,
    /// Weight of the model's recent mentions of each anchor.
    pub mentions: Vec<f64>,
}

impl<'a> Lines<'a> {
    /// Collects the lines of `sources`. O(length).
    pub(super) fn of<T: Text>(
        sources: &'a [Source<'_>],
        past: &Past<'a, T>,
        ages: &Ages,
        files: &Files,
        mark: &Mark,
    ) -> Lines<'a> {
        let account = past.account.lines().map(|line| line.get(BULLET.len()..).unwrap_or_default());
        let account = account.flat_map(|line| std::iter::once(line).chain(sentences(line)));
        let beside = past.beside.iter().flat_map(|text| text.lines()).chain(account).map(str::trim);
        let mut reader = LineReader {
            lines: Lines::default(),
            ids: HashMap::default(),
            words: HashMap::default(),
            facts: Vec::new(),
            rows: 0,
            beside: Beside::of(beside),
            mark,
            holds_mark: false,
        };
        let mentions = mention_weights(past);
        for source in sources {
            let start = reader.lines.all.len();
            reader.holds_mark = mark.is_in(&source.text);
            let rank = source.file.map(|file| files.rank(file));
            match source.origin {
                Origin::Output => reader.output(source, rank),
                Origin::NewText => reader.written(source),
                Origin::Call | Origin::Statement | Origin::Request => reader.talk(source, mentions[source.message]),
                Origin::Names => reader.names(source),
                Origin::OldText => {}
            }
            reader.lines.of_source.push(start..reader.lines.all.len());
        }
        let LineReader { mut lines, facts, .. } = reader;
        let talk = talk_of(sources);
        lines.worth = facts.iter().map(|facts| worth(facts, ages, talk)).collect();
        lines.alone = facts.iter().zip(&lines.worth).map(|(facts, worth)| alone(facts, *worth)).collect();
        lines.mentions = facts.iter().map(|facts| facts.mentions).collect();
        lines
    }

    /// Returns the anchors of a line.
    pub(super) fn anchors_of(&self, line: usize) -> &[u32] {
        &self.anchors[self.all[line].anchors.clone()]
    }
}

/// Returns the dialogue's share of the removed text.
fn talk_of(sources: &[Source<'_>]) -> f64 {
    let length = |is: &dyn Fn(Origin) -> bool| {
        let gone = sources.iter().filter(|source| source.slot.is_some() && is(source.origin));
        gone.map(|source| source.text.len()).sum::<usize>() as f64
    };
    length(&|origin| matches!(origin, Origin::Request | Origin::Statement)) / length(&|_| true).max(1.0)
}

/// Returns the weight of a mention in each message.
fn mention_weights<T: Text>(past: &Past<'_, T>) -> Vec<f64> {
    let messages = &past.conversation.messages;
    let mut mentions = vec![0.0; messages.len()];
    let newest = (0..messages.len()).rev().filter(|index| messages[*index].role == Role::Assistant);
    for (before, index) in newest.take(MENTIONS_IN).enumerate() {
        mentions[index] = 1.0 / (1.0 + FADING * (before + 1) as f64);
    }
    mentions
}

struct LineReader<'a, 'm> {
    lines: Lines<'a>,
    /// The number of each anchor by its digest. Comparing the names of a long history is slow. If two anchors had the
    /// same digest, they would only count as one.
    ids: HashMap<u64, u32, RandomState>,
    /// The words of the dialogue, numbered with the anchors.
    words: HashMap<&'a str, u32, RandomState>,
    facts: Vec<AnchorFacts>,
    /// Number of output lines read so far, so that each has its own number.
    rows: u32,
    /// The lines that are kept beside the conversation.
    beside: Beside<'a>,
    /// The mark at the beginning of each heading of the digest.
    mark: &'m Mark,
    /// True if the present source may contain a line with the mark.
    holds_mark: bool,
}

/// The lines that are kept beside the conversation.
struct Beside<'a> {
    lines: HashSet<&'a str, RandomState>,
    /// The lengths of these lines in bytes, by which most other lines are ruled out.
    lengths: HashSet<usize, RandomState>,
}

impl<'a> Beside<'a> {
    fn of(lines: impl Iterator<Item = &'a str>) -> Beside<'a> {
        let lines: HashSet<&str, RandomState> = lines.collect();
        Beside { lengths: lines.iter().map(|line| line.len()).collect(), lines }
    }

    fn holds(&self, line: &str) -> bool {
        self.lengths.contains(&line.len()) && self.lines.contains(line)
    }
}

impl<'a> LineReader<'a, '_> {
    fn id(&mut self, text: &'a str, anchor: &Anchor) -> usize {
        let name = &text[anchor.range.clone()];
        let next = self.facts.len();
        let id = *self.ids.entry(xxh3_64(name.as_bytes())).or_insert(next as u32);
        if id as usize == next {
            self.facts.push(AnchorFacts::of(anchor.kind));
            self.lines.names.push(name);
        }
        id as usize
    }

    /// Records the anchors in a line of `source`, and passes each to `see`.
    fn each_anchor(
        &mut self,
        source: &'a Source<'_>,
        line: &Range<usize>,
        see: impl Fn(&mut AnchorFacts, &Source<'_>),
    ) {
        let text = &source.text[line.clone()];
        anchors(text, |anchor| {
            let id = self.id(text, &anchor);
            see(&mut self.facts[id], source);
            self.lines.anchors.push(id as u32);
        });
    }

    /// Records a line of `source` and its anchors from `first` on, unless it cannot or need not be kept.
    fn line(&mut self, source: &Source<'_>, text: Range<usize>, number: u32, first: usize) {
        let forges = || self.holds_mark && self.mark.is_in(&source.text[text.clone()]);
        if source.slot.is_none() || self.beside.holds(source.text[text.clone()].trim()) || forges() {
            self.lines.anchors.truncate(first);
            return;
        }
        let anchors = first..self.lines.anchors.len();
        let source = self.lines.of_source.len() as u32;
        self.lines.all.push(Line { source, text, number, anchors });
    }

    fn output(&mut self, source: &'a Source<'_>, rank: Option<usize>) {
        each_line(source, |text, number| {
            self.rows = self.rows.wrapping_add(1);
            let start = self.lines.anchors.len();
            let row = self.rows;
            self.each_anchor(source, &text, |facts, source| {
                facts.add_to_output(source.message, row, rank);
                facts.stays |= source.stays;
            });
            self.line(source, text, number, start);
        });
    }

    /// Records the names that an older digest kept without lines. They were in an output once.
    fn names(&mut self, source: &'a Source<'_>) {
        anchors(&source.text, |anchor| {
            let id = self.id(&source.text, &anchor);
            self.facts[id].add_alone(source.message);
        });
    }

    /// Records the words in a line of the dialogue: numbers, and words of sufficient length.
    fn each_word(&mut self, line: &'a str) {
        let start = self.lines.anchors.len();
        for word in line.split(|c: char| !c.is_alphanumeric()) {
            if word.len() < LEAST_WORD && !word.bytes().any(|byte| byte.is_ascii_digit()) {
                continue;
            }
            let next = self.facts.len();
            let id = *self.words.entry(word).or_insert(next as u32);
            if id as usize == next {
                self.facts.push(AnchorFacts::of_word());
                self.lines.names.push(word);
            }
            if !self.lines.anchors[start..].contains(&id) {
                self.facts[id as usize].add_to_talk();
                self.lines.anchors.push(id);
            }
        }
    }

    fn written(&mut self, source: &'a Source<'_>) {
        if source.slot.is_none() {
            return;
        }
        each_line(source, |text, number| {
            let start = self.lines.anchors.len();
            self.each_anchor(source, &text, |_, _| {});
            self.line(source, text, number, start);
        });
    }

    fn talk(&mut self, source: &'a Source<'_>, mentions: f64) {
        let counts = match source.origin {
            Origin::Call if source.text.len() > LONGEST_TALK => 0.0,
            Origin::Call => mentions * IN_ARGUMENTS,
            _ => mentions,
        };
        anchors(&source.text, |anchor| {
            let id = self.id(&source.text, &anchor);
            let facts = &mut self.facts[id];
            facts.mentions += counts;
            facts.add_use(source.message);
            facts.is_spoken_of |= source.stays;
            facts.is_asked |= source.stays && source.origin == Origin::Request;
        });
        if source.slot.is_none() || source.origin == Origin::Call {
            return;
        }
        each_line(source, |line, number| {
            let mut at = line.start;
            for sentence in sentences_with_space(&source.text[line]) {
                let start = self.lines.anchors.len();
                self.each_word(sentence);
                self.line(source, at..at + sentence.len(), number, start);
                at += sentence.len();
            }
        });
    }
}

/// Calls `each` with each line of `source` that is not blank, and its number. Long lines come in slices. O(length).
fn each_line(source: &Source<'_>, mut each: impl FnMut(Range<usize>, u32)) {
    let text = &*source.text;
    let (mut start, mut number) = (0, 0);
    let is_broken = has_other_line_ends(text);
    for line in lines_of(text) {
        let end = start + line.trim_end().len();
        let mut from = start;
        start += line.len();
        number += 1;
        if source.numbering == Numbering::Printed
            && let Some((printed, rest)) = numbered_line(line)
        {
            number = printed;
            // A blank line has only a number and a separator, which may be a space.
            from = start - rest.len();
        }
        let end = end.max(from);
        // Text that a reader could take for several lines counts as several lines with one number.
        while is_broken && let Some(length) = text[from..end].find(ends_line) {
            each_slice(text, from..from + length, number, &mut each);
            let rest = text[from + length..end].trim_start_matches(ends_line);
            from = end - rest.len();
        }
        each_slice(text, from..end, number, &mut each);
    }
}

/// Calls `each` with a line, in slices if it is long.
fn each_slice(text: &str, line: Range<usize>, number: u32, each: &mut impl FnMut(Range<usize>, u32)) {
    let Range { start: mut from, end } = line;
    while end - from > LONGEST_LINE {
        let slice = end_of_slice(text, from, end, SLICE);
        each(from..slice, number);
        from = slice;
    }
    each(from..end, number);
}
