//! `Plan`: what to do to a conversation, as data.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pythonize::pythonize;

use super::node::PyNode;
use super::raised::nothing_raised;
use crate::engine::{apply, check, content};
use crate::planner::Plan;

/// What must be stored before a plan is applied: reference, tool, content.
type ToStore<'py> = (String, String, Bound<'py, PyBytes>);

#[pyclass(frozen, name = "Plan", module = "ullage")]
#[derive(Debug)]
pub struct PyPlan(pub Plan);

#[pymethods]
impl PyPlan {
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format.name()
    }

    #[getter]
    fn budget(&self) -> usize {
        self.0.budget.limit
    }

    #[getter]
    fn tokens_before(&self) -> usize {
        self.0.tokens_before
    }

    #[getter]
    fn tokens_after(&self) -> usize {
        self.0.tokens_after
    }

    #[getter]
    fn messages(&self) -> usize {
        self.0.spans.count()
    }

    #[getter]
    fn is_empty(&self) -> bool {
        self.0.edits.is_empty()
    }

    #[getter]
    fn is_pending(&self) -> bool {
        self.0.pending.is_some()
    }

    #[getter]
    fn edits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.get_item("edits")
    }

    #[getter]
    fn relied_on(&self) -> Vec<String> {
        self.0.relied_on().map(ToString::to_string).collect()
    }

    fn explain(&self) -> String {
        self.0.explain()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.to_json())?)
    }

    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.report())?)
    }

    fn artifacts<'py>(&self, messages: &Bound<'py, PyAny>) -> PyResult<Vec<ToStore<'py>>> {
        let host = PyNode(messages.clone());
        let conversation = check(&self.0, &host)?;
        let mut artifacts = Vec::with_capacity(self.0.artifacts.len());
        for artifact in &self.0.artifacts {
            let content = content(&self.0, &conversation, &artifact.source, &host)?;
            artifacts.push((
                artifact.reference.to_string(),
                artifact.tool.clone(),
                PyBytes::new(messages.py(), &content),
            ));
        }
        nothing_raised()?;
        Ok(artifacts)
    }

    fn apply<'py>(&self, messages: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let messages = apply(&self.0, &PyNode(messages.clone()))?;
        nothing_raised()?;
        Ok(messages)
    }

    fn __repr__(&self) -> String {
        format!(
            "<Plan: {} edits, {} -> {} tokens of {}>",
            self.0.edits.len(),
            self.0.tokens_before,
            self.0.tokens_after,
            self.0.budget.limit
        )
    }
}
