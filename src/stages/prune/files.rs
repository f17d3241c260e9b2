//! Finds reads of files that later reads and writes supersede.
//!
//! The search goes backwards. For each line of each file it knows if a later read shows the line, and if a later call
//! replaced it. A read is superseded in four cases: each of its lines is shown or replaced later; the same read was
//! repeated; a later read has its line numbers and more; or the whole file was written later.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use foldhash::fast::RandomState;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::answers::{CallAnswer, Extent};
use super::{RemainingForm, SupersededOutput, newest_first, successor};
use crate::anchors::strip_line_number;
use crate::calls::WriteExtent;
use crate::message::digest_of;
use crate::store::shown;
use crate::working_copy::Successor;

/// Number of newer reads of a file whose line numbers are remembered. Most reads show the whole file, or a few places.
const SPANS: usize = 8;

/// A line of a file, identified by its content.
type LineKey = u64;

/// Later events, up to the current position of the search.
#[derive(Debug, Default)]
struct Later<'a> {
    ids: HashMap<&'a str, u64, RandomState>,
    /// For each line, the message of its newest read.
    seen: HashMap<LineKey, usize, RandomState>,
    /// Lines that were written.
    written: HashSet<LineKey, RandomState>,
    /// For each line that was replaced and not written again, the message of that call's result.
    replaced: HashMap<LineKey, usize, RandomState>,
    /// The newest answer to each question about a file.
    asked: HashMap<u128, usize, RandomState>,
    /// The lines that the newest reads of each file show.
    spans: HashMap<u64, Vec<(RangeInclusive<u32>, usize)>, RandomState>,
    /// For each file, the answer of the newest call that wrote all of it.
    whole: HashMap<u64, usize, RandomState>,
}

/// The findings about files.
#[derive(Debug, Default)]
pub(super) struct Files {
    superseded: Vec<SupersededOutput>,
    /// For each text that an answer's call wrote, by its digest, the form in which it is still visible.
    written: HashMap<(usize, u128), RemainingForm, RandomState>,
}

impl Files {
    /// Collects the reads and writes of files. O(length of those answers).
    pub(super) fn of(answers: &[CallAnswer<'_>]) -> Files {
        let (mut later, mut files) = (Later::default(), Files::default());
        // Writes that other content was removed for.
        let mut needed: HashSet<usize, RandomState> = HashSet::default();
        let mut uses: HashMap<&str, usize, RandomState> = HashMap::default();
        answers
            .iter()
            .filter_map(|answer| answer.said.path.as_deref())
            .for_each(|path| *uses.entry(path).or_default() += 1);
        for (index, answer) in newest_first(answers) {
            let Some(path) = answer.said.path.as_deref() else { continue };
            // The only call about a file supersedes nothing.
            let is_alone = answer.said.writing == WriteExtent::Nothing && uses[path] == 1;
            if is_alone || answer.failed() {
                continue;
            }
            let next = later.ids.len() as u64;
            let file = *later.ids.entry(path).or_insert(next);
            if answer.said.writing != WriteExtent::Nothing {
                // An incomplete output does not show if the call failed.
                if matches!(answer.extent, Extent::Rest | Extent::Gone) {
                    continue;
                }
                for text in &answer.said.written {
                    files.written.insert((index, digest_of(text)), later.form_of_written(file, text));
                }
                later.write(file, index, answer);
                continue;
            }
            if answer.extent == Extent::Gone {
                // The read may have shown the effect of that write.
                needed.extend(later.whole.get(&file));
                continue;
            }
            let lines: Vec<LineKey> = lines(answer.text).map(|line| key(file, line)).collect();
            match later.supersedes(file, &lines, answer, answers) {
                Some((by, form, writer)) => {
                    needed.extend(writer);
                    files.superseded.push(SupersededOutput { place: answer.place, by, form });
                }
                None => later.read(file, &lines, answer),
            }
        }
        files.superseded.reverse();
        files.written.retain(|(index, _), form| *form == RemainingForm::Copied || !needed.contains(index));
        files
    }

    /// Returns the superseded reads, oldest first.
    pub(super) fn superseded(&self) -> impl Iterator<Item = SupersededOutput> {
        self.superseded.iter().map(|found| SupersededOutput {
            place: found.place,
            by: found.by.clone(),
            form: found.form,
        })
    }

    /// Returns the form in which a text written by an answer's call is still visible; `None` if the call wrote no such
    /// text, or the text is needed.
    pub(super) fn remaining_form(&self, answer: usize, text: &str) -> Option<RemainingForm> {
        self.written.get(&(answer, digest_of(text))).copied()
    }
}

impl Later<'_> {
    fn read(&mut self, file: u64, lines: &[LineKey], answer: &CallAnswer<'_>) {
        let message = answer.place.message;
        if answer.extent != Extent::Going {
            for line in lines {
                self.seen.entry(*line).or_insert(message);
            }
        }
        if answer.extent == Extent::Rest {
            return;
        }
        self.asked.entry(answer.question).or_insert(message);
        let spans = self.spans.entry(file).or_default();
        if let Some(span) = span(answer.text).filter(|_| spans.len() < SPANS) {
            spans.push((span, message));
        }
    }

