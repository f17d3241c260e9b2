//! `Conversation`: what a host asks about its own messages.

use std::sync::Arc;

use pyo3::prelude::*;

use super::format::named_format;
use super::node::PyNode;
use super::pending_exception::nothing_raised;
use super::text::PyText;
use crate::calls;
use crate::history::{History, Place, ResultSite};
use crate::invariants::CallSite;
use crate::message::{Outcome, Part};
use crate::wire::{self, Node};

/// A list of messages, read once.
#[derive(Debug)]
#[pyclass(frozen, name = "Conversation", module = "ullage")]
pub struct PyConversation {
    history: Arc<History<PyText>>,
    format: &'static str,
}

#[pymethods]
impl PyConversation {
    #[new]
    #[pyo3(signature = (messages, format = None))]
    fn new(messages: &Bound<'_, PyAny>, format: Option<&str>) -> PyResult<PyConversation> {
        let host = PyNode(messages.clone());
        let format = match format {
            Some(name) => named_format(name)?,
            None => wire::format_to_read(&host)?,
        };
        let conversation = wire::read(&host, format)?;
        nothing_raised()?;
        Ok(PyConversation { history: Arc::new(History::of(conversation)), format: format.name() })
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.format
    }

    fn __len__(&self) -> usize {
        self.history.entries()
    }

    fn __repr__(&self) -> String {
        format!("Conversation(format='{}', messages={})", self.format, self.history.entries())
    }

    #[getter]
    fn roles(&self) -> Vec<&'static str> {
        (0..self.history.entries()).map(|entry| self.history.kind(entry).name()).collect()
    }

    #[getter]
    fn texts(&self) -> Vec<String> {
        (0..self.history.entries()).map(|entry| self.history.words(entry)).collect()
    }

    #[getter]
    fn calls(&self) -> Vec<PyToolCall> {
        (0..self.history.calls().len()).map(|index| self.call(index)).collect()
    }

    #[getter]
    fn open_calls(&self) -> Vec<PyToolCall> {
        let calls = self.history.calls().iter().enumerate().filter(|(_, call)| call.result.is_none());
        calls.map(|(index, _)| self.call(index)).collect()
    }

    #[getter]
    fn results(&self) -> Vec<PyToolResult> {
        (0..self.history.results().len())
            .map(|index| PyToolResult { history: Arc::clone(&self.history), index })
            .collect()
    }

    #[getter]
    fn cut_points(&self) -> Vec<usize> {
        self.history.cut_points()
    }

    #[getter]
    fn requests(&self) -> Vec<usize> {
        self.history.requests()
    }

    #[getter]
    fn pins(&self) -> Vec<usize> {
        self.history.pins()
    }
}

impl PyConversation {
    fn call(&self, index: usize) -> PyToolCall {
        PyToolCall { history: Arc::clone(&self.history), index }
    }
}

/// A call in a conversation.
#[derive(Debug)]
#[pyclass(frozen, name = "ToolCall", module = "ullage")]
pub struct PyToolCall {
    history: Arc<History<PyText>>,
    index: usize,
}

impl PyToolCall {
    fn site(&self) -> &CallSite {
        &self.history.calls()[self.index]
    }

    fn place(&self) -> Place {
        self.history.place((self.site().message, self.site().part))
    }

    /// Id, tool and arguments.
    fn fields(&self) -> (&str, &str, &str) {
        match self.history.part((self.site().message, self.site().part)) {
            Part::Call { id, name, input } => (id, name, input),
            _ => ("", "", ""), // OK because sites of calls are only made from calls.
        }
    }
}

#[pymethods]
impl PyToolCall {
    #[getter]
    fn message(&self) -> usize {
        self.place().entry
    }

    #[getter]
    fn number(&self) -> usize {
        self.place().number
    }

    #[getter]
    fn id(&self) -> &str {
        self.fields().0
    }

    #[getter]
    fn tool(&self) -> &str {
        self.fields().1
    }

    #[getter]
    fn arguments(&self) -> &str {
        self.fields().2
    }

    #[getter]
    fn result(&self) -> Option<PyToolResult> {
        let index = self.history.result_of(self.index)?;
        Some(PyToolResult { history: Arc::clone(&self.history), index })
    }

    #[getter]
    fn waits(&self) -> bool {
        self.history.waits(self.index)
    }

    fn __repr__(&self) -> String {
        format!("ToolCall(message={}, tool='{}', id='{}')", self.message(), self.tool(), self.id())
    }
}

/// A tool result in a conversation.
#[derive(Debug)]
#[pyclass(frozen, name = "ToolResult", module = "ullage")]
pub struct PyToolResult {
    history: Arc<History<PyText>>,
    index: usize,
}

impl PyToolResult {
    fn site(&self) -> &ResultSite {
        &self.history.results()[self.index]
    }
}

#[pymethods]
impl PyToolResult {
    #[getter]
    fn message(&self) -> usize {
        self.history.place(self.site().site).entry
    }

    #[getter]
    fn number(&self) -> usize {
        self.history.place(self.site().site).number
    }

    #[getter]
    fn id(&self) -> &str {
        match self.history.part(self.site().site) {
            Part::Result { id, .. } => id,
            _ => "", // OK because sites of results are only made from results.
        }
    }

    #[getter]
    fn tool(&self) -> &str {
        self.history.tool_of(self.site()).unwrap_or_default()
    }

    #[getter]
    fn text(&self) -> String {
        self.history.result_text(self.site())
    }

    #[getter]
    fn outcome(&self) -> &'static str {
        self.history.outcome(self.site()).name()
    }

    #[getter]
    fn failed(&self) -> bool {
        self.history.outcome(self.site()) == Outcome::Failed
    }

    #[getter]
    fn call(&self) -> Option<PyToolCall> {
        let index = self.site().call?;
        Some(PyToolCall { history: Arc::clone(&self.history), index })
    }

    fn __repr__(&self) -> String {
        format!("ToolResult(message={}, tool='{}', id='{}')", self.message(), self.tool(), self.id())
    }
}

#[pyfunction]
pub fn tool_outcome(result: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    let node = PyNode(result.clone());
    let text = match node.text() {
        Some(text) => text,
        None => node.rendered()?,
    };
    nothing_raised()?;
    Ok(calls::outcome(&text, None).name())
}
