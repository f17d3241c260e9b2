//! `ViewRequest`: the request that a view makes from a history.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::PyView;
use super::history::{Made, shown};
use super::known::Shows;
use crate::bindings::append_only::Counted;
use crate::bindings::plan::PyPlan;
use crate::bindings::reading::PyReading;
use crate::economics::{Account, Removal};
use crate::engine::Room;
use crate::view::{Compaction, Output, Prefixes, Units};
use crate::wire::{Format, Rewritten};

/// A request that must be compacted before it is sent.
pub(super) struct Due {
    pub view: Py<PyView>,
    /// The lasting history.
    pub history: Py<PyList>,
    /// True if it has no message for this request only, and all its calls have different ids.
    pub is_lasting: bool,
    pub reading: Py<PyReading>,
    pub units: Units<Made>,
    pub prefixes: Prefixes,
    /// Entry of the last request of a person.
    pub asked: Option<usize>,
    pub room: Room,
    /// True if the caller asked for the compaction.
    pub hard: bool,
    /// Tokens that the messages may take.
    pub limit: usize,
    /// The counts of the messages.
    pub counted: Counted,
}

#[pyclass(frozen, name = "ViewRequest", module = "ullage._core")]
pub struct PyViewRequest {
    /// The messages of the request so far.
    pub(super) list: Py<PyList>,
    /// The repairs that were made.
    pub(super) repairs: Vec<String>,
    /// Tokens of the request so far.
    pub(super) tokens: usize,
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

    #[getter]
    fn tokens(&self) -> usize {
        self.tokens
    }

    /// Returns the tokens that the messages may take, if the request must be compacted.
    #[getter]
    fn limit(&self) -> Option<usize> {
        self.due.as_ref().map(|due| due.limit)
    }

    /// Returns the positions in the request of messages that must stay unchanged.
    #[getter]
    fn pins(&self) -> Vec<usize> {
        self.due.as_ref().map(|due| due.reading.get().pins()).unwrap_or_default()
    }

    /// Converts positions in the request to places in the history, for errors. A message of ullage that stands for
    /// several messages has the place of the first.
    #[allow(clippy::needless_pass_by_value)] // A list arrives as a `Vec`.
    fn places(&self, messages: Vec<usize>) -> Vec<usize> {
        let Some(due) = &self.due else { return messages };
        messages.into_iter().filter_map(|message| due.reading.get().place(message)).collect()
    }

    /// Returns the reading to make a plan for, if the request must be compacted.
    #[getter]
    fn reading(&self, py: Python<'_>) -> Option<Py<PyReading>> {
        self.due.as_ref().map(|due| due.reading.clone_ref(py))
    }

    /// Applies a plan. Returns the messages to send, and remembers them.
    fn apply<'py>(&self, py: Python<'py>, plan: &PyPlan) -> PyResult<Bound<'py, PyList>> {
        let Some(due) = &self.due else { return Ok(self.list.bind(py).clone()) };
        if plan.0.edits.is_empty() {
            due.postponed();
            return Ok(self.list.bind(py).clone());
        }
        let entries = due.reading.get().rewritten(py, &plan.0)?;
        due.compacted(py, outputs(entries), plan.0.format, plan.0.unchanged, due.is_lasting)
    }

    /// Remembers the host's own compaction of this request. A message that is the same object replaces itself. New
    /// messages between two kept ones replace the entries that were removed there.
    fn replace<'py>(&self, py: Python<'py>, messages: &Bound<'py, PyList>) -> PyResult<()> {
        let Some(due) = &self.due else { return Ok(()) };
        let mut places: HashMap<*mut PyObject, VecDeque<usize>> = HashMap::new();
        for (place, message) in self.list.bind(py).iter().enumerate() {
            places.entry(message.as_ptr()).or_default().push_back(place);
        }
        let mut outputs: Vec<Output<Made>> = messages
            .iter()
            .map(|message| match places.get_mut(&message.as_ptr()).and_then(VecDeque::pop_front) {
                Some(place) => Output { of: place..place + 1, made: None },
                None => Output { of: 0..0, made: Some(Arc::new(message.unbind())) },
            })
            .collect();
        stand_for_gaps(&mut outputs, self.list.bind(py).len());
        let format = due.reading.get().format();
        // A list made by someone else may need a repair, so it is read again before a request continues it.
        due.compacted(py, outputs, format, 0, false).map(|_| ())
    }
}

