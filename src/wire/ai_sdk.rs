//! Messages of the AI SDK: model messages, called core messages before version 5.
//!
//! A message is `{role, content}`. Its content is a string or a list of parts with a `type`, and results are messages
//! with the role `tool` (<https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message>). Version 4 had other names for
//! the fields of calls and results (<https://ai-sdk.dev/v4/docs/reference/ai-sdk-core/core-message>). Some hosts write
//! a result as a plain string, with the id beside it.

mod result;
pub(super) mod write;

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::content::{
    arguments, check_map, field, pin_of, read_content, read_items, refuse_calls_beside, required_content,
    required_text, role_named, signed_by,
};
use super::entry::{Entry, Joins};
use super::format::Format;
use super::key::Key;
use super::node::{Kind, Node};
use super::{media, unknown_block};
use crate::error::Result;
use crate::media::MediaKind;
use crate::message::{Document, Part, Role, Signature, Tie};

/// The role of messages with results.
const TOOL: &str = "tool";

const ROLES: [(&str, Role); 4] =
    [("user", Role::User), ("assistant", Role::Assistant), (TOOL, Role::User), ("system", Role::System)];

pub(super) fn read<N: Node>(entry: &N, index: usize) -> Result<Entry<N::Text>> {
    check_map(entry, index)?;
    let name = field(entry, Key::Role);
    let role = role_named(name.as_deref(), index, &ROLES)?;
    if role == Role::Assistant {
        refuse_calls_beside(entry, index, Format::AiSdk)?;
    }
    let of_tools = name.is_some_and(|name| &*name == TOOL);
    let pin = pin_of(entry);
    let content = entry.present(Key::Content);
    if of_tools && is_one_result(entry, content.as_ref()) {
        let items = read_items(content.as_ref(), index, result::read_item)?;
        let id = id_beside(entry).unwrap_or_else(|| String::new().into());
        let parts = vec![Part::Result { id, tool: tool_beside(entry), outcome: result::outcome(entry), items }];
        return Ok(Entry { role, parts, pin, joins: Joins::Results, ties: vec![] });
    }
    let content = content.map_or_else(|| required_content(entry, index), Ok)?;
    let mut ties = Vec::new();
    let mut places = 0..;
    let mut parts = read_content(&content, role, index, |part| {
        let place = places.next().unwrap_or_default();
        let name = field(part, Key::Type);
        let whole = match name.as_deref() {
            Some("tool-result") => role == Role::Assistant,
            Some("tool-call") => role == Role::Assistant && runs_at_provider(part),
            Some("tool-approval-request" | "tool-approval-response") => true,
            _ => false,
        };
        if !whole {
            let known = read_part(part, name.as_deref(), index)?;
            if role == Role::Assistant && is_stored_with_reasoning(part, &known)? {
                ties.push((place, Tie::Reasoned));
            }
            return Ok(known);
        }
        ties.extend(tie_of(part, name.as_deref()).map(|tie| (place, tie)));
        Ok(Part::Opaque(part.rendered()?))
    })?;
    if ties.iter().any(|(_, tie)| matches!(tie, Tie::Ends(_))) {
        keep_answered(&content, &mut parts, &ties)?;
    }
    let joins = if of_tools { Joins::Results } else { Joins::of(role, &parts, Joins::Asks) };
    Ok(Entry { role, parts, pin, joins, ties })
}

/// Returns the tie of a part that is kept whole: a call of a tool that the provider runs, and its result, which may
/// come in a later message (<https://github.com/vercel/ai/pull/11262>); or a request for a person's approval of a call,
/// and the answer (<https://ai-sdk.dev/docs/agents/tool-approvals>).
fn tie_of<N: Node>(part: &N, name: Option<&str>) -> Option<Tie<N::Text>> {
    let call = || field(part, Key::ToolCallIdCamel);
    let request = || field(part, Key::ApprovalId);
    match name? {
        "tool-call" => call().map(Tie::Begins),
        "tool-result" => call().map(Tie::Ends),
        "tool-approval-request" => Some(Tie::Asks { request: request()?, call: call()? }),
        "tool-approval-response" => Some(Tie::Decides { request: request()? }),
        _ => None,
    }
}

