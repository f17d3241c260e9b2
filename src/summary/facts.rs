//! What happened in messages, as far as it can be told without a model.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::Value;

use super::Removed;
use super::cut::{first_line, shown};
use super::removed::Said;
use crate::calls::has_failed;
use crate::compress::reports;
use crate::message::{Role, Text};

/// Characters of a line.
const LINE: usize = 240;
/// Characters of what a call was about.
const ABOUT: usize = 80;

/// What happened.
#[derive(Debug, Default)]
pub struct Facts {
    /// What the user asked for.
    pub requests: Newest,
    /// Each tool: how often it was called, and how often it said that it failed.
    pub tools: Newest<(usize, usize)>,
    /// Files that were read.
    pub read: Newest,
    /// Files that were written.
    pub written: Newest,
    /// What the assistant said.
    pub said: Newest,
    /// Calls that failed.
    pub errors: Newest,
    /// What is not done.
    pub open: Newest,
}

/// Lines without repetition, in the order in which each came last, with what is known of each.
#[derive(Debug)]
pub struct Newest<V = ()> {
    seen: HashMap<String, (usize, V), RandomState>,
    count: usize,
}

impl<V> Default for Newest<V> {
    fn default() -> Newest<V> {
        Newest { seen: HashMap::default(), count: 0 }
    }
}

impl<V: Default> Newest<V> {
    /// Adds a line, or makes it the newest; what is known of it.
    pub fn push(&mut self, line: String) -> &mut V {
        self.count += 1;
        let entry = self.seen.entry(line).or_default();
        entry.0 = self.count;
        &mut entry.1
    }

    /// Whether the line is there.
    pub fn has(&self, line: &str) -> bool {
        self.seen.contains_key(line)
    }

    /// The lines, the newest last. O(n log n).
    pub fn into_lines(self) -> Vec<(String, V)> {
        let mut lines: Vec<(usize, String, V)> =
            self.seen.into_iter().map(|(line, (at, value))| (at, line, value)).collect();
        lines.sort_unstable_by_key(|(at, ..)| *at);
        lines.into_iter().map(|(_, line, value)| (line, value)).collect()
    }
}

/// A line about a failure, and what became of it.
struct Failure {
    said: String,
    end: &'static str,
}

/// What is known while the messages are gone through.
#[derive(Default)]
struct Gathering {
    /// The tool of each call, and what it was about.
    abouts: HashMap<(usize, usize), (String, String), RandomState>,
    failures: Vec<Failure>,
    /// Failures of each tool and subject that are not mended.
    unmended: HashMap<(String, String), Vec<usize>, RandomState>,
    /// The newest list of tasks: those that are not done.
    tasks: Vec<String>,
    /// The request that no words have answered.
    unanswered: Option<String>,
}

/// Names that an argument has where it is a path.
const PATHS: [&str; 10] = [
    "path",
    "file_path",
    "filepath",
    "file",
    "filename",
    "file_name",
    "target_file",
    "notebook_path",
    "absolute_path",
    "relative_path",
];
/// Names that an argument has where something is written.
const CONTENTS: [&str; 8] =
    ["content", "contents", "new_string", "new_str", "new_text", "old_string", "old_str", "patch"];
/// Words in the names of tools that write.
const WRITING: [&str; 8] = ["write", "edit", "create", "replace", "patch", "insert", "append", "delete"];
/// Names of what a call is about where it is no file.
const ABOUTS: [&str; 6] = ["command", "cmd", "query", "pattern", "url", "name"];

impl Facts {
    /// What `removed` tells. O(length).
    pub fn of<T: Text>(removed: &Removed<'_, T>) -> Facts {
        let mut facts = Facts::default();
        let mut gathering = Gathering::default();
        for message in removed.messages() {
            for (part, said) in removed.said(message) {
                match said {
                    Said::Words(text) => facts.words(removed.role(message), text, &mut gathering),
                    Said::Call { tool, input } => facts.call(tool, input, (message, part), &mut gathering),
                    Said::Result { tool, call, items, result } => {
                        let mut texts = items.iter().filter_map(|item| item.text()).map(|(text, _)| text);
                        let reported = texts.clone().find_map(failure);
                        let failed = has_failed(result)
                            .then(|| reported.clone().or_else(|| texts.next().map(|text| first_line(text, LINE))));
                        match failed {
                            Some(line) => facts.failed(tool, call, &line.unwrap_or_default(), &mut gathering),
                            None => gathering.worked(tool, call, reported),
                        }
                    }
                    Said::Thought(_) | Said::Thing(_) => {}
                }
            }
        }
        for failure in gathering.failures {
            facts.errors.push(format!("{}{}", failure.said, failure.end));
        }
        let unanswered = gathering.unanswered.map(|request| format!("not answered yet: {request}"));
        gathering.tasks.into_iter().chain(unanswered).for_each(|line| {
            facts.open.push(line);
        });
        facts
    }