impl Due {
    /// Remembers and returns the outcome of a compaction. `unchanged` tokens at its beginning are as before. The next request
    /// continues it if it `is_ready`.
    fn compacted<'py>(
        &self,
        py: Python<'py>,
        outputs: Vec<Output<Made>>,
        format: Format,
        unchanged: usize,
        is_ready: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let units = self.units.compacted(outputs, &self.prefixes);
        let (view, history) = (self.view.get(), self.history.bind(py));
        let list = shown(history, &units)?;
        let engine = view.engine.get();
        let reading = engine.read_as(list.as_any(), format, &[])?;
        let (counted, before) = view.count(py, &reading);
        let earlier = Removal { removed: self.room.past.removed, ..Removal::default() };
        let removal = earlier.and((self.counted.total, counted.total), unchanged, self.limit);
        let (left, removed) = (counted.unscaled, removal.removed);
        // Only the compactions of the window can be postponed, and need the account.
        let account = match self.room.budget {
            None => self.reading.get().account_after(py, counted.total, removal),
            Some(_) => Account::default(),
        };
        let compaction = Compaction { pieces: units.pieces(), left, asked: self.asked, removed, account };
        let forgotten = view.view.lock().compacted(self.room.budget, compaction, &self.prefixes);
        // After the lock, because dropping the last reference to a message may run code of the host.
        drop(forgotten);
        let compactions = view.compactions.fetch_add(1, Ordering::AcqRel) + 1;
        view.send(counted, before, removal);
        if is_ready && let Some(mut known) = view.histories.take(history) {
            let shows = Shows { budget: self.room.budget, left, removed, compactions };
            if known.len() == history.len() {
                known.keep(shows, &units, &list, (counted, before));
            }
            view.histories.keep(known);
        }
        Ok(list)
    }

    /// Remembers that the compaction waits.
    fn postponed(&self) {
        if !self.hard {
            let view = self.view.get();
            let forgotten = view.view.lock().postponed(self.room.budget, self.counted.unscaled, &self.prefixes);
            // After the lock, because dropping the last reference to a message may run code of the host.
            drop(forgotten);
            // A remembered request of another branch may wait for a compaction that this one has replaced.
            view.compactions.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// Makes the new messages between two unchanged ones replace, together, all entries removed there. Otherwise all but
/// the last would replace nothing, and would appear in every history that continues from there.
fn stand_for_gaps(outputs: &mut [Output<Made>], messages: usize) {
    let mut end = messages;
    let mut ends = vec![messages; outputs.len()];
    for (index, output) in outputs.iter().enumerate().rev() {
        if output.made.is_none() {
            end = output.of.start;
        }
        ends[index] = end;
    }
    let mut start = 0;
    for (output, end) in outputs.iter_mut().zip(ends) {
        if output.made.is_none() {
            start = start.max(output.of.end);
        } else if start < end {
            output.of = start..end;
        }
    }
}

/// Converts a rewritten list to the view's outputs.
pub(super) fn outputs(entries: Vec<Rewritten<Bound<'_, PyAny>>>) -> Vec<Output<Made>> {
    let made = |entry: &Rewritten<Bound<'_, PyAny>>| Arc::new(entry.value.clone().unbind());
    entries.into_iter().map(|entry| Output { made: (!entry.is_same).then(|| made(&entry)), of: entry.of }).collect()
}
