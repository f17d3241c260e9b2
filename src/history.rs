//! Answers questions of hosts about their list: roles and texts, results and their calls, places to cut.
//!
//! A message of the core may stand for several entries of the list. Every answer here names entries, so that a host can
//! look up, pin or remove its own objects.

use std::ops::Range;

use crate::calls;
use crate::invariants::{Awaits, CallSite, CutPoints, Pairs, waiting_from};
use crate::message::{Conversation, Item, Outcome, Part, Pin, Role, Text};

/// The type of an entry in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// Instructions.
    System,
    /// Words of the user.
    User,
    /// Words or calls of the model.
    Assistant,
    /// Tool results.
    Tool,
}

impl EntryKind {
    /// Returns the public name.
    pub fn name(self) -> &'static str {
        match self {
            EntryKind::System => Role::System.name(),
            EntryKind::User => Role::User.name(),
            EntryKind::Assistant => Role::Assistant.name(),
            EntryKind::Tool => "tool",
        }
    }
}

/// A call or a result by its place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartPlace {
    /// The entry.
    pub entry: usize,
    /// The number of the call or result in its entry.
    pub number: usize,
}

/// A tool result, and the call that it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultSite {
    /// Its message and part.
    pub site: (usize, usize),
    /// Index of the call; `None` if no call in the list has its id, or an earlier result answered that call.
    pub call: Option<usize>,
}

/// A caller's list, read once.
#[derive(Debug)]
pub struct History<T> {
    conversation: Conversation<T>,
    pairs: Pairs,
    cuts: CutPoints,
    /// The message of each entry, and its parts in that message.
    entries: Vec<(usize, Range<usize>)>,
    /// All results, oldest first.
    results: Vec<ResultSite>,
    /// The first message with a call that may still be answered.
    waiting_from: usize,
}

impl<T: Text> History<T> {
    /// Matches calls with results, and finds the cut points. O(parts).
    pub fn of(conversation: Conversation<T>) -> History<T> {
        let pairs = Pairs::of(&conversation);
        let cuts = CutPoints::of(&conversation, &pairs);
        let mut answered: Vec<((usize, usize), usize)> =
            pairs.calls().iter().enumerate().filter_map(|(call, site)| Some((site.result?, call))).collect();
        answered.sort_unstable();
        let mut entries = Vec::new();
        let mut results = Vec::new();
        for (message, content) in conversation.messages.iter().enumerate() {
            let parts = content.parts.len();
            let starts = std::iter::once(0).chain(content.span.later_entries().iter().copied());
            let ends = content.span.later_entries().iter().copied().chain(std::iter::once(parts));
            entries.extend(starts.zip(ends).map(|(start, end)| (message, start..end)));
            for (part, _) in content.parts.iter().enumerate().filter(|(_, part)| matches!(part, Part::Result { .. })) {
                let site = (message, part);
                let call = answered.binary_search_by_key(&site, |(result, _)| *result).ok();
                results.push(ResultSite { site, call: call.map(|index| answered[index].1) });
            }
        }
        // Some hosts put a reminder among the results of a call.
        let waiting_from = waiting_from(&conversation);
        History { conversation, pairs, cuts, entries, results, waiting_from }
    }

    /// Returns the number of entries in the list.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Returns all calls, oldest first.
    pub fn calls(&self) -> &[CallSite] {
        self.pairs.calls()
    }

    /// Returns all results, oldest first.
    pub fn results(&self) -> &[ResultSite] {
        &self.results
    }

    /// Returns the index of the result that answers a call.
    pub fn result_of(&self, call: usize) -> Option<usize> {
        let site = self.pairs.calls()[call].result?;
        self.results.binary_search_by_key(&site, |result| result.site).ok()
    }

    /// True if the result of a call may still come: it has none, and only other results and system messages follow, or
    /// a person must approve it.
    pub fn waits(&self, call: usize) -> bool {
        let site = &self.pairs.calls()[call];
        site.result.is_none() && (site.awaits == Awaits::Approval || site.message >= self.waiting_from)
    }

    /// Returns a part of a message.
    pub fn part(&self, (message, part): (usize, usize)) -> &Part<T> {
        &self.conversation.messages[message].parts[part]
    }

    /// Returns the position of a call or a result in the list.
    pub fn place(&self, (message, part): (usize, usize)) -> PartPlace {
        let content = &self.conversation.messages[message];
        let (entry, first) = content.span.entry_of(part);
        let kind = std::mem::discriminant(&content.parts[part]);
        let before = &content.parts[first..part];
        PartPlace { entry, number: before.iter().filter(|part| std::mem::discriminant(*part) == kind).count() }
    }

