//! An account of removed messages, written without a model. An agent can continue from it, and so can the next account.
//!
//! Its form is fixed: a first line, then headings with entries that begin with `- `. Further lines of an entry are
//! indented, so no text of a person or a tool can pass for a heading.

use super::cut::{head, shown};
use super::facts::{Deed, Facts, Newest};
use super::{Removed, words};
use crate::digest::{ACCOUNT, BULLET, INDENT, REQUESTS, TIMES, WORDS};
use crate::message::Text;
use crate::text::sentences;
use crate::tokens::{CountTokens, TextKind};

/// Number of characters of a line that are taken over from an older summary.
const LINE: usize = 400;

/// The sections, in the order in which they are written.
const HEADINGS: [&str; 6] =
    [REQUESTS, "## Done", "## Failed, without a later success", "## Tasks", WORDS, "## Earlier summary"];
const DONE: usize = 1;
const FAILED: usize = 2;
const TASKS: usize = 3;
const SPOKEN: usize = 4;
const EARLIER: usize = 5;

/// The order in which sections get room, and the share of the whole that each gets first. The rest is then distributed
/// in the same order.
const SHARES: [(usize, f64); 6] = [(TASKS, 0.4), (0, 0.15), (EARLIER, 0.3), (DONE, 0.3), (FAILED, 0.05), (SPOKEN, 1.0)];

/// Minimum tokens that each section gets first, however small the whole is.
const LEAST: usize = 60;

/// The lines of an entry.
type Entry = Vec<String>;

/// The sections of an account, each with its newest entry last.
type Sections = [Vec<Entry>; HEADINGS.len()];

/// Returns an account of `removed` in at most `tokens`; empty if not even one line fits. It continues a former account.
/// A former summary of another form gets a heading of its own. O(length of the conversation).
pub fn account<T: Text>(removed: &Removed<'_, T>, tokens: usize, counter: &dyn CountTokens) -> String {
    continue_account(removed, &removed.previous, tokens, counter)
}

/// Returns an account that continues `previous`.
pub(super) fn continue_account<T: Text>(
    removed: &Removed<'_, T>,
    previous: &str,
    tokens: usize,
    counter: &dyn CountTokens,
) -> String {
    let facts = Facts::of(removed);
    let mut sections = read_former(previous);
    sections[0].extend(facts.requests);
    sections[DONE] = merge_deeds(std::mem::take(&mut sections[DONE]), facts.deeds);
    sections[FAILED].extend(facts.failures.into_iter().map(|line| vec![line]));
    if let Some(tasks) = facts.tasks {
        // The list of tasks is written whole.
        sections[TASKS] = tasks.into_iter().map(|task| vec![task]).collect();
    } else if facts.tasks_stay {
        sections[TASKS].clear();
    }
    sections[SPOKEN].extend(facts.words);
    for section in &mut sections {
        let mut different: Newest = Newest::default();
        section.drain(..).filter(|entry| !entry.is_empty()).for_each(|entry| {
            different.push(entry.join("\n"));
        });
        let entries = different.into_lines().into_iter();
        section.extend(entries.map(|(entry, ())| entry.split('\n').map(str::to_owned).collect::<Entry>()));
    }
    AccountWriter { counter, rest: tokens, kept: Sections::default() }.write(sections, tokens)
}

/// Reads the sections of a former account. Any other text becomes an earlier summary.
fn read_former(text: &str) -> Sections {
    let mut sections = Sections::default();
    let mut at = EARLIER;
    let mut is_account = false;
    for line in text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()) {
        if line == ACCOUNT {
            is_account = true;
        } else if is_account && let Some(heading) = HEADINGS.iter().position(|heading| *heading == line) {
            at = heading;
        } else if let Some(line) = line.strip_prefix(BULLET).filter(|_| is_account) {
            sections[at].push(vec![line.to_owned()]);
        } else if let Some(line) = line.strip_prefix(INDENT).filter(|_| is_account)
            && let Some(entry) = sections[at].last_mut()
        {
            entry.push(line.to_owned());
        } else {
            sections[EARLIER].push(vec![shown(line, LINE)]);
        }
    }
    // Words are written with the newest first.
    sections[SPOKEN].reverse();
    sections
}

/// Returns the deeds, with their counts in a former account added.
fn merge_deeds(former: Vec<Entry>, now: Vec<(String, Deed)>) -> Vec<Entry> {
    let mut deeds = Newest::<Deed>::default();
    let read = |entry: Entry| {
        let (name, rest) = entry.first()?.rsplit_once(TIMES.0)?;
        let (times, end) = rest.split_once(TIMES.1)?;
        let end = end.strip_prefix(": ").unwrap_or_default().to_owned();
        Some((name.to_owned(), Deed { times: times.parse().ok()?, end }))
    };
    for (name, Deed { times, end }) in former.into_iter().filter_map(read).chain(now) {
        let deed = deeds.push(name);
        *deed = Deed { times: deed.times.saturating_add(times), end };
    }
    let line = |(name, Deed { times, end }): (String, Deed)| {
        let end = if end.is_empty() { end } else { format!(": {end}") };
        vec![format!("{name}{}{times}{}{end}", TIMES.0, TIMES.1)]
    };
    // Changes are more important than commands, and the last entries are kept first.
    let (run, changed): (Vec<_>, Vec<_>) = deeds.into_lines().into_iter().partition(|(name, _)| name.starts_with('`'));
    run.into_iter().chain(changed).map(line).collect()
}

