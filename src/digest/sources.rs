//! The texts from which lines are chosen: tool outputs, text that calls wrote to files, dialogue, and older digests.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::Past;
use super::mark::{ASSISTANT, NAMES, REQUESTS, USER, WORDS, paths_in, section_text, split_account, title_of_source};
use super::numbers::Numbering;
use super::sections::{AS_WRITTEN, path_of, sections, short};
use crate::calls::{self, Call};
use crate::message::{Item, Message, Part, Role, Text};
use crate::store::{Storing, marked, noted_removals};
use crate::text::{has_other_line_ends, lines_of};

/// The kind of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A text that a tool returned.
    Output,
    /// A text that a call wrote into a file.
    NewText,
    /// A text that a call replaced in a file.
    OldText,
    /// The arguments of a call, as written.
    Call,
    /// A text of the model.
    Statement,
    /// A text of the user.
    Request,
    /// Names that an older digest kept without their lines.
    Names,
}

/// A line with more bytes is split into slices, so that no line can take a whole budget.
pub(super) const LONGEST_LINE: usize = 600;

/// One text of the conversation.
#[derive(Debug)]
pub(super) struct Source<'a> {
    /// Index of its message.
    pub message: usize,
    /// The place for its lines: the number of a gap, or a number after all gaps for a cut. `None` if it has no place.
    pub slot: Option<usize>,
    /// True if the text is kept in the conversation.
    pub stays: bool,
    /// Kind of the source.
    pub origin: Origin,
    /// The file of its lines.
    pub file: Option<u32>,
    /// Name of the source in a digest.
    pub title: Cow<'a, str>,
    /// Its text.
    pub text: Cow<'a, str>,
    /// Numbering of its lines.
    pub numbering: Numbering,
    /// Tokens for each byte of its text.
    pub density: f64,
}

impl Source<'_> {
    /// True if a line of the text may be split into slices, or may count as several lines. O(length).
    pub(super) fn has_slices(&self) -> bool {
        has_other_line_ends(&self.text) || lines_of(&self.text).any(|line| line.len() > LONGEST_LINE)
    }
}

/// Number of each file of a conversation, by its path.
type Files = HashMap<String, u32, RandomState>;

/// Returns every text of the conversation, in order. O(length).
pub(super) fn of<'a, T: Text>(past: &Past<'a, T>) -> Vec<Source<'a>> {
    let calls = Calls::of(past);
    let mut reader = SourceReader { files: Files::default(), sources: Vec::new() };
    let mut gaps = past.gaps.iter().enumerate().peekable();
    let mut cuts = past.cuts.iter().enumerate().peekable();
    let mut call = calls.calls.iter().zip(past.pairs.calls()).peekable();
    for (index, message) in past.conversation.messages.iter().enumerate() {
        while gaps.next_if(|(_, gap)| gap.end <= index).is_some() {}
        let gap = gaps.peek().filter(|(_, range)| range.contains(&index)).map(|(gap, _)| *gap);
        // Every format of the same conversation gives the same digest.
        let mut parts: Vec<(usize, &Part<T>)> = message.parts.iter().enumerate().collect();
        parts.sort_by_key(|(_, part)| part.turn());
        for (at, part) in parts {
            let place = Place { message: index, slot: gap, stays: gap.is_none(), tokens: past.tokens.part(index, at) };
            match part {
                Part::Result { items, .. } => {
                    let about = calls.by_result.get(&(index, at)).map(|call| &calls.calls[*call]);
                    for (item, content) in items.iter().enumerate() {
                        let cut = cuts.next_if(|(_, cut)| **cut == (index, at, item)).map(|(cut, _)| cut);
                        let slot = place.slot.or(cut.map(|cut| past.gaps.len() + cut));
                        let stays = slot.is_none();
                        let place = Place { tokens: past.tokens.item(index, at, item), slot, stays, ..place };
                        reader.output(place, about, content);
                    }
                }
                Part::Call { input, .. } => {
                    if let Some((about, _)) = call.next_if(|(_, site)| (site.message, site.part) == (index, at)) {
                        reader.call(place, about, input);
                    }
                }
                Part::Text(text) => reader.words(place, message, text),
                Part::Reasoning { text, .. } => {
                    reader.push(place, Origin::Statement, None, ASSISTANT, Cow::Borrowed(text));
                }
                Part::Media(_) | Part::Document(_) | Part::CachePoint | Part::Opaque(_) => {}
            }
        }
    }
    let newest = past.conversation.messages.len().saturating_sub(1);
    for text in &past.beside {
        let place = Place { message: newest, slot: None, stays: true, tokens: 0 };
        reader.push(place, Origin::Output, None, "", Cow::Borrowed(text));
    }
    for (gap, body) in &past.older {
        let place = Place { message: past.gaps[*gap].start, slot: Some(*gap), stays: false, tokens: 0 };
        reader.older(place, body);
    }
    reader.sources
}

/// The calls of a conversation, parsed.
struct Calls<'a> {
    calls: Vec<(&'a str, Call)>,
    by_result: HashMap<(usize, usize), usize, RandomState>,
}

