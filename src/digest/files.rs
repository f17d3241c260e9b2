//! The files of a conversation: when each was last worked on, and which lines of it are still current.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::numbers::{Numbering, numbered_line};
use super::sources::{Origin, Source};
use crate::text::lines_of;

/// A line of a file, identified by its content.
type LineKey = u64;

/// Facts about the files of a conversation.
#[derive(Debug)]
pub(super) struct Files {
    /// For each file number, the number of files that were worked on after it.
    ranks: Vec<usize>,
    /// The newest source of each line.
    newest: HashMap<LineKey, usize, RandomState>,
    /// The last message that replaced each line by another.
    replaced: HashMap<LineKey, usize, RandomState>,
    /// The lines that calls wrote.
    written: HashSet<LineKey, RandomState>,
    /// True for each file of which one output is the only text. Its lines need no keys.
    read_once: Vec<bool>,
}

impl Files {
    /// Collects the facts from `sources`. O(length of the sources with a file).
    pub(super) fn of(sources: &[Source<'_>]) -> Files {
        let mut files = Files {
            ranks: Vec::new(),
            newest: HashMap::default(),
            replaced: HashMap::default(),
            written: HashSet::default(),
            read_once: read_once(sources),
        };
        let mut touched: Vec<usize> = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let Some(file) = source.file else { continue };
            touched.resize(touched.len().max(file as usize + 1), 0);
            touched[file as usize] = source.message + 1;
            match source.origin {
                Origin::Output if files.read_once[file as usize] => {}
                Origin::Output => files.see(file, index, source),
                Origin::NewText => {
                    files.see(file, index, source);
                    for line in source.text.lines() {
                        let key = key(file, line);
                        files.written.insert(key);
                        // The line is in the file again.
                        files.replaced.remove(&key);
                    }
                }
                Origin::OldText => {
                    let lines = source.text.lines().filter(|line| !line.trim().is_empty());
                    files.replaced.extend(lines.map(|line| (key(file, line), source.message)));
                }
                Origin::Call | Origin::Statement | Origin::Request | Origin::Names => {}
            }
        }
        let mut order: Vec<usize> = (0..touched.len()).collect();
        order.sort_by_key(|file| std::cmp::Reverse(touched[*file]));
        files.ranks = vec![0; touched.len()];
        for (rank, file) in order.into_iter().enumerate() {
            files.ranks[file] = rank;
        }
        files
    }

    fn see(&mut self, file: u32, index: usize, source: &Source<'_>) {
        for line in lines_of(&source.text) {
            let line = match source.numbering {
                Numbering::Printed => numbered_line(line).map_or(line, |(_, rest)| rest),
                Numbering::Counted => line,
            };
            self.newest.insert(key(file, line), index);
        }
    }

    /// Returns the number of files that were worked on after this one.
    pub(super) fn rank(&self, file: u32) -> usize {
        self.ranks[file as usize]
    }

    /// True if a line of a source is still in its file, as far as is known, and in no newer source.
    pub(super) fn is_live(&self, file: u32, source: usize, message: usize, line: &str) -> bool {
        if self.read_once[file as usize] {
            return true;
        }
        let key = key(file, line);
        self.newest.get(&key) == Some(&source) && self.replaced.get(&key).is_none_or(|at| *at < message)
    }

    /// True if a call wrote this line.
    pub(super) fn is_written(&self, file: u32, line: &str) -> bool {
        // With no written lines, the digest of the line is not computed.
        !self.written.is_empty() && !line.trim().is_empty() && self.written.contains(&key(file, line))
    }
}

/// Finds the files of which one output is the only text, without lines that are split into slices. O(length of the outputs).
fn read_once(sources: &[Source<'_>]) -> Vec<bool> {
    let mut last: Vec<(usize, Option<&Source<'_>>)> = Vec::new();
    for source in sources.iter().filter(|source| source.origin != Origin::Call) {
        let Some(file) = source.file else { continue };
        last.resize(last.len().max(file as usize + 1), (0, None));
        let (count, newest) = &mut last[file as usize];
        *count += 1;
        *newest = Some(source);
    }
    let is_whole = |source: &Source<'_>| source.origin == Origin::Output && !source.has_slices();
    last.iter().map(|(count, newest)| *count == 1 && newest.is_some_and(is_whole)).collect()
}

fn key(file: u32, line: &str) -> LineKey {
    xxh3_64_with_seed(line.trim_end().as_bytes(), u64::from(file))
}
