//! The token estimate of Cyber-AutoAgent, with the same results.
//!
//! It divides characters by a ratio, and adds fifty tokens for each message and constants for the system prompt and the
//! tools. A value that is not text counts as Python's `str` of it, so only Python can count it.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use super::format::named_format;
use super::node::PyNode;
use crate::error::{Error, Result as CoreResult};
use crate::tokens::{Estimate, ratio_named};
use crate::wire::{Format, Node};

/// The formula's tokens for the system prompt and the tools, whatever their content.
const BESIDE_MESSAGES: usize = 8_000 + 3_000;
/// Tokens for the role and structure of a message.
const MESSAGE: usize = 50;
/// Characters that an image counts as. A document counts as this and its name.
const IMAGE: usize = 600;
const DOCUMENT: usize = 400;

/// A part of a model's id, and the name of the ratio for it.
const FAMILIES: [(&str, &str); 6] = [
    ("claude", "claude"),
    ("gemini", "gemini"),
    ("kimi", "kimi-k2"),
    ("moonshot", "kimi-k2"),
    ("gpt-4", "gpt"),
    ("gpt-5", "gpt"),
];
const DEFAULT: &str = "default";

/// A formula of a preset, over messages of Bedrock's format.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Formula {
    characters_per_token: f64,
}

impl Formula {
    /// Returns the formula of the preset, and the estimate for a single text with the same ratio.
    pub fn preset(name: &str, model: &str) -> CoreResult<(Formula, Estimate)> {
        if name != "cyber-autoagent" {
            return Err(Error::Policy {
                setting: "preset".to_owned(),
                problem: format!("the preset '{name}' has no counter; use cyber-autoagent"),
            });
        }
        let model = model.to_lowercase();
        let family = FAMILIES.iter().find(|(part, _)| model.contains(part)).map_or(DEFAULT, |(_, family)| family);
        let ratio = ratio_named(family)?;
        Ok((Formula { characters_per_token: ratio }, Estimate::ratio(ratio)?.named(name)))
    }

    /// Returns the estimate for a request. O(characters).
    ///
    /// # Errors
    /// `MessageError` if it is not a list of messages, `PolicyError` for another format than Bedrock's.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)] // As Python's int.
    pub fn tokens(self, messages: &Bound<'_, PyAny>, format: Option<&str>) -> PyResult<usize> {
        if format.map(named_format).transpose()?.is_some_and(|format| format != Format::Bedrock) {
            return Err(Error::Policy {
                setting: "format".to_owned(),
                problem: "the preset cyber-autoagent only counts messages of the format bedrock".to_owned(),
            }
            .into());
        }
        let (kind, messages) = PyNode::reading::<_, Error>(messages, |node| Ok((node.kind(), node.items())))?;
        let Some(messages) = messages else {
            return Err(Error::Conversation {
                problem: format!("the messages are {}, not a list", kind.name()),
                remedy: "give a list of message dicts".to_owned(),
            }
            .into());
        };
        let mut characters = 0;
        for message in messages.iter().map(PyNode::object) {
            if let Some(content) = field(message, "content")? {
                // The original counts plain text as nothing, so a request of plain text is never too long.
                characters +=
                    if content.is_instance_of::<PyString>() { length(&content)? } else { sum(&content, of_block)? };
            }
        }
        let text = (characters as f64 / self.characters_per_token) as usize;
        Ok(BESIDE_MESSAGES + MESSAGE * messages.len() + text.max(1))
    }
}

fn of_block(block: &Bound<'_, PyAny>) -> PyResult<usize> {
    if let Some(text) = field(block, "text")? {
        return length(&text);
    }
    if let Some(call) = field(block, "toolUse")? {
        return Ok(length_of(&call, "name")? + length_of(&call, "input")?);
    }
    if let Some(result) = field(block, "toolResult")? {
        let content = field(&result, "content")?.map_or(Ok(0), |content| sum(&content, of_result))?;
        return Ok(length_of(&result, "status")? + length_of(&result, "toolUseId")? + content);
    }
    if let Some(reasoning) = field(block, "reasoningContent")? {
        return match field(&reasoning, "reasoningText")?.map(|text| field(&text, "text")).transpose()?.flatten() {
            Some(text) => length(&text),
            None => length(&reasoning),
        };
    }
    of_medium(block)
}

fn of_result(item: &Bound<'_, PyAny>) -> PyResult<usize> {
    for name in ["text", "json"] {
        if let Some(value) = field(item, name)? {
            return length(&value);
        }
    }
    of_medium(item)
}

fn of_medium(block: &Bound<'_, PyAny>) -> PyResult<usize> {
    if field(block, "image")?.is_some() {
        return Ok(IMAGE);
    }
    field(block, "document")?.map_or(Ok(0), |document| Ok(DOCUMENT + length_of(&document, "name")?))
}

/// Returns the sum over a list; anything else counts nothing.
fn sum(list: &Bound<'_, PyAny>, each: impl Fn(&Bound<'_, PyAny>) -> PyResult<usize>) -> PyResult<usize> {
    let Ok(list) = list.cast::<PyList>() else { return Ok(0) };
    list.iter().map(|item| each(&item)).sum()
}

/// Returns the value of a field, if the object is a dict that has it.
fn field<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    value.cast::<PyDict>().map_or(Ok(None), |dict| dict.get_item(name))
}

fn length_of(value: &Bound<'_, PyAny>, name: &str) -> PyResult<usize> {
    field(value, name)?.map_or(Ok(0), |found| length(&found))
}

/// Returns the number of characters in Python's `str` of a value.
fn length(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    value.str()?.len()
}
