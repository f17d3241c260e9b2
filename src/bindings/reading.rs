//! `Reading`: a list of messages, read once for all steps of one compaction.

use std::sync::OnceLock;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use pythonize::pythonize;

use super::engine::{PyEngine, references};
use super::node::PyNode;
use super::plan::{PyPlan, ToStore, to_store};
use super::text::PyText;
use super::whole::Amount;
use crate::economics::{Account, Removal};
use crate::engine::{Ask, Reading, Room, rewritten};
use crate::error::{Error, Result as CoreResult};
use crate::ledger::fingerprint;
use crate::message::Pin;
use crate::planner::{Deadline, Plan, SummaryAnswer, Urgency};
use crate::shared::once;
use crate::wire::{Format, Rewritten};

/// Messages that were repaired before they were read.
#[derive(Debug)]
pub struct Repaired {
    /// Number of repaired messages.
    pub count: usize,
    pub fingerprint: u128,
    /// The repairs.
    pub what: Vec<String>,
}

#[pyclass(frozen, name = "Reading", module = "ullage._core")]
#[derive(Debug)]
pub struct PyReading {
    engine: Py<PyEngine>,
    /// Our own list of the host's messages.
    list: Py<PyList>,
    reading: Reading<PyText>,
    room: Room,
    /// The repaired messages.
    repaired: Option<Repaired>,
    /// Position of each message in the list that errors refer to; `None` for a message that is not in that list.
    places: Vec<Option<usize>>,
    /// The fingerprint of the messages, computed on first use.
    fingerprint: OnceLock<u128>,
}

impl PyReading {
    pub fn new(
        engine: Py<PyEngine>,
        list: Py<PyList>,
        reading: Reading<PyText>,
        room: Room,
        repaired: Option<Repaired>,
        places: Vec<Option<usize>>,
    ) -> PyReading {
        PyReading { engine, list, reading, room, repaired, places, fingerprint: OnceLock::new() }
    }

    /// Returns the position of a message in the list that errors refer to.
    pub fn place(&self, message: usize) -> Option<usize> {
        self.places.get(message).copied().flatten()
    }

    /// Returns the messages that remain after `plan`.
    ///
    /// # Errors
    /// `Changed` if the plan was made for other messages.
    pub fn rewritten<'py>(&self, py: Python<'py>, plan: &Plan) -> CoreResult<Vec<Rewritten<Bound<'py, PyAny>>>> {
        self.require(plan)?;
        PyNode::reading(self.list.bind(py), |node| rewritten(plan, node, &self.reading.conversation))
    }

    /// Returns the indices of the messages that must stay unchanged.
    pub fn pins(&self) -> Vec<usize> {
        let pinned = self.reading.conversation.messages.iter().filter(|message| message.pin == Pin::Pinned);
        pinned.flat_map(|message| message.span.entries()).collect()
    }

    /// Returns the account of a view after a compaction to so many tokens of messages.
    pub fn account_after(&self, py: Python<'_>, messages: usize, removal: Removal) -> Account {
        let engine = &self.engine.get().engine;
        py.detach(|| engine.account_after(&self.reading, self.room, messages, removal))
    }

    /// Returns the format of the messages.
    pub fn format(&self) -> Format {
        self.reading.format
    }

    fn require(&self, plan: &Plan) -> CoreResult<()> {
        if *once(&self.fingerprint, || fingerprint(&self.reading.conversation)) != plan.fingerprint
            || plan.spans != self.reading.conversation.spans()
        {
            return Err(Error::Changed);
        }
        plan.fits(&self.reading.conversation)
    }
}

