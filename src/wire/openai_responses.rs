//! Items of OpenAI Responses.
//!
//! The list has messages, and an item for every step of the model and every answer to one
//! (<https://platform.openai.com/docs/api-reference/responses/create>). A model's answer is several consecutive items,
//! and so are the outputs that answer it. Each such sequence is one message here.

pub(super) mod output;
pub(super) mod write;

use super::content::{
    arguments, check_map, field, pin_of, read_content, refuse_calls_beside, rendered, required_content, required_text,
    role_of,
};
use super::entry::{Entry, Joins};
use super::format::Format;
use super::key::Key;
use super::node::Node;
use super::{media, unknown_block};
use crate::error::Result;
use crate::media::MediaKind;
use crate::message::{Item, Outcome, Part, Pin, Role, Signature, Tie};

const ROLES: [(&str, Role); 4] =
    [("user", Role::User), ("assistant", Role::Assistant), ("system", Role::System), ("developer", Role::System)];

pub(super) fn read<N: Node>(entry: &N, index: usize) -> Result<Entry<N::Text>> {
    check_map(entry, index)?;
    let pin = pin_of(entry);
    if is_message(entry) {
        let role = role_of(entry, index, &ROLES)?;
        refuse_calls_beside(entry, index, Format::OpenAiResponses)?;
        let content = required_content(entry, index)?;
        let parts = read_content(&content, role, index, |block| read_block(block, index))?;
        let joins = match role {
            Role::Assistant => Joins::Answer,
            Role::User => Joins::Words,
            Role::System => Joins::Nothing,
        };
        let ties = if role == Role::Assistant { stored_with_reasoning(entry, &parts) } else { vec![] };
        return Ok(Entry { role, parts, pin, joins, ties });
    }
    let name = field(entry, Key::Type);
    if let Some(id) = name.as_deref().and_then(|name| answered_by(name, entry)) {
        return read_output(entry, id, pin, index);
    }
    let parts = vec![read_step(entry, name.as_deref().unwrap_or_default(), index)?];
    let ties = match tie_of(name.as_deref()) {
        Some(tie) => vec![(0, tie)],
        None => stored_with_reasoning(entry, &parts),
    };
    Ok(Entry { role: Role::Assistant, parts, pin, joins: Joins::Answer, ties })
}

/// Returns the tie of an item. A reference names an item that OpenAI has stored, which may be a call. The item of a
/// compaction replaces everything before it: "you can drop items that came before the most recent compaction item"
/// (<https://developers.openai.com/api/docs/guides/compaction>).
fn tie_of<T>(name: Option<&str>) -> Option<Tie<T>> {
    match name {
        // A reference may come without its type.
        None | Some("item_reference") => Some(Tie::Refers),
        Some("compaction") => Some(Tie::Replaces),
        Some(_) => None,
    }
}

/// Returns the parts that need their reasoning. OpenAI has stored an item with an id, and requires its reasoning: "Item
/// 'msg_...' of type 'message' was provided without its required 'reasoning' item"
/// (<https://github.com/openai/openai-node/issues/1791>). Without the id it is only text
/// (<https://github.com/can1357/oh-my-pi/pull/4155>). Calls keep their reasoning anyway.
fn stored_with_reasoning<N: Node>(entry: &N, parts: &[Part<N::Text>]) -> Vec<(usize, Tie<N::Text>)> {
    match parts {
        [Part::Text(_) | Part::Media(_) | Part::Document(_), ..] if entry.present(Key::Id).is_some() => {
            vec![(0, Tie::Reasoned)]
        }
        _ => vec![],
    }
}

/// True if the item is a message: it has that type, or none. A reference may have no type either, but then it has no
/// role.
fn is_message<N: Node>(entry: &N) -> bool {
    match field(entry, Key::Type) {
        Some(name) => &*name == "message",
        None => entry.present(Key::Role).is_some() || field(entry, Key::Id).is_none(),
    }
}

fn read_block<N: Node>(block: &N, index: usize) -> Result<Part<N::Text>> {
    let part = match field(block, Key::Type).as_deref() {
        Some("input_text" | "output_text") => field(block, Key::Text).map(Part::Text),
        Some("refusal") => field(block, Key::Refusal).map(Part::Text),
        // A picture without an address has an id.
        Some("input_image") => Some(Part::Media(media::media_of(block.present(Key::ImageUrl), MediaKind::Image))),
        Some("input_file") => Some(Part::Document(media::file(block))),
        Some("input_audio") => Some(Part::Media(media::media_of(block.present(Key::InputAudio), MediaKind::Audio))),
        _ => None,
    };
    part.map_or_else(|| unknown_block(block, Format::OpenAiResponses, index), Ok)
}

