//! `Engine` and `Plan`.

use std::ops::Range;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pythonize::pythonize;

use super::counter::{PyTokenCounter, named_format};
use super::node::PyNode;
use super::policy::PyPolicy;
use super::text::PyText;
use crate::engine::{Engine, HostMessages, Reading, Room, apply};
use crate::error::Error;
use crate::planner::{Plan, Transcripts, Urgency};
use crate::stages::Storing;
use crate::wire;

#[pyfunction]
pub fn detect_format(messages: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    Ok(wire::detect_format(&PyNode(messages.clone()))?.name())
}

/// Renders removed messages from the host's own list, which is read again for it: other threads may run in between.
struct Host(Py<PyAny>);

impl Transcripts for Host {
    fn transcript(&self, messages: Range<usize>) -> Result<Vec<u8>, Error> {
        Python::attach(|py| HostMessages(&PyNode(self.0.bind(py).clone())).transcript(messages))
    }
}

/// A shrunk result, and what must be stored first: reference and content.
type ShrunkResult<'py> = (Bound<'py, PyAny>, Vec<(String, Bound<'py, PyBytes>)>);

#[pyclass(frozen, name = "Engine", module = "ullage._core")]
#[derive(Debug)]
pub struct PyEngine(Engine);

#[pymethods]
impl PyEngine {
    #[new]
    #[pyo3(signature = (policy, counter, *, storing))]
    fn new(policy: &PyPolicy, counter: &PyTokenCounter, storing: bool) -> PyResult<PyEngine> {
        let storing = if storing { Storing::On } else { Storing::Off };
        Ok(PyEngine(Engine::new(
            policy.0.clone(),
            Arc::clone(&counter.counter),
            storing,
        )?))
    }

    #[pyo3(signature = (messages, *, budget, fixed, hard, format, pins))]
    // One argument for each keyword of the Python method that calls it; a list arrives as a `Vec`.
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)]
    fn plan(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        budget: Option<i64>,
        fixed: usize,
        hard: bool,
        format: Option<&str>,
        pins: Vec<usize>,
    ) -> PyResult<PyPlan> {
        let reading = self.read(messages, format, &pins)?;
        let room = room(budget, fixed);
        let urgency = if hard { Urgency::Hard } else { Urgency::Soft };
        let host = Host(messages.clone().unbind());
        let plan = py.detach(|| self.0.plan(&reading, room, urgency, &host))?;
        Ok(PyPlan { plan, reading })
    }

    #[pyo3(signature = (messages, *, budget, fixed, format))]
    fn status<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        budget: Option<i64>,
        fixed: usize,
        format: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reading = self.read(messages, format, &[])?;
        let room = room(budget, fixed);
        let status = py.detach(|| self.0.status(&reading, room))?;
        Ok(pythonize(py, &status)?)
    }

    fn shrink<'py>(
        &self,
        tool: &str,
        result: &Bound<'py, PyAny>,
    ) -> PyResult<Option<ShrunkResult<'py>>> {
        let py = result.py();
        let Some(shrunk) = self.0.shrink_result(tool, &PyNode(result.clone()))? else {
            return Ok(None);
        };
        let artifacts = shrunk
            .artifacts
            .iter()
            .map(|(reference, content)| {
                (reference.to_string(), PyBytes::new(py, content.as_bytes()))
            })
            .collect();
        Ok(Some((shrunk.result, artifacts)))
    }

    #[pyo3(signature = (system, tools))]
    fn fixed_tokens(
        &self,
        system: Option<&Bound<'_, PyAny>>,
        tools: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let (system, tools) = (system.cloned().map(PyNode), tools.cloned().map(PyNode));
        Ok(self.0.fixed_tokens(system.as_ref(), tools.as_ref())?)
    }

    fn record(&self, plan: &PyPlan) {
        self.0.record(&plan.plan.report());
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.stats())?)
    }
}

impl PyEngine {
    fn read(
        &self,
        messages: &Bound<'_, PyAny>,
        format: Option<&str>,
        pins: &[usize],
    ) -> Result<Reading<PyText>, Error> {
        let format = format.map(named_format).transpose()?;
        self.0.read(&PyNode(messages.clone()), format, pins)
    }
}

fn room(budget: Option<i64>, fixed: usize) -> Room {
    // A budget below nothing has no more room than nothing.
    let budget = budget.map(|tokens| usize::try_from(tokens).unwrap_or(0));
    Room { budget, fixed }
}

#[pyclass(frozen, name = "Plan", module = "ullage")]
#[derive(Debug)]
pub struct PyPlan {
    plan: Plan,
    reading: Reading<PyText>,
}

#[pymethods]
impl PyPlan {
    #[getter]
    fn format(&self) -> &'static str {
        self.plan.format.name()
    }

    #[getter]
    fn budget(&self) -> usize {
        self.plan.budget.limit
    }

    #[getter]
    fn tokens_before(&self) -> usize {
        self.plan.tokens_before
    }

    #[getter]
    fn tokens_after(&self) -> usize {
        self.plan.tokens_after
    }

    #[getter]
    fn is_empty(&self) -> bool {
        self.plan.edits.is_empty()
    }

    #[getter]
    fn edits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.get_item("edits")
    }

    fn explain(&self) -> String {
        self.plan.explain()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.plan.to_json())?)
    }

    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.plan.report())?)
    }

    fn artifacts<'py>(&self, py: Python<'py>) -> Vec<(String, String, Bound<'py, PyBytes>)> {
        self.plan
            .artifacts
            .iter()
            .map(|artifact| {
                let content = PyBytes::new(py, self.reading.content(&artifact.source));
                (
                    artifact.reference.to_string(),
                    artifact.tool.clone(),
                    content,
                )
            })
            .collect()
    }

    fn apply<'py>(&self, messages: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        Ok(apply(&self.plan, &PyNode(messages.clone()))?)
    }

    fn __repr__(&self) -> String {
        format!(
            "<Plan: {} edits, {} -> {} tokens of {}>",
            self.plan.edits.len(),
            self.plan.tokens_before,
            self.plan.tokens_after,
            self.plan.budget.limit
        )
    }
}