    fn words(&mut self, role: Role, text: &str, gathering: &mut Gathering) {
        let line = first_line(text, LINE);
        match role {
            Role::User => {
                gathering.unanswered = Some(line.clone());
                self.requests.push(line);
            }
            Role::Assistant => {
                gathering.unanswered = None;
                self.said.push(line);
            }
            Role::System => {}
        }
    }

    fn call(&mut self, tool: &str, input: &str, place: (usize, usize), gathering: &mut Gathering) {
        let name = shown(tool, ABOUT);
        self.tools.push(name.clone()).0 += 1;
        // OK because what is no JSON names nothing.
        let input: Value = serde_json::from_str(input).unwrap_or_default();
        let path = PATHS.iter().find_map(|key| input.get(key)?.as_str()).filter(|path| !path.is_empty());
        if let Some(path) = path {
            let files = if writes(tool, &input) { &mut self.written } else { &mut self.read };
            files.push(shown(path, LINE));
        }
        if let Some(tasks) = open_tasks(tool, &input) {
            gathering.tasks = tasks;
        }
        let about = path.or_else(|| ABOUTS.iter().find_map(|key| input.get(key)?.as_str())).unwrap_or_default();
        gathering.abouts.insert(place, (name, shown(about, ABOUT)));
    }

    fn failed(&mut self, tool: &str, call: Option<(usize, usize)>, line: &str, gathering: &mut Gathering) {
        let (tool, about) = gathering.subject(tool, call);
        self.tools.push(tool.clone()).1 += 1;
        let said = described(&tool, &about, line);
        gathering.unmended.entry((tool, about)).or_default().push(gathering.failures.len());
        gathering.failures.push(Failure { said, end: "; not seen to work since" });
    }
}

impl Gathering {
    /// The tool of a result, and what its call was about.
    fn subject(&mut self, tool: &str, call: Option<(usize, usize)>) -> (String, String) {
        let known = call.and_then(|call| self.abouts.remove(&call));
        known.unwrap_or_else(|| (shown(tool, ABOUT), String::new()))
    }

    /// A call worked; what it returned may still report a failure, as a log does.
    fn worked(&mut self, tool: &str, call: Option<(usize, usize)>, reported: Option<String>) {
        let (tool, about) = self.subject(tool, call);
        if let Some(line) = reported {
            self.failures.push(Failure { said: described(&tool, &about, &line), end: "" });
        }
        for failure in self.unmended.remove(&(tool, about)).unwrap_or_default() {
            self.failures[failure].end = "; it worked later";
        }
    }
}

fn described(tool: &str, about: &str, line: &str) -> String {
    if about.is_empty() { format!("{tool}: {line}") } else { format!("{tool} `{about}`: {line}") }
}

/// The line by which a result says that it failed: of a traceback the words behind it.
fn failure(text: &str) -> Option<String> {
    const TRACEBACK: &str = "Traceback (most recent call last)";
    let reported = &text[*reports(text).first()?..];
    let mut lines = reported.lines();
    let first = lines.next()?;
    let is_words = |line: &&str| !line.is_empty() && !line.starts_with(char::is_whitespace);
    let line = if first.starts_with(TRACEBACK) { lines.find(is_words).unwrap_or(first) } else { first };
    Some(shown(line.trim(), LINE))
}

fn writes(tool: &str, input: &Value) -> bool {
    // One tool may do both, and says in its arguments what it does.
    if let Some(command) = input.get("command").and_then(Value::as_str) {
        return command != "view";
    }
    let tool = tool.to_lowercase();
    WRITING.iter().any(|word| tool.contains(word)) || CONTENTS.iter().any(|key| input.get(key).is_some())
}

/// The tasks that are not done of a list of tasks that a call writes; `None` where it writes none.
fn open_tasks(tool: &str, input: &Value) -> Option<Vec<String>> {
    const LISTS: [&str; 5] = ["todos", "tasks", "items", "plan", "steps"];
    const TEXTS: [&str; 6] = ["content", "title", "task", "step", "text", "description"];
    const DONE: [&str; 5] = ["completed", "complete", "done", "cancelled", "canceled"];
    let tool = tool.to_lowercase();
    if !["todo", "task", "plan"].iter().any(|word| tool.contains(word)) {
        return None;
    }
    let list = LISTS.iter().find_map(|key| input.get(key)?.as_array())?;
    let is_open = |task: &&Value| {
        let status = task.get("status").and_then(Value::as_str).unwrap_or_default().to_lowercase();
        !DONE.contains(&&*status) && task.get("done") != Some(&Value::Bool(true))
    };
    let text = |task: &Value| {
        let text = task.as_str().or_else(|| TEXTS.iter().find_map(|key| task.get(key)?.as_str()))?;
        let status =
            task.get("status").and_then(Value::as_str).map(|status| format!(" ({status})")).unwrap_or_default();
        Some(format!("{}{status}", first_line(text, LINE)))
    };
    Some(list.iter().filter(is_open).filter_map(text).collect())
}