#[pymethods]
impl PyReading {
    #[pyo3(signature = (*, hard, salt, distrusted, seconds, unasked))]
    #[allow(clippy::needless_pass_by_value)] // A list arrives as a `Vec`.
    fn plan(
        &self,
        py: Python<'_>,
        hard: bool,
        salt: u64,
        distrusted: Vec<String>,
        seconds: f64,
        unasked: Option<&Bound<'_, PyString>>,
    ) -> PyResult<PyPlan> {
        let started = Instant::now();
        let distrusted = references(&distrusted)?;
        let is_over = || started.elapsed().as_secs_f64() >= seconds;
        let unasked = unasked.map(PyText::of);
        let ask = Ask {
            room: self.room,
            urgency: if hard { Urgency::Hard } else { Urgency::Soft },
            salt,
            distrusted: &distrusted,
            deadline: Deadline::When(&is_over),
            answer: unasked.as_deref().map(SummaryAnswer::Nothing),
        };
        let engine = self.engine.get();
        let mut plan = py.detach(|| {
            let idle = if hard { None } else { engine.engine.nothing_due(&self.reading, self.room)? };
            let plan = idle.map_or_else(|| engine.engine.plan(&self.reading, ask), Ok);
            plan.map_err(|error| error.in_list(&self.places))
        })?;
        plan.repairs = self.repaired.as_ref().map(|repaired| repaired.what.clone()).unwrap_or_default();
        engine.counting.compacting();
        // Every plan for these messages has the same fingerprint.
        let _ = self.fingerprint.set(plan.fingerprint);
        Ok(PyPlan(plan))
    }

    fn request<'py>(&self, py: Python<'py>, plan: &PyPlan) -> PyResult<Option<Bound<'py, PyAny>>> {
        if plan.0.pending.is_none() {
            return Ok(None);
        }
        self.require(&plan.0)?;
        let engine = &self.engine.get().engine;
        let request = py.detach(|| engine.request(&plan.0, &self.reading.conversation));
        Ok(request.map(|request| pythonize(py, &request)).transpose()?)
    }

    #[pyo3(signature = (plan, text, *, reason))]
    fn resume(
        &self,
        py: Python<'_>,
        plan: &PyPlan,
        text: Option<&Bound<'_, PyString>>,
        reason: &Bound<'_, PyString>,
    ) -> PyResult<PyPlan> {
        self.require(&plan.0)?;
        let (text, reason) = (text.map(PyText::of), PyText::of(reason));
        let answer = text.as_deref().map_or(SummaryAnswer::Nothing(&reason), SummaryAnswer::Text);
        let engine = &self.engine.get().engine;
        Ok(PyPlan(py.detach(|| engine.resume(&plan.0, &self.reading.conversation, answer))))
    }

    /// Returns the content that a plan removes. A plan for fewer messages applies to the first of them.
    fn artifacts<'py>(&self, py: Python<'py>, plan: &PyPlan) -> PyResult<Vec<ToStore<'py>>> {
        let (list, count) = (self.list.bind(py), plan.0.spans.count());
        if count < list.len() {
            return plan.artifacts(list.get_slice(0, count).as_any());
        }
        self.require(&plan.0)?;
        PyNode::reading(list, |node| to_store(py, &plan.0, &self.reading.conversation, node))
    }

    /// Applies a plan to `messages`, which must be unchanged since they were read.
    fn apply<'py>(&self, plan: &PyPlan, messages: &Bound<'py, PyList>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let Some(repaired) = &self.repaired else { return plan.apply(messages.as_any()) };
        let now = self.engine.get().read_as(messages.as_any(), self.reading.format, &[])?;
        if fingerprint(&now.conversation) != repaired.fingerprint {
            return Err(Error::Changed.into());
        }
        Ok(self.rewritten(messages.py(), &plan.0)?.into_iter().map(|entry| entry.value).collect())
    }

    /// Returns the number of messages before any repair.
    #[getter]
    fn count(&self, py: Python<'_>) -> usize {
        self.repaired.as_ref().map_or_else(|| self.list.bind(py).len(), |repaired| repaired.count)
    }

    #[getter]
    fn is_repaired(&self) -> bool {
        self.repaired.is_some()
    }

    #[getter]
    fn messages(&self, py: Python<'_>) -> Py<PyList> {
        self.list.clone_ref(py)
    }
}

/// Returns the room for the messages of a request.
pub fn room(budget: Option<Amount>, fixed: usize) -> Room {
    Room { budget: budget.map(|Amount(tokens)| tokens), fixed, ..Room::default() }
}
