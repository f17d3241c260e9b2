//! Extracts what happened in messages, as far as that is possible without a model.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::Removed;
use super::cut::shown;
use super::removed::Content;
use crate::calls::{Call, Task, TaskListUse, Tasks, WriteExtent, has_failed, is_test, read, takes_effect};
use crate::compress::reports;
use crate::message::{Item, Part, Role, Text};
use crate::text::ends_line;

/// Maximum characters of a line.
const LINE: usize = 240;
/// Maximum characters of a call's subject.
const ABOUT: usize = 100;
/// Maximum characters of a command. An agent repeats its commands, even long ones.
const COMMAND: usize = 1_000;
/// Maximum characters of a task.
const TASK: usize = 600;
/// Maximum characters of a test run's outcome.
const OUTCOME: usize = 120;

/// Number of the newest removed messages in which failures are searched. The agent has given up older failures.
const FAILURES_IN: usize = 80;

/// The events in some messages.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Requests of the user, newest last, each as its lines.
    pub requests: Vec<Vec<String>>,
    /// Deeds with their names.
    pub deeds: Vec<(String, Deed)>,
    /// Calls that failed and have not succeeded since.
    pub failures: Vec<String>,
    /// The newest list of tasks; `None` if it is kept in the conversation, or there is none.
    pub tasks: Option<Vec<String>>,
    /// True if the newest list of tasks is kept in the conversation.
    pub tasks_stay: bool,
    /// Statements of the assistant, newest last, each as its lines.
    pub words: Vec<Vec<String>>,
}

/// The count of a deed, and its outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Deed {
    pub times: usize,
    /// The model's description, and the last outcome; empty if the deed needs no words.
    pub end: String,
}

impl Deed {
    fn repeat(&mut self, description: String) {
        self.times += 1;
        self.end = description;
    }
}

/// Lines without repetition, in the order of their last occurrence, each with a value.
#[derive(Debug)]
pub(super) struct Newest<V = ()> {
    seen: HashMap<String, (usize, V), RandomState>,
    count: usize,
}

impl<V> Default for Newest<V> {
    fn default() -> Newest<V> {
        Newest { seen: HashMap::default(), count: 0 }
    }
}

impl<V: Default> Newest<V> {
    /// Adds a line, or makes it the newest, and returns its value.
    pub fn push(&mut self, line: String) -> &mut V {
        self.count += 1;
        let entry = self.seen.entry(line).or_default();
        entry.0 = self.count;
        &mut entry.1
    }

    /// Removes a line.
    pub fn remove(&mut self, line: &str) {
        self.seen.remove(line);
    }

    /// Returns the lines, newest last. O(n log n).
    pub fn into_lines(self) -> Vec<(String, V)> {
        let mut lines: Vec<(usize, String, V)> =
            self.seen.into_iter().map(|(line, (at, value))| (at, line, value)).collect();
        lines.sort_unstable_by_key(|(at, ..)| *at);
        lines.into_iter().map(|(_, line, value)| (line, value)).collect()
    }
}

/// A call whose result has not been read yet.
struct Open {
    /// The tool and what the call is about.
    subject: String,
    /// The kind of deed, if the call counts as one.
    deed: Option<Kind>,
    /// The model's own words about the call.
    description: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Change,
    Test,
    Effect,
    /// A command that neither tests nor changes anything.
    Command,
}

/// The last result of each deed. Only that one is read.
type Runs<'a, T> = HashMap<String, (Kind, &'a Part<T>, &'a [Item<T>]), RandomState>;

