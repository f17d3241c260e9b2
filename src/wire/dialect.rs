//! Chooses the functions of a wire format by its name, with one arm for each format.

use super::change::EntryEdit;
use super::compose::Composition;
use super::entry::Entry;
use super::format::Format;
use super::joined::parts_of;
use super::key::Key;
use super::node::{Build, Node};
use super::{ai_sdk, anthropic, bedrock, gemini, openai_chat, openai_responses};
use crate::error::Result;
use crate::message::Role;

pub(super) fn read<N: Node>(entry: &N, index: usize, format: Format) -> Result<Entry<N::Text>> {
    match format {
        Format::Bedrock => bedrock::read(entry, index),
        Format::Anthropic => anthropic::read(entry, index),
        Format::OpenAi => openai_chat::read(entry, index),
        Format::OpenAiResponses => openai_responses::read(entry, index),
        Format::Gemini => gemini::read(entry, index),
        Format::AiSdk => ai_sdk::read(entry, index),
    }
}

/// Appends an edited entry to `out`: nothing if all of it is removed, and a second entry if the format has no room for
/// a text in the first.
pub(super) fn edit<N: Build>(entry: &N, format: Format, edit: &EntryEdit<'_>, out: &mut Vec<N::Out>) -> Result<()> {
    match format {
        // Providers refuse a message without blocks.
        Format::Bedrock | Format::Anthropic if drops_all(entry, edit) => {}
        Format::Bedrock => out.push(bedrock::edit(entry, edit)?),
        Format::Anthropic => out.push(anthropic::edit(entry, edit)?),
        Format::OpenAi => openai_chat::write::edit(entry, edit, out)?,
        Format::OpenAiResponses => openai_responses::write::edit(entry, edit, out)?,
        Format::Gemini => gemini::write::edit(entry, edit, out)?,
        Format::AiSdk => ai_sdk::write::edit(entry, edit, out)?,
    }
    Ok(())
}

/// True if nothing is left of an entry whose content is a text or a list of blocks.
fn drops_all<N: Node>(entry: &N, edit: &EntryEdit<'_>) -> bool {
    edit.append.is_empty() && !edit.drop.is_empty() && edit.drop.len() >= parts_of(entry)
}

/// Returns a new message with one text. If `like` is an object, it has the same class.
pub(super) fn message<N: Build>(like: &N, format: Format, role: Role, text: &str) -> Result<N::Out> {
    match format {
        Format::Bedrock => bedrock::message(like, role, text),
        Format::Anthropic => anthropic::message(like, role, text),
        Format::OpenAi => openai_chat::write::message(like, role, text),
        Format::OpenAiResponses => openai_responses::write::message(like, role, text),
        Format::Gemini => gemini::write::message(like, role, text),
        Format::AiSdk => ai_sdk::write::message(like, role, text),
    }
}

/// Appends the entries of a composed message to `out`.
pub(super) fn compose<N: Build>(format: Format, composition: &Composition<'_, N>, out: &mut Vec<N::Out>) -> Result<()> {
    match format {
        Format::Bedrock => out.push(bedrock::compose(composition)?),
        Format::Anthropic => out.push(anthropic::compose(composition)?),
        Format::OpenAi => openai_chat::write::compose(composition, out)?,
        Format::OpenAiResponses => openai_responses::write::compose(composition, out)?,
        Format::Gemini => gemini::write::compose(composition, out)?,
        Format::AiSdk => ai_sdk::write::compose(composition, out)?,
    }
    Ok(())
}

/// Returns an item of a tool result, whole.
pub(super) fn whole_item<N: Node>(entry: &N, format: Format, part: usize, item: usize) -> Option<N> {
    match format {
        Format::Bedrock => bedrock::whole_item(entry, part, item),
        Format::Anthropic => anthropic::whole_item(entry, part, item),
        Format::OpenAi => entry.present(Key::Content)?.at(item),
        Format::OpenAiResponses => openai_responses::output::whole_item(entry, item),
        Format::Gemini => gemini::write::whole_item(entry, part, item),
        Format::AiSdk => ai_sdk::write::whole_item(entry, part, item),
    }
}

/// Returns the text of a tool result's item.
pub(super) fn item<N: Node>(entry: &N, format: Format, part: usize, item: usize) -> Option<N> {
    match format {
        Format::Bedrock => bedrock::item(entry, part, item),
        Format::Anthropic => anthropic::item(entry, part, item),
        Format::OpenAi => openai_chat::write::item(entry, item),
        Format::OpenAiResponses => openai_responses::output::item(entry, item),
        Format::Gemini => gemini::write::item(entry, part),
        Format::AiSdk => ai_sdk::write::item(entry, part, item),
    }
}
