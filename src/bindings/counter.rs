//! `TokenCounter` and `count_tokens`.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::node::PyNode;
use super::text::PyText;
use super::whole::Amount;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::tokens::{CountTokens, Encoding, Exact, TextKind, counter_for_model};
use crate::wire::{self, Format};

/// From this many bytes on, letting other threads run costs less than it gives.
const WORTH_RELEASING: usize = 4 * 1024;

fn exact(encoding: &str) -> PyResult<Exact> {
    let encoding = Encoding::from_name(encoding).ok_or_else(|| Error::Policy {
        setting: "encoding".to_owned(),
        problem: format!("there is no encoding '{encoding}'; known are o200k_base and cl100k_base"),
    })?;
    Ok(Exact::new(encoding))
}

fn count(py: Python<'_>, counter: &dyn CountTokens, text: &PyText) -> usize {
    if text.len() < WORTH_RELEASING {
        return counter.count(text, TextKind::Prose);
    }
    py.detach(|| counter.count(text, TextKind::Prose))
}

#[pyfunction]
#[pyo3(signature = (text, encoding = "o200k_base"))]
pub fn count_tokens(py: Python<'_>, text: &Bound<'_, PyString>, encoding: &str) -> PyResult<usize> {
    Ok(count(py, &exact(encoding)?, &PyText::of(text)))
}

#[pyclass(frozen, subclass, name = "TokenCounter", module = "ullage")]
#[derive(Debug)]
pub struct PyTokenCounter {
    pub counter: Arc<dyn CountTokens>,
    ledger: Ledger,
}

impl PyTokenCounter {
    fn over(counter: Arc<dyn CountTokens>) -> PyTokenCounter {
        PyTokenCounter { ledger: Ledger::new(Arc::clone(&counter)), counter }
    }
}

#[pymethods]
impl PyTokenCounter {
    #[new]
    #[pyo3(signature = (encoding = "o200k_base"))]
    fn new(encoding: &str) -> PyResult<PyTokenCounter> {
        Ok(PyTokenCounter::over(Arc::new(exact(encoding)?)))
    }

    #[staticmethod]
    fn for_model(model: &str) -> PyTokenCounter {
        PyTokenCounter::over(counter_for_model(model))
    }

    #[getter]
    fn name(&self) -> &str {
        self.counter.name()
    }

    fn count(&self, py: Python<'_>, text: &Bound<'_, PyString>) -> usize {
        count(py, &*self.counter, &PyText::of(text))
    }

    fn fits(&self, py: Python<'_>, text: &Bound<'_, PyString>, limit: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Amount(most) = limit.extract()?;
        let text = PyText::of(text);
        // Even an empty text takes more than a negative number of tokens.
        Ok(!limit.lt(0)? && py.detach(|| self.counter.fits(&text, TextKind::Prose, most)))
    }

    #[pyo3(signature = (messages, format = None))]
    fn count_messages(&self, py: Python<'_>, messages: &Bound<'_, PyAny>, format: Option<&str>) -> PyResult<usize> {
        let node = PyNode(messages.clone());
        let format = match format {
            Some(name) => named_format(name)?,
            None => wire::detect_format(&node)?,
        };
        let conversation = wire::read(&node, format)?;
        Ok(py.detach(|| self.ledger.measure(&conversation).total()))
    }

    fn __repr__(&self) -> String {
        format!("TokenCounter({:?})", self.counter.name())
    }
}

/// The format of that public name.
pub fn named_format(name: &str) -> Result<Format, Error> {
    Format::from_name(name).ok_or_else(|| Error::Policy {
        setting: "format".to_owned(),
        problem: format!("there is no format '{name}'; known are {}", Format::ALL.map(Format::name).join(", ")),
    })
}
