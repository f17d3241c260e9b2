//! Wire formats by their public names.

use pyo3::prelude::*;

use super::node::PyNode;
use super::text::PyText;
use crate::error::Error;
use crate::message::Conversation;
use crate::wire::{self, Format};

#[doc = doc!("detect_format")]
#[pyfunction]
pub fn detect_format(messages: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    Ok(PyNode::reading(messages, wire::detect_format)?.name())
}

/// Returns the format with this public name.
pub fn named_format(name: &str) -> Result<Format, Error> {
    Format::from_name(name).ok_or_else(|| Error::Policy {
        setting: "format".to_owned(),
        problem: format!("unknown format '{name}'; use one of {}", Format::ALL.map(Format::name).join(", ")),
    })
}

/// Reads messages in the named or detected format, and returns the format too.
///
/// # Errors
/// `Message` or `Conversation` if they match no format.
pub fn read_messages(
    messages: &Bound<'_, PyAny>,
    format: Option<Format>,
) -> Result<(Format, Conversation<PyText>), Error> {
    PyNode::reading(messages, |node| {
        let format = format.map_or_else(|| wire::format_to_read(node), Ok)?;
        Ok((format, wire::read(node, format)?))
    })
}
