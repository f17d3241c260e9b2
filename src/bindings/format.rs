//! Wire formats by their public names.

use pyo3::prelude::*;

use super::node::PyNode;
use super::pending_exception::nothing_raised;
use crate::error::Error;
use crate::wire::{self, Format};

#[doc = doc!("detect_format")]
#[pyfunction]
pub fn detect_format(messages: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    let format = wire::detect_format(&PyNode(messages.clone()))?;
    nothing_raised()?;
    Ok(format.name())
}

/// The format of that public name.
pub fn named_format(name: &str) -> Result<Format, Error> {
    Format::from_name(name).ok_or_else(|| Error::Policy {
        setting: "format".to_owned(),
        problem: format!("unknown format '{name}'; known are {}", Format::ALL.map(Format::name).join(", ")),
    })
}
