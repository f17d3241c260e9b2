//! Reads messages of a role and a content for several formats. The content is a string or a list of blocks.

pub(super) mod write;

use super::format::Format;
use super::joined::texts_in;
use super::json::compact;
use super::key::Key;
use super::node::{Bytes, Kind, MAX_DEPTH, Node};
use crate::error::{Error, Result, shown};
use crate::message::{Item, Outcome, Part, Pin, Role, Signature};

/// Refuses a value that is not a message.
pub(super) fn check_map<N: Node>(entry: &N, index: usize) -> Result<()> {
    if entry.kind() == Kind::Map {
        return Ok(());
    }
    let problem = format!("it is {}, not a message", entry.kind().name());
    Err(bad(index, problem, "give a dict with `role` and `content`"))
}

/// Refuses a message with calls beside its content in a format where calls are blocks. They would be neither counted
/// nor kept with their results. Objects are not checked, because looking up a missing attribute is slow.
pub(super) fn refuse_calls_beside<N: Node>(entry: &N, index: usize, format: Format) -> Result<()> {
    let beside = entry.field_count().and_then(|_| entry.present(Key::ToolCalls));
    match beside.and_then(|calls| calls.length()) {
        None | Some(0) => Ok(()),
        Some(_) => Err(bad(
            index,
            format!("it has `tool_calls`, as in openai form, in a conversation of {} form", format.name()),
            "give all messages in one format",
        )),
    }
}

pub(super) fn bad(index: usize, problem: String, remedy: &str) -> Error {
    Error::Message { index, problem, remedy: remedy.to_owned() }
}

/// Returns the role of a message by its format's names.
pub(super) fn role_of<N: Node>(entry: &N, index: usize, names: &[(&str, Role)]) -> Result<Role> {
    let role = field(entry, Key::Role);
    if let (None, Some((what, remedy))) = (&role, mistaken(entry)) {
        return Err(bad(index, format!("it has no role: {what}"), remedy));
    }
    role_named(role.as_deref(), index, names)
}

/// Recognizes an entry without a role, and returns what to pass instead.
fn mistaken<N: Node>(entry: &N) -> Option<(&'static str, &'static str)> {
    /// The types of `LangChain`'s messages.
    const LANGCHAIN: [&str; 7] = ["human", "ai", "system", "tool", "function", "AIMessageChunk", "HumanMessageChunk"];
    /// The records of `ullage.Recorder`, each an object of one key.
    const RECORDS: [&str; 6] = ["session", "request", "arrival", "changes", "compaction", "failure"];
    let kind = field(entry, Key::Type);
    if entry.field("message").is_some_and(|message| message.get(Key::Role).is_some()) {
        return Some((
            "it is an entry of a recording",
            "give the `message` in it, or use `ullage replay` for the file",
        ));
    }
    if RECORDS.iter().any(|record| entry.field(record).is_some()) && entry.present(Key::Content).is_none() {
        return Some(("it is a record of a `Recorder`", "give the messages; `ullage report` draws the recording"));
    }
    if kind.is_some_and(|kind| LANGCHAIN.contains(&&*kind)) && entry.present(Key::Content).is_some() {
        return Some((
            "it is a message of LangChain",
            "convert the messages with LangChain's `convert_to_openai_messages`",
        ));
    }
    None
}

/// Returns the role for a name that was already read.
pub(super) fn role_named(role: Option<&str>, index: usize, names: &[(&str, Role)]) -> Result<Role> {
    /// Roles that some formats have and others do not.
    const OF_ANOTHER_FORMAT: [&str; 5] = ["assistant", "model", "tool", "function", "developer"];
    let known = || names.iter().map(|(name, _)| format!("'{name}'")).collect::<Vec<_>>().join(" or ");
    let Some(role) = role else {
        return Err(bad(index, "it has no role".to_owned(), &format!("set `role` to {}", known())));
    };
    let found = names.iter().find(|(name, _)| *name == role).map(|(_, role)| *role);
    found.ok_or_else(|| {
        let problem = format!("its role is '{}'", shown(role));
        if OF_ANOTHER_FORMAT.contains(&role) {
            let remedy = format!("use {}, or give all messages in one format", known());
            return bad(index, format!("{problem}, as in another format"), &remedy);
        }
        bad(index, problem, &format!("use {}", known()))
    })
}

/// Reads the flag of a result that says if its call failed.
pub(super) fn declared<N: Node>(result: &N, flag: Key) -> Outcome {
    match result.present(flag) {
        None => Outcome::Unknown,
        Some(flag) if flag.is_true() || flag.text().is_some_and(|text| !text.is_empty() && &*text != "false") => {
            Outcome::Failed
        }
        Some(_) => Outcome::Succeeded,
    }
}