    fn write(&mut self, file: u64, index: usize, answer: &CallAnswer<'_>) {
        let message = answer.place.message;
        for line in answer.said.replaced.iter().flat_map(|text| lines(text)) {
            let key = key(file, line);
            // A line that was written later is in the file again.
            if !self.written.contains(&key) {
                self.replaced.entry(key).or_insert(message);
            }
        }
        self.written.extend(answer.said.written.iter().flat_map(|text| lines(text)).map(|line| key(file, line)));
        if answer.said.writing == WriteExtent::Whole && !answer.said.written.is_empty() {
            self.whole.entry(file).or_insert(index);
        }
    }

    fn form_of_written(&self, file: u64, text: &str) -> RemainingForm {
        let mut form = RemainingForm::Copied;
        for key in lines(text).map(|line| key(file, line)) {
            if self.seen.contains_key(&key) {
                continue;
            }
            form = RemainingForm::Newer;
            let is_newer = self.replaced.contains_key(&key) || self.written.contains(&key);
            if !is_newer && !self.whole.contains_key(&file) {
                return RemainingForm::Elsewhere;
            }
        }
        form
    }

    /// Returns the event that supersedes a read, the form in which the content is still visible, and the write that
    /// this depends on.
    fn supersedes(
        &self,
        file: u64,
        lines: &[LineKey],
        answer: &CallAnswer<'_>,
        answers: &[CallAnswer<'_>],
    ) -> Option<(Successor, RemainingForm, Option<usize>)> {
        let path = shown(answer.said.path.as_deref().unwrap_or_default());
        let read = |message| successor(message, &format!("a later read of {path}"));
        // For each way to be superseded, the first message after which a line is missing.
        let (mut seen, mut replaced, mut live) = (None::<usize>, None::<usize>, 0);
        for line in lines {
            let first = |first: Option<usize>, message: usize| Some(first.map_or(message, |first| first.min(message)));
            match (self.seen.get(line), self.replaced.get(line)) {
                (Some(message), _) => seen = first(seen, *message),
                (None, Some(message)) => replaced = first(replaced, *message),
                (None, None) => live += 1,
            }
        }
        match (live, seen, replaced) {
            (0, Some(message), None) => return Some((read(message), RemainingForm::Copied, None)),
            (0, seen, Some(message)) => {
                let by = successor(seen.map_or(message, |seen| seen.min(message)), &format!("later edits of {path}"));
                return Some((by, RemainingForm::Newer, None));
            }
            _ => {}
        }
        let spans = || {
            let own = span(answer.text)?;
            let covers = |span: &RangeInclusive<u32>| span.start() <= own.start() && own.end() <= span.end();
            self.spans.get(&file)?.iter().find(|(span, _)| covers(span)).map(|(_, message)| *message)
        };
        if let Some(message) = self.asked.get(&answer.question).copied().or_else(spans) {
            return Some((read(message), RemainingForm::Newer, None));
        }
        let writer = *self.whole.get(&file)?;
        let by = successor(answers[writer].call.0, &format!("a later write of {path}"));
        Some((by, RemainingForm::Newer, Some(writer)))
    }
}

/// Returns the lines of a text that are not blank, without line numbers of tools.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let is_numbered = is_numbered(text);
    let bare = move |line| if is_numbered { strip_line_number(line) } else { line };
    text.lines().map(bare).map(str::trim_end).filter(|line| !line.is_empty())
}

fn is_numbered(text: &str) -> bool {
    /// Number of lines that are checked. A file may begin with a line that only looks numbered.
    const LOOKED_AT: usize = 3;
    let mut first = text.lines().filter(|line| !line.trim().is_empty()).take(LOOKED_AT).peekable();
    first.peek().is_some() && first.all(|line| number(line).is_some())
}

/// Returns the line number of a line.
fn number(line: &str) -> Option<u32> {
    let front = &line[..line.len() - strip_line_number(line).len()];
    let digits = front.trim_start();
    digits[..digits.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}

/// Returns the range of a text's line numbers, if each line has one and none is missing.
fn span(text: &str) -> Option<RangeInclusive<u32>> {
    if !is_numbered(text) {
        return None;
    }
    let mut numbers = text.lines().map_while(number);
    let first = numbers.next()?;
    let (mut last, mut in_a_row) = (first, true);
    for number in numbers {
        in_a_row &= last.checked_add(1) == Some(number);
        last = number;
    }
    in_a_row.then_some(first..=last)
}

fn key(file: u64, line: &str) -> LineKey {
    xxh3_64_with_seed(line.as_bytes(), file)
}