/// True if a part has the id of an item that OpenAI has stored. The AI SDK sends the id instead of the part, and OpenAI
/// refuses it without its reasoning: "pruning reasoning (e.g. `pruneMessages({ reasoning: 'all' })`) caused follow-up
/// requests to fail" until 2.0.135 of its provider
/// (<https://github.com/vercel/ai/releases/tag/@ai-sdk/openai@2.0.135>). Calls keep their reasoning anyway.
fn is_stored_with_reasoning<N: Node>(part: &N, known: &Part<N::Text>) -> Result<bool> {
    if !matches!(known, Part::Text(_) | Part::Media(_) | Part::Document(_)) {
        return Ok(false);
    }
    for options in [Key::ProviderOptions, Key::ProviderMetadata].into_iter().filter_map(|key| part.present(key)) {
        // Below the name of any provider.
        if options.rendered()?.contains("\"itemId\":") {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_tool<N: Node>(entry: &N) -> bool {
    field(entry, Key::Role).is_some_and(|role| &*role == TOOL)
}

/// True if the whole message is one result, with its id beside the content, if it has one.
fn is_plain_result<N: Node>(entry: &N) -> bool {
    is_tool(entry) && is_one_result(entry, entry.present(Key::Content).as_ref())
}

/// The same check for a message with the role `tool`.
fn is_one_result<N: Node>(entry: &N, content: Option<&N>) -> bool {
    content.is_none_or(|content| content.kind() != Kind::List) || id_beside(entry).is_some()
}

fn id_beside<N: Node>(entry: &N) -> Option<N::Text> {
    field(entry, Key::ToolCallIdCamel).or_else(|| field(entry, Key::ToolCallId))
}

fn tool_beside<N: Node>(entry: &N) -> Option<N::Text> {
    let named = || entry.present(Key::Metadata).and_then(|metadata| field(&metadata, Key::ToolNameSnake));
    field(entry, Key::ToolName).or_else(named).or_else(|| field(entry, Key::Name))
}

fn is_a<N: Node>(part: &N, name: &str) -> bool {
    field(part, Key::Type).is_some_and(|found| &*found == name)
}

/// True if the provider runs the tool of a call, so the host need not answer it.
fn runs_at_provider<N: Node>(call: &N) -> bool {
    call.get(Key::ProviderExecuted).is_some_and(|flag| flag.is_true())
}

/// Keeps calls whole that are answered in their own message. The provider ran them too, and gets them back unchanged.
fn keep_answered<N: Node>(content: &N, parts: &mut [Part<N::Text>], ties: &[(usize, Tie<N::Text>)]) -> Result<()> {
    let ends = ties.iter().filter_map(|(_, tie)| if let Tie::Ends(id) = tie { Some(&**id) } else { None });
    let answered: HashSet<&str, RandomState> = ends.collect();
    for (place, part) in parts.iter_mut().enumerate() {
        if matches!(part, Part::Call { id, .. } if answered.contains(&**id))
            && let Some(call) = content.at(place)
        {
            *part = Part::Opaque(call.rendered()?);
        }
    }
    Ok(())
}

fn read_part<N: Node>(part: &N, name: Option<&str>, index: usize) -> Result<Part<N::Text>> {
    let known = match name {
        Some("text") => field(part, Key::Text).map(Part::Text),
        Some("reasoning") => read_reasoning(part)?,
        Some("redacted-reasoning") => {
            field(part, Key::Data).map(|text| Part::Reasoning { text, signature: Signature::Signed })
        }
        Some("image") => {
            part.present(Key::Image).map(|image| Part::Media(media::media_of(Some(image), MediaKind::Image)))
        }
        Some("file" | "reasoning-file") => part.present(Key::Data).map(|data| match media_kind(part) {
            Some(kind) => Part::Media(media::media_of(Some(data), kind)),
            None => Part::Document(read_file(part, Some(data))),
        }),
        Some("tool-call") => Some(Part::Call {
            id: required_text(part, Key::ToolCallIdCamel, "tool-call", index)?,
            name: required_text(part, Key::ToolName, "tool-call", index)?,
            input: arguments(part.present(Key::Input).or_else(|| part.present(Key::Args)))?,
        }),
        Some("tool-result") => Some(Part::Result {
            id: required_text(part, Key::ToolCallIdCamel, "tool-result", index)?,
            tool: field(part, Key::ToolName),
            outcome: result::outcome(part),
            items: result::read(part, index)?,
        }),
        _ => None,
    };
    known.map_or_else(|| unknown_block(part, Format::AiSdk, index), Ok)
}

/// Reads reasoning. Its options have what the provider needs to accept it again, such as a signature.
fn read_reasoning<N: Node>(part: &N) -> Result<Option<Part<N::Text>>> {
    let Some(text) = field(part, Key::Text) else { return Ok(None) };
    for options in [Key::ProviderOptions, Key::ProviderMetadata].into_iter().filter_map(|key| part.present(key)) {
        let options = options.rendered()?;
        if !matches!(&*options, "{}" | "[]" | "\"\"") {
            // Redacted reasoning has only options.
            let text = if text.is_empty() { options } else { text };
            return Ok(Some(Part::Reasoning { text, signature: Signature::Signed }));
        }
    }
    // In version 4 the signature is in the part.
    Ok(Some(Part::Reasoning { text, signature: signed_by(part.present(Key::Signature)) }))
}

/// Returns the kind of a part by its media type, which may lack the part after the slash; `None` for a document.
fn media_kind<N: Node>(part: &N) -> Option<MediaKind> {
    media::kind_of(&field(part, Key::MediaType).or_else(|| field(part, Key::MimeType))?)
}

/// Reads a file. Version 7 may have its text instead of its bytes.
fn read_file<N: Node>(part: &N, data: Option<N>) -> Document<N::Text> {
    let name = field(part, Key::Filename);
    match data.as_ref().and_then(|data| field(data, Key::Text)) {
        Some(text) => Document { texts: name.into_iter().chain([text]).collect(), media: vec![] },
        None => media::file_of(name, data),
    }
}
