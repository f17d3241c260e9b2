//! `ViewRequest`: what a view sends for a history, once it is compacted.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::history::shown;
use super::{Made, PyView};
use crate::bindings::plan::PyPlan;
use crate::bindings::reading::PyReading;
use crate::view::{Output, Prefixes, Units};
use crate::wire::Rewritten;

/// A request that has to be compacted before it is sent.
pub(super) struct Due {
    pub view: Py<PyView>,
    /// The lasting history.
    pub history: Py<PyList>,
    pub is_transient: bool,
    pub reading: Py<PyReading>,
    pub units: Units<Made>,
    pub prefixes: Prefixes,
    pub budget: Option<usize>,
}

#[pyclass(frozen, name = "ViewRequest", module = "ullage._core")]
pub struct PyViewRequest {
    /// What is sent as it stands now.
    pub(super) list: Py<PyList>,
    /// What was repaired in it.
    pub(super) repairs: Vec<String>,
    pub(super) due: Option<Due>,
}

impl fmt::Debug for PyViewRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewRequest").finish_non_exhaustive()
    }
}

#[pymethods]
impl PyViewRequest {
    #[getter]
    fn messages(&self, py: Python<'_>) -> Py<PyList> {
        self.list.clone_ref(py)
    }

    #[getter]
    fn repairs(&self) -> Vec<String> {
        self.repairs.clone()
    }

    /// What a plan is made for, where it has to be compacted.
    #[getter]
    fn reading(&self, py: Python<'_>) -> Option<Py<PyReading>> {
        self.due.as_ref().map(|due| due.reading.clone_ref(py))
    }

    /// Carries a plan out: the messages to send, which the view remembers.
    fn apply<'py>(&self, py: Python<'py>, plan: &PyPlan) -> PyResult<Bound<'py, PyList>> {
        let Some(due) = self.due.as_ref().filter(|_| !plan.0.edits.is_empty()) else {
            return Ok(self.list.bind(py).clone());
        };
        let entries = due.reading.get().rewritten(py, &plan.0)?;
        let units = due.units.compacted(outputs(entries), &due.prefixes);
        let history = due.history.bind(py);
        let list = shown(history, &units)?;
        let view = due.view.get();
        let forgotten = view.view.lock().compacted(due.budget, units.pieces(), &due.prefixes);
        drop(forgotten);
        let compactions = view.compactions.fetch_add(1, Ordering::AcqRel) + 1;
        let reading = view.engine.get().read_as(list.as_any(), plan.0.format, &[])?;
        let lasting = (!due.is_transient).then_some(history);
        view.ready_to_send(lasting, &list, &reading, due.budget, compactions)?;
        Ok(list)
    }
}

/// A rewritten list as the view takes it.
pub(super) fn outputs(entries: Vec<Rewritten<Bound<'_, PyAny>>>) -> Vec<Output<Made>> {
    let made = |entry: &Rewritten<Bound<'_, PyAny>>| Arc::new(entry.value.clone().unbind());
    entries.into_iter().map(|entry| Output { made: (!entry.is_same).then(|| made(&entry)), of: entry.of }).collect()
}
