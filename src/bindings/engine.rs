//! `Engine` and `Plan`.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pythonize::pythonize;

use super::counter::{PyTokenCounter, named_format};
use super::node::PyNode;
use super::policy::PyPolicy;
use super::text::PyText;
use super::whole::Amount;
use crate::engine::{Ask, Engine, Reading, Room, apply, check, content};
use crate::error::Error;
use crate::planner::{Plan, Urgency};
use crate::stages::Storing;
use crate::wire::{self, Format};

#[pyfunction]
pub fn detect_format(messages: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    Ok(wire::detect_format(&PyNode(messages.clone()))?.name())
}

/// A shrunk result, what must be stored first (reference and content), and the tokens saved.
type ShrunkResult<'py> = (Bound<'py, PyAny>, Vec<(String, Bound<'py, PyBytes>)>, usize);

#[pyclass(frozen, name = "Engine", module = "ullage._core")]
#[derive(Debug)]
pub struct PyEngine {
    engine: Engine,
    format: Option<Format>,
}

#[pymethods]
impl PyEngine {
    #[new]
    #[pyo3(signature = (policy, counter, *, storing, format))]
    fn new(policy: &PyPolicy, counter: &PyTokenCounter, storing: bool, format: Option<&str>) -> PyResult<PyEngine> {
        let storing = if storing { Storing::On } else { Storing::Off };
        let engine = Engine::new(policy.0.clone(), Arc::clone(&counter.counter), storing)?;
        Ok(PyEngine { engine, format: format.map(named_format).transpose()? })
    }

    #[pyo3(signature = (messages, *, budget, fixed, hard, pins, salt))]
    // One argument for each keyword of the Python method that calls it; a list arrives as a `Vec`.
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)]
    fn plan(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        budget: Option<Amount>,
        fixed: usize,
        hard: bool,
        pins: Vec<Bound<'_, PyAny>>,
        salt: u64,
    ) -> PyResult<PyPlan> {
        let reading = self.read(messages, &indices(&pins)?)?;
        let room = room(budget, fixed);
        let urgency = if hard { Urgency::Hard } else { Urgency::Soft };
        let ask = Ask { room, urgency, salt: u128::from(salt) };
        let plan = py.detach(|| self.engine.plan(&reading, ask))?;
        Ok(PyPlan { plan, reading })
    }

    #[pyo3(signature = (messages, *, budget, fixed))]
    fn status<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        budget: Option<Amount>,
        fixed: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reading = self.read(messages, &[])?;
        let room = room(budget, fixed);
        let status = py.detach(|| self.engine.status(&reading, room))?;
        Ok(pythonize(py, &status)?)
    }

    fn shrink<'py>(&self, tool: &str, result: &Bound<'py, PyAny>) -> PyResult<Option<ShrunkResult<'py>>> {
        let py = result.py();
        let Some(shrunk) = self.engine.shrink_result(tool, &PyNode(result.clone()))? else {
            return Ok(None);
        };
        let artifacts = shrunk
            .artifacts
            .iter()
            .map(|(reference, content)| (reference.to_string(), PyBytes::new(py, content.as_bytes())))
            .collect();
        Ok(Some((shrunk.result, artifacts, shrunk.saved)))
    }

    #[pyo3(signature = (system, tools))]
    fn fixed_tokens(&self, system: Option<&Bound<'_, PyAny>>, tools: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        let (system, tools) = (system.cloned().map(PyNode), tools.cloned().map(PyNode));
        Ok(self.engine.fixed_tokens(system.as_ref(), tools.as_ref())?)
    }

    fn record_shrink(&self, saved: usize) {
        self.engine.record_shrink(saved);
    }

    fn record(&self, plan: &PyPlan) {
        self.engine.record(&plan.plan.report());
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.engine.stats())?)
    }
}

impl PyEngine {
    fn read(&self, messages: &Bound<'_, PyAny>, pins: &[usize]) -> Result<Reading<PyText>, Error> {
        self.engine.read(&PyNode(messages.clone()), self.format, pins)
    }
}

fn room(budget: Option<Amount>, fixed: usize) -> Room {
    Room { budget: budget.map(|Amount(tokens)| tokens), fixed }
}

/// Pins as indices. What is no index of any list is beyond the end of every list, and refused as such.
fn indices(pins: &[Bound<'_, PyAny>]) -> PyResult<Vec<usize>> {
    pins.iter().map(|pin| if pin.lt(0)? { Ok(usize::MAX) } else { Ok(pin.extract::<Amount>()?.0) }).collect()
}

/// What must be stored before a plan is applied: reference, tool, content.
type ToStore<'py> = (String, String, Bound<'py, PyBytes>);

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
    fn messages(&self) -> usize {
        self.plan.messages
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

    fn artifacts<'py>(&self, messages: &Bound<'py, PyAny>) -> PyResult<Vec<ToStore<'py>>> {
        let host = PyNode(messages.clone());
        check(&self.plan, &host)?;
        let mut artifacts = Vec::with_capacity(self.plan.artifacts.len());
        for artifact in &self.plan.artifacts {
            let content = content(&self.reading, &artifact.source, &host)?;
            artifacts.push((
                artifact.reference.to_string(),
                artifact.tool.clone(),
                PyBytes::new(messages.py(), &content),
            ));
        }
        Ok(artifacts)
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