/// Reads an item of the model's side. A tool that runs at OpenAI has no output item, so its call is kept whole, like an
/// unknown item and a reference. A reference stands for an item that the server has stored, which is one of the model's
/// own.
fn read_step<N: Node>(entry: &N, name: &str, index: usize) -> Result<Part<N::Text>> {
    let part = match name {
        "reasoning" => read_reasoning(entry),
        "function_call" => Some(Part::Call {
            id: required_text(entry, Key::CallId, name, index)?,
            name: required_text(entry, Key::Name, name, index)?,
            input: arguments(entry.get(Key::Arguments))?,
        }),
        "custom_tool_call" => Some(Part::Call {
            id: required_text(entry, Key::CallId, name, index)?,
            name: required_text(entry, Key::Name, name, index)?,
            // Free text, in which white space may matter.
            input: field(entry, Key::Input).map_or_else(|| rendered(entry, Key::Input), Ok)?,
        }),
        "computer_call" | "local_shell_call" | "shell_call" | "apply_patch_call" => read_action(entry)?,
        "mcp_approval_request" => match (field(entry, Key::Id), field(entry, Key::Name).or(field(entry, Key::Type))) {
            (Some(id), Some(name)) => Some(Part::Call { id, name, input: arguments(entry.get(Key::Arguments))? }),
            _ => None,
        },
        // Base64 is not counted as text.
        "image_generation_call" => {
            entry.present(Key::Result).map(|image| Part::Media(media::media_of(Some(image), MediaKind::Image)))
        }
        _ => None,
    };
    part.map_or_else(|| Ok(Part::Opaque(entry.rendered()?)), Ok)
}

/// Reads a call of a tool that OpenAI defines; the type is its name. Without an id nothing can answer it.
fn read_action<N: Node>(entry: &N) -> Result<Option<Part<N::Text>>> {
    let action = [Key::Action, Key::Actions, Key::Operation].into_iter().find_map(|key| entry.present(key));
    Ok(match (field(entry, Key::CallId), field(entry, Key::Type)) {
        (Some(id), Some(name)) => {
            let input = action.map_or_else(|| Ok(String::new().into()), |action| action.rendered())?;
            Some(Part::Call { id, name, input })
        }
        _ => None,
    })
}

/// Reads the text of a reasoning item, or its encrypted data; `None` if they are not valid. With an id, or encrypted,
/// it must stay with the item after it, because OpenAI rejects either without the other
/// (<https://platform.openai.com/docs/guides/reasoning#keeping-reasoning-items-in-context>).
fn read_reasoning<N: Node>(entry: &N) -> Option<Part<N::Text>> {
    let mut texts = Vec::new();
    for blocks in [Key::Summary, Key::Content].into_iter().filter_map(|key| entry.present(key)) {
        for block in blocks.items()? {
            texts.push(field(&block, Key::Text)?);
        }
    }
    let filled = |key| field(entry, key).filter(|text: &N::Text| !text.is_empty());
    let encrypted = filled(Key::EncryptedContent);
    let signed = encrypted.is_some() || filled(Key::Id).is_some();
    let text = match texts.len() {
        0 => encrypted.unwrap_or_else(|| String::new().into()),
        1 => texts.swap_remove(0),
        _ => texts.iter().map(|text| &**text).collect::<Vec<&str>>().join("\n").into(),
    };
    Some(Part::Reasoning { text, signature: if signed { Signature::Signed } else { Signature::Unsigned } })
}

/// Returns the field of an output that names its call; `None` for other items.
fn answered_by<N: Node>(name: &str, entry: &N) -> Option<Key> {
    match name {
        // OpenAI's reference has the call's id in `id`, and its guide has it in `call_id`.
        "local_shell_call_output" if entry.present(Key::CallId).is_none() => Some(Key::Id),
        "function_call_output"
        | "custom_tool_call_output"
        | "computer_call_output"
        | "local_shell_call_output"
        | "shell_call_output"
        | "apply_patch_call_output" => Some(Key::CallId),
        "mcp_approval_response" => Some(Key::ApprovalRequestId),
        _ => None,
    }
}

fn read_output<N: Node>(entry: &N, id: Key, pin: Pin, index: usize) -> Result<Entry<N::Text>> {
    let items = if id == Key::ApprovalRequestId {
        vec![Item::Opaque(entry.rendered()?)]
    } else {
        match entry.present(Key::Output) {
            None => vec![],
            Some(output) => output::read(&output, index)?,
        }
    };
    let id = required_text(entry, id, "tool output", index)?;
    let parts = vec![Part::Result { id, tool: None, outcome: Outcome::Unknown, items }];
    Ok(Entry { role: Role::User, parts, pin, joins: Joins::Results, ties: vec![] })
}
