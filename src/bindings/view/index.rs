//! `ViewIndex`: finds the view that belongs to a history.

use std::fmt;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bindings::engine::PyEngine;
use crate::ledger::entry_digests;
use crate::shared::Locked;
use crate::view::{FoundView, Index, Prefixes};
use crate::wire::Format;

/// Bytes for each token of a decision, for an estimate of the size of a view's decisions.
const TOKEN_BYTES: usize = 4;

/// Bytes of a message without its texts: the host's dicts and lists, and our reading of them. Measured by
/// `benches/capacity.py` for messages with calls.
const MESSAGE_BYTES: usize = 3_700;

#[pyclass(frozen, name = "ViewIndex", module = "ullage._core")]
pub struct PyViewIndex {
    index: Locked<Index<Arc<Py<PyAny>>>>,
}

impl fmt::Debug for PyViewIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewIndex").finish_non_exhaustive()
    }
}

/// The result of looking a history up.
#[pyclass(frozen, name = "ViewLookup", module = "ullage._core")]
#[derive(Debug)]
pub struct PyViewLookup {
    prefixes: Prefixes,
    format: Format,
    /// Bytes of its messages.
    bytes: usize,
    found: Option<FoundView<Arc<Py<PyAny>>>>,
}

#[pymethods]
impl PyViewLookup {
    /// Returns the view that has seen the longest beginning of the history.
    #[getter]
    fn view(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.found.as_ref().map(|found| found.view.clone_ref(py))
    }

    /// True if the history continues the last one of that view.
    #[getter]
    fn is_last(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.is_last)
    }
}

#[pymethods]
impl PyViewIndex {
    #[new]
    #[pyo3(signature = (limit))]
    fn new(limit: usize) -> PyViewIndex {
        PyViewIndex { index: Locked::new(Index::new(limit)) }
    }

    fn __len__(&self) -> usize {
        self.index.lock().len()
    }

    /// Looks a history up. O(length of the history) at memory speed. With `known`, which is the result for an earlier
    /// state of this history, only the messages after that are read. The caller promises that the others are the same.
    #[pyo3(signature = (engine, history, known=None))]
    fn find(
        &self,
        engine: &PyEngine,
        history: &Bound<'_, PyAny>,
        known: Option<&PyViewLookup>,
    ) -> PyResult<PyViewLookup> {
        let (mut prefixes, format, mut bytes) = match known {
            Some(known) => (known.prefixes.clone(), known.format, known.bytes),
            None => (Prefixes::default(), engine.demands_of(history)?.0, 0),
        };
        let new = history.try_iter()?.skip(prefixes.len()).collect::<PyResult<Vec<_>>>()?;
        let reading = engine.read_as(PyList::new(history.py(), new)?.as_any(), format, &[])?;
        bytes += reading.conversation.messages.len() * MESSAGE_BYTES;
        for message in &reading.conversation.messages {
            message.texts(|text, _| bytes += text.len());
        }
        prefixes.extend(entry_digests(&reading.conversation));
        let found = self.index.lock().find(&prefixes);
        Ok(PyViewLookup { prefixes, format, bytes, found })
    }

    /// Notes that a view was asked for a history: the found view, or a new one. `tokens` is the size of its last
    /// request. Returns the views that must release their messages, whether or not they stay in the index.
    #[pyo3(signature = (lookup, view, *, tokens))]
    fn note(&self, py: Python<'_>, lookup: &PyViewLookup, view: Py<PyAny>, tokens: usize) -> Vec<Py<PyAny>> {
        let known = lookup.found.as_ref().filter(|found| found.view.is(&view));
        let dropped = {
            let mut index = self.index.lock();
            let number = known.map_or_else(|| index.add(Arc::new(view)), |found| found.number);
            index.note(number, &lookup.prefixes, lookup.bytes, tokens.saturating_mul(TOKEN_BYTES))
        };
        dropped.released.iter().chain(&dropped.forgotten).map(|view| view.clone_ref(py)).collect()
    }
}