impl Facts {
    /// Extracts the facts of `removed`. From kept messages it takes only repaired failures and newer lists of tasks.
    /// O(length).
    pub(super) fn of<T: Text>(removed: &Removed<'_, T>) -> Facts {
        let mut facts = Facts::default();
        let mut tasks = Tasks::default();
        let mut open: HashMap<(usize, usize), Open, RandomState> = HashMap::default();
        let mut failed: Newest<&[Item<T>]> = Newest::default();
        let mut deeds: Newest<Deed> = Newest::default();
        let mut runs: Runs<'_, T> = Runs::default();
        let looked_at = removed.messages().rev().nth(FAILURES_IN).unwrap_or(0);
        for (message, is_removed) in removed.all() {
            for (part, content) in removed.contents(message) {
                match content {
                    Content::Words(text) if is_removed => facts.words(removed.role(message), text),
                    Content::Call { tool, input } => {
                        if tasks.follow(tool, input) == TaskListUse::List {
                            facts.tasks_stay = !is_removed;
                        }
                        let call = read(input);
                        let deed = if is_removed { kind(tool, &call) } else { None };
                        let description = shown(&call.description, ABOUT);
                        open.insert((message, part), Open { subject: subject(tool, &call), deed, description });
                    }
                    Content::Result { tool, call, items, result } => {
                        let open = call.and_then(|call| open.remove(&call));
                        let open = open.unwrap_or_else(|| Open {
                            subject: shown(tool, ABOUT),
                            deed: None,
                            description: String::new(),
                        });
                        if let Some(kind) = open.deed.filter(|kind| *kind != Kind::Command) {
                            deeds.push(open.subject.clone()).repeat(open.description);
                            runs.insert(open.subject, (kind, result, items));
                        } else if message >= looked_at && is_removed && has_failed(result) {
                            *failed.push(open.subject) = items;
                        } else {
                            failed.remove(&open.subject);
                            if open.deed.is_some() {
                                deeds.push(open.subject).repeat(open.description);
                            }
                        }
                    }
                    Content::Words(_) | Content::Thought(_) | Content::Thing(_) => {}
                }
            }
        }
        facts.deeds = deeds.into_lines();
        for (subject, deed) in &mut facts.deeds {
            if let Some((kind, result, items)) = runs.get(subject)
                && (*kind == Kind::Test || has_failed(result))
            {
                let end = outcome(items);
                deed.end = if deed.end.is_empty() { end } else { format!("{}: {end}", deed.end) };
            }
        }
        for (subject, items) in failed.into_lines() {
            facts.failures.push(format!("{}: {}", shown(&subject, ABOUT), outcome(items)));
        }
        let is_listed = !facts.tasks_stay && tasks.all().next().is_some();
        facts.tasks = is_listed.then(|| tasks.all().map(task_line).collect());
        facts
    }

    fn words(&mut self, role: Role, text: &str) {
        let statements = match role {
            Role::User => &mut self.requests,
            Role::Assistant => &mut self.words,
            Role::System => return,
        };
        let lines = text.split(ends_line).map(str::trim_end).filter(|line| !line.trim().is_empty());
        statements.push(lines.map(str::to_owned).collect());
    }
}

/// Returns the kind of deed, if a call counts as one.
fn kind(tool: &str, call: &Call) -> Option<Kind> {
    match &call.command {
        _ if call.writing != WriteExtent::Nothing => Some(Kind::Change),
        Some(command) if is_test(command) => Some(Kind::Test),
        Some(command) if takes_effect(command) => Some(Kind::Effect),
        Some(_) => Some(Kind::Command),
        None => takes_effect(&tool.replace(['_', '-', '.'], " ")).then_some(Kind::Effect),
    }
}

/// Returns the name of a call in an account: the path of the file that it changes, the command, or the tool.
fn subject(tool: &str, call: &Call) -> String {
    match (&call.path, &call.command) {
        (Some(path), _) if call.writing != WriteExtent::Nothing => shown(path, LINE),
        (_, Some(command)) => format!("`{}`", shown(without_folder(command.trim()), COMMAND)),
        _ if call.about.is_empty() => shown(tool, ABOUT),
        _ => format!("{} `{}`", shown(tool, ABOUT), shown(&call.about, ABOUT)),
    }
}

/// Returns a command without a leading change of folder.
fn without_folder(command: &str) -> &str {
    let rest = command.strip_prefix("cd ").and_then(|rest| Some(rest.split_once("&&")?.1.trim_start()));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(command)
}

/// Returns the line of an output that states its outcome: a failure, the last line with a count, or the last line.
fn outcome<T: Text>(items: &[Item<T>]) -> String {
    let mut texts = items.iter().filter_map(|item| item.text()).map(|(text, _)| text);
    let Some(text) = texts.next_back() else { return String::new() };
    if let Some(failure) = failure(text) {
        return failure;
    }
    let lines = || text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let has_count = |line: &&str| line.bytes().any(|byte| byte.is_ascii_digit());
    let last = lines().take(LAST_LINES).find(has_count).or_else(|| lines().next());
    shown(last.unwrap_or_default(), OUTCOME)
}

/// Number of last lines of an output that are searched for a count.
const LAST_LINES: usize = 5;

/// Returns the line in which a result states its failure. For a traceback it is the line with the exception.
fn failure(text: &str) -> Option<String> {
    const TRACEBACK: &str = "Traceback (most recent call last)";
    let reported = &text[reports(text).next()?..];
    let mut lines = reported.lines();
    let first = lines.next()?;
    let is_words = |line: &&str| !line.is_empty() && !line.starts_with(char::is_whitespace);
    let line = if first.starts_with(TRACEBACK) { lines.find(is_words).unwrap_or(first) } else { first };
    Some(shown(line.trim(), OUTCOME))
}

fn task_line(task: &Task) -> String {
    let text = shown(task.text.trim(), TASK);
    match &*task.status {
        _ if task.is_done() => format!("[x] {text}"),
        "" | "pending" | "todo" => format!("[ ] {text}"),
        status => format!("[ ] {text} ({})", shown(status, ABOUT)),
    }
}
