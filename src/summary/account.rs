//! What happened, without a model: sections of lines, which the next account goes on from.

use super::Removed;
use super::cut::{head, shown};
use super::facts::{Facts, Newest};
use crate::message::Text;
use crate::tokens::{CountTokens, TextKind};

/// What an account begins with, and is recognised by.
pub(super) const TITLE: &str = "What happened in them, told without a model:";

/// Characters of a line that an older summary is taken over with.
const LINE: usize = 400;

/// The sections, in the order in which they stand.
const HEADINGS: [&str; 8] = [
    "## Requests",
    "## Tools used",
    "## Files written",
    "## Files read",
    "## Statements and decisions",
    "## Errors",
    "## Open",
    "## Earlier summary",
];
const TOOLS: usize = 1;
const OPEN: usize = 6;
const EARLIER: usize = 7;

/// The order in which sections get room, a line of each at a time: what a next step needs first.
const ROUNDS: [usize; 8] = [OPEN, 0, 2, 5, 4, EARLIER, 3, TOOLS];

/// What `removed` comes to in at most `tokens`; empty where not even one line has room. What a former account said is
/// told on: its lines stand in front of those of the same section; another summary stands under a heading of its own.
/// Each section keeps its newest lines. O(length).
pub fn account<T: Text>(removed: &Removed<'_, T>, tokens: usize, counter: &dyn CountTokens) -> String {
    let facts = Facts::of(removed);
    let mut sections = former(&removed.previous);
    let calls: Vec<(String, (usize, usize))> = facts.tools.into_lines();
    sections[TOOLS] = with_tools(&sections[TOOLS], calls);
    let read = facts.read.into_lines().into_iter().filter(|(path, ())| !facts.written.has(path));
    let read: Vec<String> = read.map(|(path, ())| path).collect();
    // A list of tasks is told whole each time.
    sections[OPEN].clear();
    for (section, lines) in [
        (0, lines(facts.requests)),
        (2, lines(facts.written)),
        (3, read),
        (4, lines(facts.said)),
        (5, lines(facts.errors)),
        (OPEN, lines(facts.open)),
    ] {
        let mut all = Newest::<()>::default();
        sections[section].drain(..).chain(lines).for_each(|line| {
            all.push(line);
        });
        sections[section] = self::lines(all);
    }
    written(&sections, tokens, counter)
}

fn lines(newest: Newest) -> Vec<String> {
    newest.into_lines().into_iter().map(|(line, ())| line).collect()
}

/// The sections of a former account; another text as an earlier summary.
fn former(text: &str) -> [Vec<String>; HEADINGS.len()] {
    let mut sections: [Vec<String>; HEADINGS.len()] = Default::default();
    let mut at = EARLIER;
    let account = text.trim_start().starts_with(TITLE);
    for line in text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty() && *line != TITLE) {
        if account && let Some(heading) = HEADINGS.iter().position(|heading| *heading == line) {
            at = heading;
        } else if HEADINGS.contains(&line) {
            // In a summary that somebody else wrote, it begins no section of the next account.
            sections[at].push(format!("> {line}"));
        } else if at == EARLIER {
            sections[at].push(shown(line, LINE));
        } else {
            sections[at].push(shown(line.strip_prefix("- ").unwrap_or(line), LINE));
        }
    }
    sections
}

/// Tools with how often they were called, those of a former account included.
fn with_tools(former: &[String], now: Vec<(String, (usize, usize))>) -> Vec<String> {
    let mut tools = Newest::<(usize, usize)>::default();
    let read = |line: &String| {
        let (name, rest) = line.rsplit_once(": ")?;
        let (calls, failed) = rest.split_once(", ").map_or((rest, None), |(calls, failed)| (calls, Some(failed)));
        let number = |text: &str| text.split(' ').next()?.parse::<usize>().ok();
        Some((name.to_owned(), number(calls)?, failed.and_then(number).unwrap_or_default()))
    };
    let former = former.iter().filter_map(read);
    for (name, calls, failed) in former.chain(now.into_iter().map(|(name, (calls, failed))| (name, calls, failed))) {
        let tool = tools.push(name);
        *tool = (tool.0.saturating_add(calls), tool.1.saturating_add(failed));
    }
    let line = |(name, (calls, failed)): (String, (usize, usize))| match failed {
        0 => format!("{name}: {calls} calls"),
        _ => format!("{name}: {calls} calls, {failed} failed"),
    };
    tools.into_lines().into_iter().map(line).collect()
}

/// The sections in at most `tokens`. Lines are taken in rounds, one of each section, its newest first; of an earlier
/// summary, whose head says most, its first.
fn written(sections: &[Vec<String>; HEADINGS.len()], tokens: usize, counter: &dyn CountTokens) -> String {
    let count = |text: &str| counter.count(text, TextKind::Prose) + 1;
    let mut rest = tokens.saturating_sub(count(TITLE));
    let mut kept = [0_usize; HEADINGS.len()];
    let mut full = [false; HEADINGS.len()];
    while full.contains(&false) {
        for section in ROUNDS {
            let lines = &sections[section];
            let next = match section {
                EARLIER => lines.get(kept[section]),
                _ => lines.len().checked_sub(kept[section] + 1).map(|at| &lines[at]),
            };
            let heading = if kept[section] == 0 { count(HEADINGS[section]) } else { 0 };
            let bullet = 1;
            match next.map(|line| count(line) + heading + bullet).filter(|needed| *needed <= rest) {
                Some(needed) if !full[section] => {
                    kept[section] += 1;
                    rest -= needed;
                }
                _ => full[section] = true,
            }
        }
    }
    if kept.iter().all(|kept| *kept == 0) {
        return String::new();
    }
    let mut out = TITLE.to_owned();
    for (section, lines) in sections.iter().enumerate().filter(|(section, _)| kept[*section] > 0) {
        out.push('\n');
        out.push_str(HEADINGS[section]);
        let chosen = match section {
            EARLIER => &lines[..kept[section]],
            _ => &lines[lines.len() - kept[section]..],
        };
        for line in chosen {
            out.push_str(if section == EARLIER { "\n" } else { "\n- " });
            out.push_str(line);
        }
    }
    // Lines are counted one by one; together they could take a little more.
    if counter.fits(&out, TextKind::Prose, tokens) {
        return out;
    }
    let whole = head(&out, tokens, TextKind::Prose, counter);
    whole.rsplit_once('\n').map(|(lines, _)| lines.to_owned()).unwrap_or_default()
}
