//! `Conversation`: answers a host's questions about its own messages.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::format::{named_format, read_messages};
use super::node::PyNode;
use super::text::PyText;
use crate::calls;
use crate::history::{History, PartPlace, ResultSite};
use crate::invariants::CallSite;
use crate::message::{Outcome, Part};
use crate::wire::Node;

#[doc = doc!("Conversation")]
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
        let (format, conversation) = read_messages(messages, format.map(named_format).transpose()?)?;
        Ok(PyConversation { history: Arc::new(History::of(conversation)), format: format.name() })
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<()> {
        let class = slf.get_type();
        let class = class.name()?;
        Err(PyTypeError::new_err(format!(
            "a {class} cannot be pickled; keep its messages, and create it from them again"
        )))
    }

    #[doc = doc!("Conversation.format")]
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

    #[doc = doc!("Conversation.roles")]
    #[getter]
    fn roles(&self) -> Vec<&'static str> {
        (0..self.history.entries()).map(|entry| self.history.kind(entry).name()).collect()
    }

    #[doc = doc!("Conversation.texts")]
    #[getter]
    fn texts(&self) -> Vec<String> {
        (0..self.history.entries()).map(|entry| self.history.words(entry)).collect()
    }

    #[doc = doc!("Conversation.calls")]
    #[getter]
    fn calls(&self) -> Vec<PyToolCall> {
        (0..self.history.calls().len()).map(|index| self.call(index)).collect()
    }

    #[doc = doc!("Conversation.open_calls")]
    #[getter]
    fn open_calls(&self) -> Vec<PyToolCall> {
        let calls = self.history.calls().iter().enumerate().filter(|(_, call)| call.result.is_none());
        calls.map(|(index, _)| self.call(index)).collect()
    }

    #[doc = doc!("Conversation.results")]
    #[getter]
    fn results(&self) -> Vec<PyToolResult> {
        (0..self.history.results().len())
            .map(|index| PyToolResult { history: Arc::clone(&self.history), index })
            .collect()
    }

    #[doc = doc!("Conversation.cut_points")]
    #[getter]
    fn cut_points(&self) -> Vec<usize> {
        self.history.cut_points()
    }

    #[doc = doc!("Conversation.requests")]
    #[getter]
    fn requests(&self) -> Vec<usize> {
        self.history.requests()
    }

    #[doc = doc!("Conversation.pins")]
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

#[doc = doc!("ToolCall")]
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

    fn place(&self) -> PartPlace {
        self.history.place((self.site().message, self.site().part))
    }

    /// Returns the id, the tool and the arguments.
    fn fields(&self) -> (&str, &str, &str) {
        match self.history.part((self.site().message, self.site().part)) {
            Part::Call { id, name, input } => (id, name, input),
            _ => ("", "", ""), // OK because sites of calls are only made from calls.
        }
    }
}

#[pymethods]
impl PyToolCall {
    #[doc = doc!("ToolCall.message")]
    #[getter]
    fn message(&self) -> usize {
        self.place().entry
    }

    #[doc = doc!("ToolCall.number")]
    #[getter]
    fn number(&self) -> usize {
        self.place().number
    }

    #[doc = doc!("ToolCall.id")]
    #[getter]
    fn id(&self) -> &str {
        self.fields().0
    }

    #[doc = doc!("ToolCall.tool")]
    #[getter]
    fn tool(&self) -> &str {
        self.fields().1
    }

    #[doc = doc!("ToolCall.arguments")]
    #[getter]
    fn arguments(&self) -> &str {
        self.fields().2
    }

    #[doc = doc!("ToolCall.result")]
    #[getter]
    fn result(&self) -> Option<PyToolResult> {
        let index = self.history.result_of(self.index)?;
        Some(PyToolResult { history: Arc::clone(&self.history), index })
    }

    #[doc = doc!("ToolCall.waits")]
    #[getter]
    fn waits(&self) -> bool {
        self.history.waits(self.index)
    }

    fn __repr__(&self) -> String {
        format!("ToolCall(message={}, tool='{}', id='{}')", self.message(), self.tool(), self.id())
    }
}

#[doc = doc!("ToolResult")]
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
    #[doc = doc!("ToolResult.message")]
    #[getter]
    fn message(&self) -> usize {
        self.history.place(self.site().site).entry
    }

    #[doc = doc!("ToolResult.number")]
    #[getter]
    fn number(&self) -> usize {
        self.history.place(self.site().site).number
    }

    #[doc = doc!("ToolResult.id")]
    #[getter]
    fn id(&self) -> &str {
        match self.history.part(self.site().site) {
            Part::Result { id, .. } => id,
            _ => "", // OK because sites of results are only made from results.
        }
    }

    #[doc = doc!("ToolResult.tool")]
    #[getter]
    fn tool(&self) -> &str {
        self.history.tool_of(self.site()).unwrap_or_default()
    }

    #[doc = doc!("ToolResult.text")]
    #[getter]
    fn text(&self) -> String {
        self.history.result_text(self.site())
    }

    #[doc = doc!("ToolResult.outcome")]
    #[getter]
    fn outcome(&self) -> &'static str {
        self.history.outcome(self.site()).name()
    }

    #[doc = doc!("ToolResult.failed")]
    #[getter]
    fn failed(&self) -> bool {
        self.history.outcome(self.site()) == Outcome::Failed
    }

    #[doc = doc!("ToolResult.call")]
    #[getter]
    fn call(&self) -> Option<PyToolCall> {
        let index = self.site().call?;
        Some(PyToolCall { history: Arc::clone(&self.history), index })
    }

    fn __repr__(&self) -> String {
        format!("ToolResult(message={}, tool='{}', id='{}')", self.message(), self.tool(), self.id())
    }
}

#[doc = doc!("tool_outcome")]
#[pyfunction]
pub fn tool_outcome(result: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    let text = PyNode::reading(result, |node| node.text().map_or_else(|| node.rendered(), Ok))?;
    Ok(calls::outcome(&text, None).name())
}
