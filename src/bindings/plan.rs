//! `Plan`: the planned changes of a conversation, as data.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use pythonize::pythonize;

use super::node::PyNode;
use super::text::PyText;
use crate::engine::{apply, check, content, demands_of_messages};
use crate::error::Error;
use crate::message::Conversation;
use crate::planner::Plan;
use crate::validity::{OpenCalls, repair};
use crate::wire::{self, Bytes, MAX_MESSAGE_DEPTH, Node};

/// The content to store before a plan is applied: reference, tool, content.
pub type ToStore<'py> = (String, String, Bound<'py, PyBytes>);

#[doc = doc!("Plan")]
#[pyclass(frozen, eq, name = "Plan", module = "ullage")]
#[derive(Debug, PartialEq)]
pub struct PyPlan(pub Plan);

#[pymethods]
impl PyPlan {
    #[doc = doc!("Plan.format")]
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format.name()
    }

    #[doc = doc!("Plan.budget")]
    #[getter]
    fn budget(&self) -> usize {
        self.0.budget.limit
    }

    #[doc = doc!("Plan.tokens_before")]
    #[getter]
    fn tokens_before(&self) -> usize {
        self.0.tokens_before
    }

    #[doc = doc!("Plan.tokens_after")]
    #[getter]
    fn tokens_after(&self) -> usize {
        self.0.tokens_after
    }

    #[doc = doc!("Plan.messages")]
    #[getter]
    fn messages(&self) -> usize {
        self.0.spans.count()
    }

    #[doc = doc!("Plan.is_empty")]
    #[getter]
    fn is_empty(&self) -> bool {
        self.0.edits.is_empty()
    }

    #[doc = doc!("Plan.is_pending")]
    #[getter]
    fn is_pending(&self) -> bool {
        self.0.pending.is_some()
    }

    #[doc = doc!("Plan.edits")]
    #[getter]
    fn edits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.edits_json())?)
    }

    #[doc = doc!("Plan.relied_on")]
    #[getter]
    fn relied_on(&self) -> Vec<String> {
        self.0.relied_on().map(ToString::to_string).collect()
    }

    #[doc = doc!("Plan.explain")]
    fn explain(&self) -> String {
        self.0.explain()
    }

    #[doc = doc!("Plan.from_dict")]
    #[staticmethod]
    fn from_dict(d: &Bound<'_, PyAny>) -> PyResult<PyPlan> {
        // Read as text, which limits the depth and rejects Python numbers that JSON cannot hold.
        let mut text = String::new();
        PyNode::reading(d, |node| node.render(&mut text, Bytes::Stored, MAX_MESSAGE_DEPTH))?;
        let value = serde_json::from_str(&text).map_err(|error| Error::Policy {
            setting: "plan".to_owned(),
            problem: format!("not valid JSON: {error}"),
        })?;
        Ok(PyPlan(Plan::from_json(&value)?))
    }

    #[doc = doc!("Plan.to_dict")]
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.to_json())?)
    }

    #[doc = doc!("Plan.report")]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.report())?)
    }

    #[doc = doc!("Plan.artifacts")]
    pub fn artifacts<'py>(&self, messages: &Bound<'py, PyAny>) -> PyResult<Vec<ToStore<'py>>> {
        PyNode::reading(&self.repaired(messages)?, |node| {
            to_store(messages.py(), &self.0, &check(&self.0, node)?, node)
        })
    }

    #[doc = doc!("Plan.apply")]
    pub fn apply<'py>(&self, messages: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        PyNode::reading(&self.repaired(messages)?, |node| apply(&self.0, node)).map_err(PyErr::from)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        Ok((slf.get_type().getattr("from_dict")?, (slf.get().to_dict(slf.py())?,)))
    }

    #[doc = doc!("Plan._repr_html_")]
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let text = py.import("html")?.call_method1("escape", (self.explain(),))?;
        Ok(format!("<pre>{text}</pre>"))
    }

    fn __repr__(&self) -> String {
        let edits = self.0.edits.len();
        format!(
            "<Plan: {edits} edit{}, {} -> {} tokens of {}>",
            if edits == 1 { "" } else { "s" },
            self.0.tokens_before,
            self.0.tokens_after,
            self.0.budget.limit
        )
    }
}

impl PyPlan {
    /// Returns the messages as the plan saw them: repaired, if they needed a repair.
    fn repaired<'py>(&self, messages: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if self.0.repairs.is_empty() {
            return Ok(messages.clone());
        }
        PyNode::reading(messages, |host| {
            let conversation = wire::read(host, self.0.format)?;
            // The engine was told the format, or it detected one. An ambiguous list has the rules that all its formats
            // share.
            for named in [Some(self.0.format), None] {
                let Ok((_, demands)) = demands_of_messages(host, named) else { continue };
                let repaired = repair(&conversation, &demands, OpenCalls::Wait);
                let entries = wire::rewrite(host, &conversation, self.0.format, &repaired.changes)?;
                let list = PyList::new(messages.py(), entries.into_iter().map(|entry| entry.value))?.into_any();
                if PyNode::reading(&list, |list| check(&self.0, list)).is_ok() {
                    return Ok(list);
                }
            }
            Err(Error::Changed.into())
        })
    }
}

/// The content that a plan removes from `messages`.
pub fn to_store<'py>(
    py: Python<'py>,
    plan: &Plan,
    conversation: &Conversation<PyText>,
    messages: &PyNode<'py>,
) -> PyResult<Vec<ToStore<'py>>> {
    let stored = plan.artifacts.iter().map(|artifact| {
        let content = content(plan, conversation, &artifact.source, messages)?;
        Ok((artifact.reference.to_string(), artifact.tool.clone(), PyBytes::new(py, &content)))
    });
    stored.collect()
}
