//! `Engine`.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use pythonize::pythonize;

use super::counter::PyTokenCounter;
use super::counting::{Counting, History};
use super::format::named_format;
use super::node::PyNode;
use super::plan::PyPlan;
use super::policy::PyPolicy;
use super::reading::{PyReading, Repaired, room};
use super::store::PyFileStore;
use super::text::PyText;
use super::whole::Amount;
use crate::economics::Prices;
use crate::engine::{Engine, Reading, Summarizer, SummaryRange, demands_of_messages};
use crate::error::Error;
use crate::invariants::Demand;
use crate::ledger::fingerprint;
use crate::planner::SummaryAnswer;
use crate::store::{Reference, Storing};
use crate::wire::{Format, rewrite};

/// The shrunk result or none, the contents to store first (reference and content), the tokens saved, and the references
/// that were accepted as ours.
type ShrunkResult<'py> = (Option<Bound<'py, PyAny>>, Vec<(String, Bound<'py, PyBytes>)>, usize, Vec<String>);

pub fn references(texts: &[String]) -> Result<Vec<Reference>, Error> {
    texts.iter().map(|text| Reference::parse(text)).collect()
}

#[pyclass(frozen, name = "Engine", module = "ullage._core")]
#[derive(Debug)]
pub struct PyEngine {
    pub engine: Engine,
    pub counting: Arc<Counting>,
    pub format: Option<Format>,
}

#[pymethods]
impl PyEngine {
    #[new]
    #[pyo3(signature = (policy, counter, *, store, format, summarizer = None, prices = None))]
    fn new(
        policy: &PyPolicy,
        counter: &PyTokenCounter,
        store: Option<&Bound<'_, PyAny>>,
        format: Option<&str>,
        summarizer: Option<&Bound<'_, PyAny>>,
        prices: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyEngine> {
        let storing = if store.is_some() { Storing::On } else { Storing::Off };
        let counting = Arc::clone(&counter.counting);
        let summarizer = if summarizer.is_some() { Summarizer::Present } else { Summarizer::Absent };
        let engine = Engine::new(policy.0.clone(), Arc::clone(&counting.ledger), storing)?.with_summarizer(summarizer);
        let engine = engine.with_prices(prices.map_or_else(|| Ok(Prices::default()), super::economics::prices)?)?;
        let engine = match store.and_then(|store| store.cast::<PyFileStore>().ok()) {
            Some(files) => engine.with_places(files.get().places()),
            None => engine,
        };
        Ok(PyEngine { engine, counting, format: format.map(named_format).transpose()? })
    }

    /// Reads messages once, for a plan and everything that follows from it.
    #[pyo3(signature = (messages, *, budget, fixed, pins))]
    #[allow(clippy::needless_pass_by_value)] // A list arrives as a `Vec`.
    fn read(
        slf: &Bound<'_, PyEngine>,
        messages: &Bound<'_, PyAny>,
        budget: Option<Amount>,
        fixed: usize,
        pins: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<PyReading> {
        let list = match (messages.cast::<PyList>(), messages.cast::<PyTuple>()) {
            (Ok(list), _) => Some(list.get_slice(0, list.len())),
            (_, Ok(tuple)) => Some(tuple.to_list()),
            _ => None,
        };
        // If it is not a list of messages, the error says so.
        let engine = slf.get();
        let read = list.as_ref().map_or(messages, |list| list.as_any()).clone();
        let mut pins = indices(&pins)?;
        let (format, demands) = engine.demands_of(&read)?;
        let mut reading = engine.read_as(&read, format, &pins)?;
        let mut list = list.unwrap_or_else(|| PyList::empty(slf.py()));
        let mut before = None;
        let mut places: Vec<Option<usize>> = (0..list.len()).map(Some).collect();
        if let Some(repaired) = engine.engine.repaired(&reading, &demands)? {
            let rewrite = |node: &_| rewrite(node, &reading.conversation, format, &repaired.changes);
            let entries = PyNode::reading(&read, rewrite)?;
            for pin in &mut pins {
                *pin = entries.iter().position(|entry| entry.of.contains(pin)).unwrap_or(usize::MAX);
            }
            pins.retain(|pin| *pin != usize::MAX);
            let what = repaired.repairs.into_iter().map(|repair| repair.what).collect();
            before = Some(Repaired { count: list.len(), fingerprint: fingerprint(&reading.conversation), what });
            places = entries.iter().map(|entry| entry.of.clone().next()).collect();
            list = PyList::new(slf.py(), entries.into_iter().map(|entry| entry.value))?;
            reading = engine.read_as(list.as_any(), format, &pins)?;
        }
        Ok(PyReading::new(slf.clone().unbind(), list.unbind(), reading, room(budget, fixed), before, places))
    }

    /// Returns the fields of a `SummaryRequest` for the messages from `start` to before `end`.
    #[pyo3(signature = (messages, start, end, *, pins, previous, previous_lines))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // As in `plan`.
    fn range_request<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        start: Amount,
        end: Amount,
        pins: Vec<Bound<'py, PyAny>>,
        previous: &Bound<'py, PyString>,
        previous_lines: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reading = self.reading(messages, &indices(&pins)?)?;
        let [previous, previous_lines] = [previous, previous_lines].map(PyText::of);
        let chosen = SummaryRange { entries: start.0..end.0, previous: &previous, previous_lines: &previous_lines };
        let request = py.detach(|| self.engine.request_for(&reading, &chosen))?;
        Ok(pythonize(py, &request)?)
    }

    /// Returns the summary of the messages from `start` to before `end`: `text`, or an account written without a model.
    /// The account states the reason.
    #[pyo3(signature = (messages, start, end, *, pins, previous, previous_lines, text, reason))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // As in `plan`.
    fn range_summary<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        start: Amount,
        end: Amount,
        pins: Vec<Bound<'py, PyAny>>,
        previous: &Bound<'py, PyString>,
        previous_lines: &Bound<'py, PyString>,
        text: Option<&Bound<'py, PyString>>,
        reason: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reading = self.reading(messages, &indices(&pins)?)?;
        let [previous, previous_lines, reason] = [previous, previous_lines, reason].map(PyText::of);
        let text = text.map(PyText::of);
        let answer = text.as_deref().map_or(SummaryAnswer::Nothing(&reason), SummaryAnswer::Text);
        let chosen = SummaryRange { entries: start.0..end.0, previous: &previous, previous_lines: &previous_lines };
        let summary = py.detach(|| self.engine.summary_of(&reading, &chosen, answer))?;
        Ok(pythonize(py, &summary)?)
    }

    /// Returns the report of a compaction with nothing to do, from the new messages alone; `None` if there is work to
    /// do.
    #[pyo3(signature = (messages, *, budget, fixed))]
    fn idle<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        budget: Option<Amount>,
        fixed: usize,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let counted = self.counting.count(messages, self.format, History::AppendOnly)?;
        if !counted.is_valid {
            return Ok(None);
        }
        let report = self.engine.idle(counted.total, 0, messages.len()?, counted.beginning, room(budget, fixed))?;
        Ok(report.map(|report| pythonize(py, &report)).transpose()?)
    }

    /// Learns from a report. Returns true if the counter learned something, and what the request adds to the savings.
    #[pyo3(signature = (messages, reported, *, cached, append_only))]
    fn observe<'py>(
        &self,
        messages: &Bound<'py, PyAny>,
        reported: Amount,
        cached: Option<Amount>,
        append_only: bool,
    ) -> PyResult<(bool, Bound<'py, PyAny>)> {
        let counted = self.counting.count(messages, self.format, History::of(append_only))?;
        let learned = self.counting.observe(counted, reported);
        let sent = counted.sent(reported.0, cached.map(|Amount(cached)| cached), learned);
        let added = self.engine.answered(counted.beginning, sent);
        Ok((learned, pythonize(messages.py(), &added)?))
    }

    #[pyo3(signature = (messages, *, budget, fixed))]
    fn status<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        budget: Option<Amount>,
        fixed: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reading = self.reading(messages, &[])?;
        let room = room(budget, fixed);
        let status = py.detach(|| self.engine.status(&reading, room))?;
        Ok(pythonize(py, &status)?)
    }

    #[pyo3(signature = (tool, result, *, salt, distrusted))]
    #[allow(clippy::needless_pass_by_value)] // A list arrives as a `Vec`.
    fn shrink<'py>(
        &self,
        tool: &Bound<'py, PyString>,
        result: &Bound<'py, PyAny>,
        salt: u64,
        distrusted: Vec<String>,
    ) -> PyResult<ShrunkResult<'py>> {
        let py = result.py();
        let tool = PyText::of(tool);
        let distrusted = references(&distrusted)?;
        let shrunk = PyNode::reading(result, |node| self.engine.shrink_result(&tool, node, salt, &distrusted))?;
        let artifacts = shrunk
            .artifacts
            .iter()
            .map(|(reference, content)| (reference.to_string(), PyBytes::new(py, content.as_bytes())))
            .collect();
        let relied_on = shrunk.relied_on.iter().map(ToString::to_string).collect();
        Ok((shrunk.result, artifacts, shrunk.saved, relied_on))
    }

    #[pyo3(signature = (system, tools))]
    fn fixed_tokens(&self, system: Option<&Bound<'_, PyAny>>, tools: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        Ok(self.counting.fixed_tokens(system, tools)?)
    }

    fn record_shrink(&self, saved: usize) {
        self.engine.record_shrink(saved);
    }

    fn record(&self, plan: &PyPlan) {
        self.counting.compacting();
        self.engine.record(&plan.0);
    }

    /// Notes that a plan was due, and does nothing.
    fn postponed(&self, plan: &PyPlan) {
        self.engine.postponed(&plan.0);
    }

    /// The requests so far of the conversation that a plan was made for; `None` if none was reported.
    fn savings<'py>(&self, py: Python<'py>, plan: &PyPlan) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.engine.savings(&plan.0).map(|savings| pythonize(py, &savings)).transpose()?)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.engine.stats())?)
    }
}