/// Reads the pin of Strands: `metadata.custom.pinned` is true. Every format has it, so that a history keeps its pins
/// when its host changes.
pub(super) fn pin_of<N: Node>(entry: &N) -> Pin {
    let flag = entry
        .present(Key::Metadata)
        .and_then(|metadata| metadata.present(Key::Custom))
        .and_then(|custom| custom.get(Key::Pinned));
    if flag.is_some_and(|flag| flag.is_true()) { Pin::Pinned } else { Pin::Free }
}

/// Returns the parts of a content: the texts of a string, or the result of `read` for each block of a list.
pub(super) fn read_content<N: Node>(
    content: &N,
    role: Role,
    index: usize,
    read: impl FnMut(&N) -> Result<Part<N::Text>>,
) -> Result<Vec<Part<N::Text>>> {
    match texts_in(content, role) {
        Some(texts) => Ok(texts.into_iter().map(Part::Text).collect()),
        None => read_list(content, index, read),
    }
}

/// Returns the content of a message that must have one.
pub(super) fn required_content<N: Node>(entry: &N, index: usize) -> Result<N> {
    entry.present(Key::Content).ok_or_else(|| {
        bad(index, "its content is missing or None".to_owned(), "give a string or a list of content blocks")
    })
}

/// Returns the items of a result whose content is a string, a list of blocks, or nothing.
pub(super) fn read_items<N: Node>(
    content: Option<&N>,
    index: usize,
    read: impl FnMut(&N) -> Result<Item<N::Text>>,
) -> Result<Vec<Item<N::Text>>> {
    let Some(content) = content else { return Ok(Vec::new()) };
    match content.text() {
        Some(text) => Ok(vec![Item::Text(text)]),
        None => read_list(content, index, read),
    }
}

/// Reads each block of a list. The error names an entry that is not a block.
pub(super) fn read_list<N: Node, P>(
    content: &N,
    index: usize,
    mut read: impl FnMut(&N) -> Result<P>,
) -> Result<Vec<P>> {
    let length = content.length().ok_or_else(|| {
        bad(index, format!("its content is {}", content.kind().name()), "give a string or a list of content blocks")
    })?;
    let mut parts = Vec::with_capacity(length);
    for (position, block) in (0..length).filter_map(|position| content.at(position)).enumerate() {
        if block.kind() != Kind::Map {
            let problem = format!("content block {position} is {}", block.kind().name());
            return Err(bad(index, problem, "give a list of content blocks, each a dict"));
        }
        parts.push(read(&block)?);
    }
    Ok(parts)
}

/// Returns `Signed` for a signature that is not empty.
pub(super) fn signed_by<N: Node>(signature: Option<N>) -> Signature {
    let says = |signature: N| match signature.byte_length() {
        Some(length) => length > 0,
        None => signature.text().is_none_or(|text| !text.is_empty()),
    };
    if signature.is_some_and(says) { Signature::Signed } else { Signature::Unsigned }
}

/// Returns the text of a field.
pub(super) fn field<N: Node>(block: &N, key: Key) -> Option<N::Text> {
    block.get(key).and_then(|value| value.text())
}

pub(super) fn required_text<N: Node>(block: &N, key: Key, what: &str, index: usize) -> Result<N::Text> {
    field(block, key).ok_or_else(|| {
        bad(index, format!("a {what} block has no `{}`", key.name()), &format!("set `{}` to a string", key.name()))
    })
}

/// Returns the id of a call or a result; empty if there is none, as in Gemini's format and in `LangChain`'s calls of
/// some models. Calls and results are then matched by position and tool.
pub(super) fn id_or_none<N: Node>(holder: &N, key: Key, what: &str, index: usize) -> Result<N::Text> {
    match holder.present(key) {
        None => Ok(String::new().into()),
        Some(_) => required_text(holder, key, what, index),
    }
}

/// Returns the arguments of a call as compact JSON; empty if there are none.
pub(super) fn rendered<N: Node>(call: &N, key: Key) -> Result<N::Text> {
    match call.get(key) {
        Some(input) => input.rendered(),
        None => Ok(String::new().into()),
    }
}

/// Returns arguments, which may be JSON text, as compact JSON.
pub(super) fn arguments<N: Node>(arguments: Option<N>) -> Result<N::Text> {
    match arguments {
        None => Ok(String::new().into()),
        Some(value) => match value.text() {
            Some(text) => Ok(match compact(&text) {
                Some(shorter) => shorter.into(),
                None => text,
            }),
            None => value.rendered(),
        },
    }
}

/// Returns a structured result with whole bytes, because this text is stored when the item is shortened.
pub(super) fn json_item<N: Node>(value: &N) -> Result<Item<N::Text>> {
    let mut text = String::new();
    value.render(&mut text, Bytes::Whole, MAX_DEPTH)?;
    Ok(Item::Json(text.into()))
}

/// Returns the value of an item of a result with this content. A string is one item.
pub(super) fn item_of<N: Node>(content: &N, item: usize) -> Option<N> {
    match content.at(item) {
        Some(item) => item.get(Key::Text),
        None => Some(content.clone()),
    }
}