    /// Returns the type of an entry.
    pub fn kind(&self, entry: usize) -> EntryKind {
        let (message, parts) = &self.entries[entry];
        let message = &self.conversation.messages[*message];
        match message.role {
            _ if message.parts[parts.clone()].iter().any(|part| matches!(part, Part::Result { .. })) => EntryKind::Tool,
            Role::System => EntryKind::System,
            Role::User => EntryKind::User,
            Role::Assistant => EntryKind::Assistant,
        }
    }

    /// Returns the words of an entry, without reasoning, calls and results.
    pub fn words(&self, entry: usize) -> String {
        let (message, parts) = &self.entries[entry];
        let parts = self.conversation.messages[*message].parts[parts.clone()].iter();
        let texts: Vec<&str> =
            parts.filter_map(|part| if let Part::Text(text) = part { Some(&**text) } else { None }).collect();
        texts.join("\n")
    }

    /// Returns the text of a result, without pictures and files.
    pub fn result_text(&self, result: &ResultSite) -> String {
        let Part::Result { items, .. } = self.part(result.site) else { return String::new() };
        items.iter().filter_map(|item| Item::text(item).map(|(text, _)| text)).collect::<Vec<_>>().join("\n")
    }

    /// Returns the outcome of the call, as far as the result states it. O(length).
    pub fn outcome(&self, result: &ResultSite) -> Outcome {
        let call = result.call.map(|call| &self.pairs.calls()[call]);
        let path = call.and_then(|call| match self.part((call.message, call.part)) {
            Part::Call { input, .. } => calls::read(input).path,
            _ => None,
        });
        calls::outcome_of(self.part(result.site), path.as_deref())
    }

    /// Returns the tool of a result. If the result does not name it, its call does.
    pub fn tool_of(&self, result: &ResultSite) -> Option<&str> {
        let call = result.call.map(|call| &self.pairs.calls()[call]);
        match (call.map(|call| self.part((call.message, call.part))), self.part(result.site)) {
            (Some(Part::Call { name, .. }), _) => Some(name),
            (_, Part::Result { tool, .. }) => tool.as_deref(),
            _ => None,
        }
    }

    /// Returns the entries with words of the user. O(entries).
    pub fn requests(&self) -> Vec<usize> {
        (0..self.entries()).filter(|entry| self.kind(*entry) == EntryKind::User).collect()
    }

    /// Returns the entries that are never changed or removed: those that the host pinned, and the newest compaction of
    /// a provider. O(messages).
    pub fn pins(&self) -> Vec<usize> {
        let pinned = self.conversation.messages.iter().filter(|message| message.pin == Pin::Pinned);
        pinned.flat_map(|message| message.span.entries()).collect()
    }

    /// Returns the positions at which the list may be cut; position `i` is before entry `i`. A cut never separates a
    /// result from its call, even one that has not arrived yet. O(messages).
    pub fn cut_points(&self) -> Vec<usize> {
        let waiting = (0..self.calls().len()).find(|call| self.waits(*call));
        let end = waiting.map_or(self.conversation.messages.len(), |call| self.calls()[call].message);
        let entry = |message: usize| {
            self.conversation.messages.get(message).map_or(self.entries(), |message| message.span.entries().start)
        };
        let mut cuts = Vec::new();
        for message in 0..=end {
            if self.cuts.is_legal(message) {
                cuts.push(entry(message));
            }
            if message < end {
                cuts.extend(self.cuts_within(message));
            }
        }
        cuts
    }

    /// Returns the entries inside a message before which the list may be cut too, because its parts are independent:
    /// the user's words after results, and a call after the model's words.
    fn cuts_within(&self, message: usize) -> Vec<usize> {
        let content = &self.conversation.messages[message];
        let only_words =
            |parts: &[Part<T>]| !parts.iter().any(|p| matches!(p, Part::Call { .. } | Part::Result { .. }));
        if !content.ties.is_empty() || content.parts.iter().any(|part| matches!(part, Part::Reasoning { .. })) {
            return Vec::new();
        }
        let is_free = |first: &&usize| {
            let (head, tail) = content.parts.split_at(**first);
            (only_words(head) && self.cuts.is_legal(message)) || (only_words(tail) && self.cuts.is_legal(message + 1))
        };
        content.span.later_entries().iter().filter(is_free).map(|first| content.span.entry_of(*first).0).collect()
    }
}
