//! Statistics about large results, for `ullage.adk`.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::node::PyNode;
use super::whole::Amount;
use crate::compress::{Payload, PayloadKind, Whole};
use crate::error::Error;
use crate::store::Reference;
use crate::wire::{Bytes, MAX_DEPTH, Node};

/// A tool result, read once.
#[derive(Debug)]
#[pyclass(frozen, name = "Payload", module = "ullage._core")]
pub struct PyPayload {
    payload: Payload,
    chars: usize,
}

#[pymethods]
impl PyPayload {
    #[new]
    fn new(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<PyPayload> {
        let mut json = String::new();
        PyNode::reading(value, |node| node.render(&mut json, Bytes::Stored, MAX_DEPTH))?;
        let read = py.detach(|| {
            let chars = json.chars().count();
            Payload::of(json).map(|payload| PyPayload { payload, chars })
        });
        Ok(read.ok_or_else(|| Error::Conversation {
            problem: "a result cannot be read as JSON".to_owned(),
            remedy: "give plain dicts, lists and strings".to_owned(),
        })?)
    }

    #[getter]
    fn json(&self) -> &str {
        self.payload.json()
    }

    #[getter]
    fn chars(&self) -> usize {
        self.chars
    }

    #[getter]
    fn items(&self) -> usize {
        self.payload.items()
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.payload.kind().name()
    }

    #[getter]
    fn text(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.payload.text())
    }

    fn stored<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, bool) {
        let (text, whole) = py.detach(|| self.payload.to_store());
        (PyBytes::new(py, text.as_bytes()), whole == Whole::Stored)
    }

    #[pyo3(signature = (kind = None))]
    fn survey(&self, py: Python<'_>, kind: Option<&str>) -> PyResult<String> {
        let kind = kind.map(named).transpose()?;
        Ok(py.detach(|| self.payload.survey(kind)))
    }

    fn sample(&self, py: Python<'_>) -> String {
        py.detach(|| self.payload.sample())
    }
}

fn named(name: &str) -> Result<PayloadKind, Error> {
    PayloadKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let known: Vec<&str> = PayloadKind::ALL.iter().map(|kind| kind.name()).collect();
        Error::Policy {
            setting: "kind".to_owned(),
            problem: format!("unknown name '{name}'; known are: {}", known.join(", ")),
        }
    })
}

/// Returns the reference of content from `tool`, a different one for each `salt`.
#[pyfunction]
pub fn reference_of(tool: &str, content: &[u8], salt: Amount) -> String {
    Reference::salted(tool, content, salt.0 as u64).to_string()
}