impl PyEngine {
    fn reading(&self, messages: &Bound<'_, PyAny>, pins: &[usize]) -> Result<Reading<PyText>, Error> {
        let reading = PyNode::reading(messages, |node| self.engine.read(node, self.format, pins))?;
        self.counting.recall(messages.py(), &reading.conversation);
        Ok(reading)
    }

    /// Returns the format of messages, and the rules of their provider.
    ///
    /// # Errors
    /// Those of [`demands_of_messages`].
    pub fn demands_of(&self, messages: &Bound<'_, PyAny>) -> Result<(Format, Vec<Demand>), Error> {
        PyNode::reading(messages, |node| demands_of_messages(node, self.format))
    }

    /// Reads messages in a known format.
    ///
    /// # Errors
    /// Those of [`Engine::read`].
    pub fn read_as(
        &self,
        messages: &Bound<'_, PyAny>,
        format: Format,
        pins: &[usize],
    ) -> Result<Reading<PyText>, Error> {
        let reading = PyNode::reading(messages, |node| self.engine.read(node, Some(format), pins))?;
        self.counting.recall(messages.py(), &reading.conversation);
        Ok(reading)
    }
}

/// Converts pins to indices. A value that cannot be an index becomes one beyond every list, and is refused as such.
pub fn indices(pins: &[Bound<'_, PyAny>]) -> PyResult<Vec<usize>> {
    let index = |pin: &Bound<'_, PyAny>| {
        let Amount(index) = pin.extract()?;
        Ok(if pin.lt(0)? { usize::MAX } else { index })
    };
    pins.iter().map(index).collect()
}
