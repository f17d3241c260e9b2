//! Follows the task list that an agent keeps by tool calls: calls with a whole list, and calls that add or change one
//! task.

use serde_json::{Map, Value};

/// Arguments that hold a whole list.
const LISTS: [&str; 5] = ["todos", "tasks", "plan", "items", "steps"];

/// Fields that hold the text of a task.
const TEXTS: [&str; 7] = ["content", "subject", "title", "task", "step", "text", "description"];

/// Fields that hold the number of a task.
const NUMBERS: [&str; 4] = ["taskId", "task_id", "id", "todo_id"];

/// Words in the names of tools that keep a list, and of tools that add or change one task.
const TOOLS: [&str; 3] = ["todo", "task", "plan"];
const ADDING: [&str; 2] = ["create", "add"];
const CHANGING: [&str; 2] = ["update", "complete"];

/// States of a finished task, and of a task that no longer counts.
const DONE: [&str; 3] = ["completed", "complete", "done"];
const DELETED: [&str; 3] = ["deleted", "cancelled", "canceled"];

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Text of the task.
    pub text: String,
    /// The state in the words of the call; empty if there is none.
    pub status: String,
}

impl Task {
    /// True if it is done.
    pub fn is_done(&self) -> bool {
        DONE.contains(&&*self.status)
    }
}

/// The part of a task list that a call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskListUse {
    /// Nothing.
    Nothing,
    /// Something about one task.
    Task,
    /// All of the list.
    List,
}

/// The tasks of an agent after the calls so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tasks {
    list: Vec<Task>,
}

impl Tasks {
    /// True if a tool may keep a list, so its arguments are worth reading.
    pub fn may_keep(tool: &str) -> bool {
        let tool = tool.to_ascii_lowercase();
        TOOLS.iter().any(|word| tool.contains(word))
    }

    /// Applies a call to the tasks.
    pub fn follow(&mut self, tool: &str, input: &str) -> TaskListUse {
        if !Tasks::may_keep(tool) {
            return TaskListUse::Nothing;
        }
        let Ok(Value::Object(input)) = serde_json::from_str(input) else { return TaskListUse::Nothing };
        let tool = tool.to_ascii_lowercase();
        if let Some(list) = LISTS.iter().find_map(|name| input.get(*name)?.as_array()) {
            let list: Vec<Task> = list.iter().filter_map(task).collect();
            if list.is_empty() {
                return TaskListUse::Nothing;
            }
            self.list = list;
            return TaskListUse::List;
        }
        let has = |words: &[&str]| words.iter().any(|word| tool.contains(word));
        let is_told = match task_of(&input).filter(|_| has(&ADDING)) {
            Some(added) => {
                self.list.push(added);
                true
            }
            None => has(&CHANGING) && self.change(&input),
        };
        if is_told { TaskListUse::Task } else { TaskListUse::Nothing }
    }

    /// Returns the tasks that are not deleted, in order.
    pub fn all(&self) -> impl Iterator<Item = &Task> {
        self.list.iter().filter(|task| !DELETED.contains(&&*task.status))
    }

    /// Applies a change of one task. Tasks that were added one by one are numbered from 1.
    fn change(&mut self, input: &Map<String, Value>) -> bool {
        let number = NUMBERS.iter().find_map(|name| match input.get(*name)? {
            Value::Number(number) => usize::try_from(number.as_u64()?).ok(),
            Value::String(number) => number.parse::<usize>().ok(),
            _ => None,
        });
        let Some(task) = number.and_then(|number| self.list.get_mut(number.checked_sub(1)?)) else { return false };
        if let Some(text) = text(input) {
            task.text = text;
        }
        if let Some(status) = status(input) {
            task.status = status;
        }
        true
    }
}

fn task(value: &Value) -> Option<Task> {
    match value {
        Value::String(text) => Some(Task { text: text.clone(), status: String::new() }),
        Value::Object(fields) => task_of(fields),
        _ => None,
    }
}

fn task_of(fields: &Map<String, Value>) -> Option<Task> {
    Some(Task { text: text(fields)?, status: status(fields).unwrap_or_default() })
}

fn text(fields: &Map<String, Value>) -> Option<String> {
    let text = TEXTS.iter().find_map(|name| fields.get(*name)?.as_str())?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn status(fields: &Map<String, Value>) -> Option<String> {
    if fields.get("done") == Some(&Value::Bool(true)) {
        return Some("completed".to_owned());
    }
    Some(fields.get("status")?.as_str()?.to_lowercase())
}
