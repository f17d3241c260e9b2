//! Reads what a tool call says about a file: its path, the text that is written, the text that is replaced, and the
//! outcome.
//!
//! The names of the arguments decide, because most agents' tools share them. The name of the tool does not matter.

mod effects;
mod outcome;
mod tasks;
mod texts;

use serde_json::{Map, Value};

use crate::store::is_ours;
pub use effects::{is_test, takes_effect};
pub use outcome::{failed, has_failed, outcome, outcome_of};
pub use tasks::{Task, TaskListUse, Tasks};
pub use texts::{ArgumentString, ArgumentText, Sense, long_strings, texts};

/// Arguments that hold the path of a file.
const PATHS: [&str; 10] = [
    "file_path",
    "path",
    "filePath",
    "filepath",
    "filename",
    "file_name",
    "file",
    "target_file",
    "notebook_path",
    "relative_path",
];

/// Arguments of a search. Its result covers many files, whatever its path.
const SEARCHES: [&str; 5] = ["pattern", "query", "regex", "glob", "search"];

/// Arguments that hold the written text.
const WRITTEN: [&str; 10] = [
    "new_string",
    "new_str",
    "new_text",
    "newString",
    "newText",
    "replacement",
    "content",
    "contents",
    "file_text",
    "new_source",
];

/// Arguments that hold a whole file, unless another argument names a place in the file.
const CONTENTS: [&str; 3] = ["content", "contents", "file_text"];

/// Parts of the names of arguments that name a place in the file.
const PLACES: [&str; 5] = ["insert", "line", "append", "mode", "offset"];

/// Arguments that hold the replaced text.
const REPLACED: [&str; 6] = ["old_string", "old_str", "old_text", "oldString", "oldText", "search_string"];

/// Arguments that hold several edits of one call.
const EDITS: [&str; 3] = ["edits", "changes", "replacements"];

/// Arguments that hold a command line, a query or a script.
const COMMANDS: [&str; 6] = ["command", "cmd", "script", "code", "query", "sql"];

/// The argument of Claude Code's shell tool that describes a command.
const DESCRIPTION: &str = "description";

/// Commands that print a file unchanged, with the path as the last word.
const PRINTERS: [&str; 7] = ["cat", "head", "tail", "sed", "nl", "less", "bat"];

/// Length of an argument in a title, in characters: enough to distinguish two commands.
const TITLE: usize = 60;

/// The facts that a call states.
#[derive(Debug, Default)]
pub struct Call {
    /// The file that the call is about, if any.
    pub path: Option<String>,
    /// Text that the call writes into the file.
    pub written: Vec<String>,
    /// Text that the call replaces in the file.
    pub replaced: Vec<String>,
    /// The extent of the file that the call writes.
    pub writing: WriteExtent,
    /// The argument that says most about the call, shortened.
    pub about: String,
    /// The command line or query that the call runs, if any.
    pub command: Option<String>,
    /// The model's own description of that command; empty if there is none.
    pub description: String,
}

/// The extent of a file that a call writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteExtent {
    /// Writes nothing, or it is not known.
    #[default]
    Nothing,
    /// Writes a part of the file.
    Part,
    /// Writes the whole file.
    Whole,
}

/// Reads the arguments of a call. If they are not an object, the call has no known effect. O(length).
pub fn read(input: &str) -> Call {
    let Ok(Value::Object(mut arguments)) = serde_json::from_str(input) else { return Call::default() };
    let mut call = Call { about: about(&arguments), ..Call::default() };
    if !SEARCHES.iter().any(|name| arguments.contains_key(*name)) {
        call.path = path(&arguments);
    }
    for name in EDITS {
        if let Some(Value::Array(edits)) = arguments.get_mut(name) {
            edits.iter_mut().filter_map(Value::as_object_mut).for_each(|edit| call.take(edit));
        }
    }
    if call.path.is_some() {
        call.writing = writing(&arguments);
    }
    if let Some(command) = command(&arguments) {
        call.command = Some(command.to_owned());
        call.description = arguments.get(DESCRIPTION).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    }
    call.take(&mut arguments);
    call
}

fn writing(arguments: &Map<String, Value>) -> WriteExtent {
    let has = |names: &[&str]| names.iter().any(|name| arguments.contains_key(*name));
    let places = || arguments.keys().any(|name| PLACES.iter().any(|place| name.to_lowercase().contains(place)));
    match () {
        () if !has(&WRITTEN) && !has(&EDITS) => WriteExtent::Nothing,
        () if has(&CONTENTS) && !has(&REPLACED) && !has(&EDITS) && !places() => WriteExtent::Whole,
        () => WriteExtent::Part,
    }
}

impl Call {
    fn take(&mut self, arguments: &mut Map<String, Value>) {
        let mut texts = |names: &[&str], into: &mut Vec<String>| {
            for name in names {
                if let Some(Value::String(text)) = arguments.get_mut(*name)
                    && !is_ours(text)
                {
                    into.push(std::mem::take(text));
                }
            }
        };
        if self.path.is_some() {
            texts(&WRITTEN, &mut self.written);
            texts(&REPLACED, &mut self.replaced);
        }
    }
}

fn path(arguments: &Map<String, Value>) -> Option<String> {
    let named = PATHS.iter().find_map(|name| arguments.get(*name)?.as_str()).filter(|path| !path.ends_with('/'));
    named.map(str::to_owned).or_else(|| printed(command(arguments)?))
}

fn command(arguments: &Map<String, Value>) -> Option<&str> {
    COMMANDS.iter().find_map(|name| arguments.get(*name)?.as_str())
}

/// Returns the file that a command prints, if it does nothing else.
fn printed(command: &str) -> Option<String> {
    let is_plain = !command.contains(['|', '>', '<', '&', ';', '\n', '*', '$', '`']);
    let mut words = command.split_whitespace();
    let prints = PRINTERS.contains(&words.next()?);
    let last = words.next_back()?.trim_matches(['"', '\'']);
    (is_plain && prints && !last.starts_with('-') && last.contains(['.', '/'])).then(|| last.to_owned())
}

fn about(arguments: &Map<String, Value>) -> String {
    let named =
        command(arguments).or_else(|| SEARCHES.iter().chain(&PATHS).find_map(|name| arguments.get(*name)?.as_str()));
    let text = named.or_else(|| arguments.values().find_map(Value::as_str)).unwrap_or_default();
    let line = text.trim_start().lines().next().unwrap_or_default();
    line.char_indices().nth(TITLE).map_or(line, |(end, _)| &line[..end]).trim_end().to_owned()
}