/// Writes an account.
struct AccountWriter<'a> {
    counter: &'a dyn CountTokens,
    rest: usize,
    /// The kept entries of each section, newest first.
    kept: Sections,
}

impl AccountWriter<'_> {
    fn write(mut self, sections: Sections, tokens: usize) -> String {
        let title = self.count(ACCOUNT);
        self.rest = self.rest.saturating_sub(title);
        let mut waiting = sections.map(|entries| entries.into_iter().rev().collect::<Vec<_>>());
        let rooms = self.rooms(&waiting);
        for (section, _) in SHARES {
            // Words come last, and use the room that other sections leave.
            let room = if section == SPOKEN { self.rest } else { rooms[section] };
            self.fill(section, std::mem::take(&mut waiting[section]), room);
        }
        let mut out = ACCOUNT.to_owned();
        for (section, entries) in self.kept.iter_mut().enumerate().filter(|(_, entries)| !entries.is_empty()) {
            out.push('\n');
            out.push_str(HEADINGS[section]);
            if section != SPOKEN {
                entries.reverse();
            }
            for entry in entries {
                for (at, line) in entry.iter().enumerate() {
                    out.push('\n');
                    out.push_str(if at == 0 { BULLET } else { INDENT });
                    out.push_str(line);
                }
            }
        }
        if out.len() == ACCOUNT.len() {
            return String::new();
        }
        // Lines are counted one by one. Together they could have a few more tokens.
        if self.counter.fits(&out, TextKind::Prose, tokens) {
            return out;
        }
        let whole = head(&out, tokens, TextKind::Prose, self.counter);
        whole.rsplit_once('\n').map(|(lines, _)| lines.to_owned()).unwrap_or_default()
    }

    /// Returns the tokens that each section gets.
    fn rooms(&self, waiting: &Sections) -> [usize; HEADINGS.len()] {
        let mut needs = [0; HEADINGS.len()];
        for (section, entries) in waiting.iter().enumerate().filter(|(_, entries)| !entries.is_empty()) {
            needs[section] = self.count(HEADINGS[section]);
            // The counting stops at the section's share.
            for line in entries.iter().flatten() {
                if needs[section] >= self.rest {
                    break;
                }
                needs[section] += self.count(line) + 1;
            }
        }
        let (mut rooms, mut rest) = ([0; HEADINGS.len()], self.rest);
        let shares = SHARES.map(|(section, share)| {
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let most = (self.rest as f64 * share) as usize;
            (section, most.max(LEAST))
        });
        for (section, most) in shares.into_iter().chain(SHARES.map(|(section, _)| (section, usize::MAX))) {
            let more = (needs[section] - rooms[section]).min(most).min(rest);
            rooms[section] += more;
            rest -= more;
        }
        rooms
    }

    /// Keeps entries of a section as long as they fit into `room` tokens. Of an entry that does not fit, it keeps the
    /// first lines and sentences.
    fn fill(&mut self, section: usize, entries: Vec<Entry>, room: usize) {
        let heading = self.count(HEADINGS[section]);
        if entries.is_empty() || heading > room {
            return;
        }
        let mut room = room - heading;
        self.rest -= heading;
        if section == SPOKEN {
            let (entries, used) = words::choose(&entries, room, |text| self.count(text));
            self.rest -= used;
            self.kept[section] = entries;
            return;
        }
        for entry in entries {
            let (taken, is_whole) = self.part(entry, &mut room);
            if !taken.is_empty() {
                self.kept[section].push(taken);
            }
            if !is_whole {
                return;
            }
        }
    }

    /// Returns the first lines and sentences of an entry that fit, and true if these are all.
    fn part(&mut self, entry: Entry, room: &mut usize) -> (Entry, bool) {
        let mut taken = Entry::new();
        for line in entry {
            if self.take(&line, room) {
                taken.push(line);
                continue;
            }
            let (mut at, mut first) = (0, "");
            for sentence in sentences(&line) {
                if !self.take(sentence, room) {
                    break;
                }
                at = line[at..].find(sentence).map_or(at, |found| at + found) + sentence.len();
                first = &line[..at];
            }
            if !first.is_empty() {
                taken.push(first.trim_start().to_owned());
            }
            return (taken, false);
        }
        (taken, true)
    }

    /// True if a text fits. Its tokens are then subtracted from `room`.
    fn take(&mut self, text: &str, room: &mut usize) -> bool {
        let needed = self.count(text) + 1;
        let fits = needed <= *room;
        if fits {
            *room -= needed;
            self.rest -= needed;
        }
        fits
    }

    fn count(&self, text: &str) -> usize {
        self.counter.count(text, TextKind::Prose) + 1
    }
}
