//! Writes a digest, and reads one back when it is condensed again.
//!
//! A heading `[482 from ...]` names the source. A file is named by its path first, and only by its name afterwards.
//! [`Mark`] explains the number. The kept lines follow unchanged, in runs. The first line of each run begins with its
//! number and a tab, as `cat -n` writes it. The tab and the indentation after it are mostly one token together. Names
//! without their lines are in one line at the end. Spaces separate them, because no name contains a space.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::lines::Lines;
use super::mark::{ASSISTANT, Mark, NAMES, USER, looks_like_heading, paths_in};
use super::numbers::NUMBER_END;
use super::pick::{Item, Pick};
use super::sections::{path_of, short};
use super::sources::{Source, is_numbered};
use crate::anchors::strip_line_number;

/// Returns for each source the first source with the same title in the same place. Their lines are written together, so
/// that the title is written once. The dialogue keeps its order. O(sources).
pub(super) fn headings(sources: &[Source<'_>]) -> Vec<u32> {
    let mut first: HashMap<(Option<usize>, &str), u32, RandomState> = HashMap::default();
    let mut headings = Vec::with_capacity(sources.len());
    for (index, source) in sources.iter().enumerate() {
        let is_said = [USER, ASSISTANT].contains(&&*source.title);
        let index = index as u32;
        headings.push(if is_said { index } else { *first.entry((source.slot, &source.title)).or_insert(index) });
    }
    headings
}

/// Returns the lines of `picks` as a text for each slot. Only the first `titled` slots, which are the gaps, name their
/// sources. O(picks log picks + length).
pub(super) fn texts(
    sources: &[Source<'_>],
    lines: &Lines<'_>,
    headings: &[u32],
    picks: &[Pick],
    (slots, titled): (usize, usize),
    mark: &Mark,
    account: (Option<usize>, &str),
) -> Vec<String> {
    let line = |pick: &Pick| match pick.item {
        Item::Line(line) => Some((lines.all[line as usize].source, line)),
        Item::Name(_) => None,
    };
    let mut order: Vec<(u32, u32)> = picks.iter().filter_map(line).collect();
    order.sort_unstable();
    order.sort_by_key(|(source, _)| headings[*source as usize]);
    let mut texts = vec![String::new(); slots];
    let mut short_titles = ShortTitles::of(account);
    let (mut last, mut number) = (None, 0);
    for (source_index, line_index) in order {
        let source = &sources[source_index as usize];
        let Some((slot, text)) = source.slot.and_then(|slot| Some((slot, texts.get_mut(slot)?))) else { continue };
        let line = &lines.all[line_index as usize];
        let content = &source.text[line.text.clone()];
        let runs_on = last == Some((source_index, line_index.wrapping_sub(1)));
        let goes_on = last.is_some_and(|(before, _)| {
            let before: &Source<'_> = &sources[before as usize];
            (before.slot, &before.title) == (source.slot, &source.title)
        });
        let is_first = text.is_empty();
        if slot < titled && is_first {
            text.push_str(&mark.introduction());
        }
        // Lines of a source without a title would seem to belong to the source before.
        if slot < titled && !goes_on && !(is_first && source.title.is_empty()) {
            text.push_str(&mark.heading(short_titles.title(slot, &source.title)));
        }
        if runs_on && lines.all[line_index as usize - 1].text.end == line.text.start {
            // The next slice of a long line. In an older digest, two lines with the same number are not adjacent.
            text.pop();
        } else if looks_like_heading(content)
            || is_numbered(source, titled)
                && (!runs_on || line.number != number + 1 || strip_line_number(content) != content)
        {
            text.push_str(&line.number.to_string());
            text.push(NUMBER_END);
        }
        text.push_str(content);
        text.push('\n');
        (last, number) = (Some((source_index, line_index)), line.number);
    }
    for text in &mut texts {
        text.truncate(text.trim_end().len());
    }
    texts
}

/// Appends names without lines to the text of a gap.
pub(super) fn add_names(text: &mut String, names: &[&str], mark: &Mark) {
    if names.is_empty() {
        return;
    }
    if text.is_empty() {
        text.push_str(&mark.introduction());
    } else {
        text.push('\n');
    }
    text.push_str(&mark.heading(NAMES));
    text.push_str(&names.join(" "));
}

/// The titles written so far, so that the folders of a file are written once.
struct ShortTitles<'a> {
    /// The account, and the text that it precedes.
    account: (Option<usize>, &'a str),
    slot: Option<usize>,
    /// The whole title by its short form.
    whole: HashMap<&'a str, &'a str, RandomState>,
}

impl<'a> ShortTitles<'a> {
    fn of(account: (Option<usize>, &'a str)) -> ShortTitles<'a> {
        ShortTitles { account, slot: None, whole: HashMap::default() }
    }

    /// Returns the name of a source: the short form once that form has been introduced.
    fn title(&mut self, slot: usize, title: &'a str) -> &'a str {
        if self.slot.replace(slot) != Some(slot) {
            self.whole.clear();
            let is_there = self.account.0 == Some(slot);
            let paths = paths_in(self.account.1).filter(|_| is_there);
            self.whole.extend(paths.map(|path| (short(path), path)));
        }
        let path = path_of(title);
        let short = short(path);
        match self.whole.get(short) {
            Some(whole) if *whole == path => &title[path.len() - short.len()..],
            Some(_) => title,
            None => {
                self.whole.insert(short, path);
                title
            }
        }
    }
}