impl<'a> Calls<'a> {
    fn of<T: Text>(past: &Past<'a, T>) -> Calls<'a> {
        let mut by_result = HashMap::default();
        let read = |(index, site): (usize, &crate::invariants::CallSite)| {
            by_result.extend(site.result.map(|result| (result, index)));
            match &past.conversation.messages[site.message].parts[site.part] {
                Part::Call { name, input, .. } => (&**name, calls::read(input)),
                _ => ("", Call::default()), // A call site is a call.
            }
        };
        let calls = past.pairs.calls().iter().enumerate().map(read).collect();
        Calls { calls, by_result }
    }
}

/// Position of a source, and its tokens.
#[derive(Clone, Copy)]
struct Place {
    message: usize,
    slot: Option<usize>,
    stays: bool,
    tokens: usize,
}

/// Tokens for each byte if they are not known.
const USUAL_DENSITY: f64 = 0.3;

struct SourceReader<'a> {
    files: Files,
    sources: Vec<Source<'a>>,
}

impl<'a> SourceReader<'a> {
    fn push(
        &mut self,
        place: Place,
        origin: Origin,
        file: Option<u32>,
        title: impl Into<Cow<'a, str>>,
        text: Cow<'a, str>,
    ) {
        let density = if place.tokens == 0 { USUAL_DENSITY } else { place.tokens as f64 / text.len().max(1) as f64 };
        let Place { message, slot, stays, .. } = place;
        let numbering = Numbering::of(&text);
        self.sources.push(Source { message, slot, stays, origin, file, title: title.into(), text, numbering, density });
    }

    /// Adds the lines that an older digest kept.
    fn push_quotes(&mut self, place: Place, origin: Origin, file: Option<u32>, title: String, text: &'a str) {
        self.push(place, origin, file, title, Cow::Borrowed(text));
        if let Some(source) = self.sources.last_mut() {
            source.numbering = Numbering::of_kept(text);
        }
    }

    fn file(&mut self, path: &str) -> u32 {
        if let Some(file) = self.files.get(path) {
            return *file;
        }
        let file = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        self.files.insert(path.to_owned(), file);
        file
    }

    fn output<T: Text>(&mut self, place: Place, about: Option<&(&'a str, Call)>, item: &'a Item<T>) {
        let Some((text, _)) = item.text() else { return };
        let quotes = marked(text, Storing::On, &[]).map(|marked| marked.body);
        let (file, title) = match about {
            Some((_, Call { path: Some(path), .. })) => (Some(self.file(path)), title_of_source(path)),
            Some((tool, call)) => (None, title_of_source(&format!("{tool} {}", call.about))),
            None => (None, String::new()),
        };
        match quotes {
            Some(quotes) => self.push_quotes(place, Origin::Output, file, title, quotes),
            None => self.push(place, Origin::Output, file, title, Cow::Borrowed(text)),
        }
    }

    fn call<T: Text>(&mut self, place: Place, (tool, call): &(&'a str, Call), input: &'a T) {
        let (written, replaced) = (&call.written, &call.replaced);
        let file = call.path.as_ref().map(|path| self.file(path));
        let whole = Place { slot: None, ..place };
        self.push(whole, Origin::Call, file, *tool, Cow::Borrowed(&**input));
        let Some(path) = &call.path else { return };
        let place = Place { tokens: 0, ..place };
        for text in replaced {
            self.push(Place { slot: None, ..place }, Origin::OldText, file, "", Cow::Owned(text.clone()));
        }
        for text in written {
            self.push(
                place,
                Origin::NewText,
                file,
                format!("{}{}", title_of_source(path), AS_WRITTEN),
                Cow::Owned(text.clone()),
            );
        }
    }

    fn words<T: Text>(&mut self, place: Place, message: &Message<T>, text: &'a T) {
        if let Some(note) = noted_removals(text) {
            // A kept note stays where it is. A removed note is a source again.
            if place.slot.is_some() {
                self.older(place, note.body);
            }
            return;
        }
        let (origin, title) = match message.role {
            Role::User => (Origin::Request, USER),
            Role::Assistant => (Origin::Statement, ASSISTANT),
            Role::System => return,
        };
        self.push(place, origin, None, title, Cow::Borrowed(&**text));
    }

    /// Adds the dialogue in an older account, and the sections of an older digest.
    fn older(&mut self, place: Place, body: &'a str) {
        let place = Place { tokens: 0, ..place };
        let (account, digest) = split_account(body);
        for (origin, heading, title) in [(Origin::Request, REQUESTS, USER), (Origin::Statement, WORDS, ASSISTANT)] {
            let talk = section_text(account, heading);
            if !talk.is_empty() {
                self.push(place, origin, None, title, Cow::Owned(talk));
            }
        }
        let mut whole: HashMap<&str, &str, RandomState> = paths_in(account).map(|path| (short(path), path)).collect();
        for (title, text) in sections(digest) {
            if title == NAMES {
                self.push(place, Origin::Names, None, "", Cow::Borrowed(text));
                continue;
            }
            let origin = match title {
                USER => Origin::Request,
                ASSISTANT => Origin::Statement,
                _ if title.ends_with(AS_WRITTEN) => Origin::NewText,
                _ => Origin::Output,
            };
            let printed = path_of(title);
            let path = *whole.entry(short(printed)).or_insert(printed);
            let path = if short(printed) == printed { path } else { printed };
            let file = self.files.get(path).copied();
            let title = format!("{path}{}", &title[printed.len()..]);
            self.push_quotes(place, origin, file, title, text);
        }
    }
}

/// True if the runs of a source begin with a line number: for a file, which may be edited, for an output that had
/// numbers, and for a text that is kept.
pub(super) fn is_numbered(source: &Source<'_>, titled: usize) -> bool {
    let has_numbers = source.file.is_some() || source.numbering == Numbering::Printed;
    has_numbers || source.slot.is_some_and(|slot| slot >= titled)
}
