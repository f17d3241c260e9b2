//! `View`: the messages that a model sees of a growing history of Python objects.

mod contents;
mod history;
mod index;
mod known;
mod request;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyList;
use pythonize::{depythonize, pythonize};

use super::append_only::{Counted, Settled};
use super::counting::History as Promise;
use super::engine::{PyEngine, indices};
use super::node::PyNode;
use super::reading::{PyReading, room};
use super::text::PyText;
use super::whole::Amount;
use crate::economics::{Removal, Savings, SentRequest};
use crate::engine::{Past, Reading, Room, before_answer, require_entry};
use crate::invariants::Pairs;
use crate::message::{Conversation, Pin, Role};
use crate::shared::Locked;
use crate::validity::{OpenCalls, repair, validate};
use crate::view;
use crate::view::{Compaction, Prefixes, State, Units, View, not_a_state, of_another};
use crate::wire::{self, Change, Piece, Rewritten};
use history::{History, Made, shown};
pub use index::{PyViewIndex, PyViewLookup};
use known::{Histories, KnownHistory, Ready, Shows};
pub use request::PyViewRequest;
use request::{Due, outputs};

/// This many of the newest calls without a result are pinned: an agent may wait for approvals and long-running tools.
/// Older calls were interrupted, and will not get a result.
const AWAITED: usize = 8;

#[pyclass(frozen, name = "View", module = "ullage._core")]
pub struct PyView {
    engine: Py<PyEngine>,
    view: Locked<View<Made>>,
    /// Number of compactions so far.
    compactions: AtomicUsize,
    /// True if the view was restored and no request has confirmed that it belongs to this history.
    is_unproven: AtomicBool,
    histories: Histories,
    /// The last request.
    sent: Locked<Option<Sent>>,
    promise: Promise,
}

/// A request that was returned to the host.
#[derive(Debug, Clone, Copy)]
struct Sent {
    counted: Counted,
    /// Tokens of the messages of the request before, as the history shows it; 0 if there was none.
    before: usize,
    removal: Removal,
    /// True if the provider's count is known.
    is_reported: bool,
}

impl fmt::Debug for PyView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").finish_non_exhaustive()
    }
}

#[pymethods]
impl PyView {
    #[new]
    #[pyo3(signature = (engine, state, messages, *, append_only))]
    fn new(
        engine: Py<PyEngine>,
        state: Option<&Bound<'_, PyAny>>,
        messages: Vec<Py<PyAny>>,
        append_only: bool,
    ) -> PyResult<PyView> {
        let view = match state {
            None => View::default(),
            Some(state) => {
                let state: State = depythonize(state).map_err(|error| not_a_state(&error.to_string()))?;
                let messages: Vec<Made> = messages.into_iter().map(Arc::new).collect();
                View::restored(&state, |place| messages.get(place).cloned())?
            }
        };
        Ok(PyView {
            engine,
            view: Locked::new(view),
            compactions: AtomicUsize::new(0),
            is_unproven: AtomicBool::new(state.is_some()),
            histories: Histories::default(),
            sent: Locked::default(),
            promise: Promise::of(append_only),
        })
    }

    /// Returns the request for a history that continues the last one, if it needs neither repair nor compaction; `None`
    /// if the whole history must be read to know.
    #[pyo3(signature = (history, *, budget, fixed))]
    fn next(&self, history: &Bound<'_, PyAny>, budget: Option<Amount>, fixed: usize) -> PyResult<Option<Py<PyList>>> {
        let Ok(history) = history.cast::<PyList>() else { return Ok(None) };
        self.continued(&history.get_slice(0, history.len()), self.room(budget, fixed))
    }

    /// Returns the request for a history: ready to send, or to be compacted first.
    ///
    /// With `hard` it does not wait for the high mark. If `is_sent` is false, the view does not count it as sent.
    #[pyo3(signature = (history, *, budget, fixed, pins, transient, hard, is_sent))]
    #[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)] // A list arrives as a `Vec`; keywords in Python.
    fn request(
        slf: &Bound<'_, PyView>,
        history: &Bound<'_, PyAny>,
        budget: Option<Amount>,
        fixed: usize,
        pins: Vec<Bound<'_, PyAny>>,
        transient: Vec<Bound<'_, PyAny>>,
        hard: bool,
        is_sent: bool,
    ) -> PyResult<PyViewRequest> {
        let list = PyList::empty(slf.py());
        list.call_method1("extend", (history,))?;
        let (pins, transient) = (indices(&pins)?, indices(&transient)?);
        let room = slf.get().room(budget, fixed);
        let history = History::of(&list, &transient)?;
        for pin in &pins {
            require_entry(*pin, list.len())?;
        }
        PyView::whole(slf, &history, room, &pins, hard, is_sent)
    }

    /// Learns from the answer to the last request: the provider's count, and the part read from its cache. Returns true if
    /// the counter learned something, and what the request adds to the savings.
    #[pyo3(signature = (reported, *, cached))]
    fn observe<'py>(
        &self,
        py: Python<'py>,
        reported: Amount,
        cached: Option<Amount>,
    ) -> PyResult<(bool, Option<Bound<'py, PyAny>>)> {
        let (learned, added) = self.learn(reported, cached.map(|Amount(cached)| cached));
        Ok((learned, added.map(|added| pythonize(py, &added)).transpose()?))
    }

    /// The requests with reported tokens, beside those of doing nothing.
    #[getter]
    fn savings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.view.lock().savings())?)
    }

    /// The use of the provider's prompt cache.
    #[getter]
    fn cache<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.view.lock().cache())?)
    }

    /// Notes that the last request was accepted.
    fn accepted(&self) {
        self.view.lock().answered();
    }

    /// Notes that the last request was refused, with the provider's count if it is known.
    #[pyo3(signature = (tokens))]
    fn refused(&self, tokens: Option<Amount>) {
        let Some(Sent { counted: sent, .. }) = *self.sent.lock() else { return };
        if let Some(Amount(tokens)) = tokens {
            self.engine.get().counting.ledger.observe(sent.beginning, sent.unscaled, tokens);
        }
        self.view.lock().refused(sent.total);
    }

    /// Returns another view with the same decisions.
    fn fork(&self, py: Python<'_>) -> PyView {
        PyView {
            engine: self.engine.clone_ref(py),
            view: Locked::new(self.view.lock().clone()),
            compactions: AtomicUsize::new(0),
            is_unproven: AtomicBool::new(false),
            histories: Histories::default(),
            sent: Locked::default(),
            promise: self.promise,
        }
    }

    /// Returns the places in a history where a request was made: before each answer of the model.
    fn requests(&self, history: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let engine = self.engine.get();
        let (format, _) = engine.demands_of(history)?;
        let conversation = engine.read_as(history, format, &[])?.conversation;
        let answers = (1..conversation.messages.len()).filter(|message| {
            let roles = [message - 1, *message].map(|message| conversation.messages[message].role);
            roles[0] != Role::Assistant && roles[1] == Role::Assistant
        });
        Ok(answers.map(|message| conversation.entry(message)).collect())
    }

    /// Releases the last requests. Decisions stay.
    fn release(&self) {
        self.histories.clear();
    }

    #[getter]
    fn ceiling(&self) -> Option<usize> {
        self.view.lock().ceiling()
    }

    #[setter]
    fn set_ceiling(&self, ceiling: Option<usize>) {
        self.view.lock().set_ceiling(ceiling);
    }

    /// Returns the tokens of the last request's messages.
    #[getter]
    fn sent(&self) -> Option<usize> {
        self.sent.lock().map(|sent| sent.counted.total)
    }

    /// Returns the view as data, and its messages that are not in the history.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Vec<Py<PyAny>>)> {
        let (mut messages, mut places) = (Vec::new(), HashMap::new());
        let state = self.view.lock().state(|made| {
            *places.entry(Arc::as_ptr(made)).or_insert_with(|| {
                messages.push(Arc::clone(made));
                messages.len() - 1
            })
        });
        Ok((pythonize(py, &state)?, messages.iter().map(|made| made.clone_ref(py)).collect()))
    }
}

impl PyView {
    /// Learns from a report for the last request. The first one is added to the savings.
    fn learn(&self, reported: Amount, cached: Option<usize>) -> (bool, Option<Savings>) {
        let mut view = self.view.lock();
        view.answered();
        let mut last = self.sent.lock();
        let Some(sent) = last.as_mut() else { return (false, None) };
        let engine = self.engine.get();
        let learned = engine.counting.observe(sent.counted, reported);
        if std::mem::replace(&mut sent.is_reported, true) {
            return (learned, None);
        }
        let request = sent.counted.sent(reported.0, cached, learned);
        let added = view.reported(SentRequest { before: sent.before, removal: sent.removal, ..request });
        engine.engine.saved(added);
        (learned, Some(added))
    }

    /// Notes the last request. Changes before it count as long as no report says that the provider knows them.
    fn send(&self, counted: Counted, before: usize, removal: Removal) {
        let mut sent = self.sent.lock();
        let earlier = sent.filter(|sent| !sent.is_reported).map(|sent| sent.removal).unwrap_or_default();
        *sent = Some(Sent { counted, before, removal: removal.after(earlier), is_reported: false });
    }

    /// Returns the room that a request may use.
    fn room(&self, budget: Option<Amount>, fixed: usize) -> Room {
        let view = self.view.lock();
        let (ceiling, is_first, is_cached) = (view.ceiling(), !view.is_answered(), Some(view.cache().is_used()));
        Room { ceiling, has_marks: true, is_first, is_cached, ..room(budget, fixed) }
    }

    /// Returns the request for a history that continues the last one and needs neither repair nor compaction. O(new
    /// messages), and one pointer for each of the others.
    fn continued(&self, history: &Bound<'_, PyList>, room: Room) -> PyResult<Option<Py<PyList>>> {
        let Some(mut known) = self.histories.take(history) else { return Ok(None) };
        let ready = known.take(room.budget, self.compactions.load(Ordering::Acquire));
        if !known.follow(history)? {
            return Ok(None);
        }
        let ready = ready.map(|ready| self.appended(ready, history, room)).transpose()?.flatten();
        let request = ready.map(|ready| {
            self.send(ready.counted, ready.before, Removal { removed: ready.shows.removed, ..Removal::default() });
            let list = ready.list.bind(history.py());
            let request = list.get_slice(0, list.len()).unbind();
            known.put(ready);
            request
        });
        self.histories.keep(known);
        Ok(request)
    }

    /// Returns a request with the newest messages of a history at its end; `None` if it needs repair or compaction.
    fn appended(&self, ready: Ready, history: &Bound<'_, PyList>, room: Room) -> PyResult<Option<Ready>> {
        let list = ready.list.bind(history.py());
        let new = history.get_slice(ready.entries, history.len());
        list.set_slice(list.len(), list.len(), new.as_any())?;
        let rest = list.get_slice(ready.counted.settled.entries, list.len());
        let engine = self.engine.get();
        let counter = engine.counting.ledger.now();
        let size = engine.counting.continued(ready.counted, &rest, counter, OpenCalls::Answer)?;
        let Some(size) = size.filter(|size| size.is_valid) else { return Ok(None) };
        let left = size.scaled(ready.shows.left);
        let is_idle = engine.engine.idle(size.total, left, list.len(), size.beginning, room)?.is_some();
        // A request that is made once more follows the same one as the first time.
        let is_again = ready.entries == history.len();
        let before = if is_again { ready.before } else { ready.counted.total };
        Ok(is_idle.then(|| Ready { entries: history.len(), counted: size, before, ..ready }))
    }

    /// Reads the new messages of a history. Returns the reading if it covers the whole history.
    fn read(&self, known: &mut KnownHistory, history: &Bound<'_, PyList>) -> PyResult<Option<Reading<PyText>>> {
        let engine = self.engine.get();
        let count = known.prefixes.len();
        if count > 0 {
            let new = history.get_slice(count, history.len());
            if new.is_empty() {
                return Ok(None);
            }
            // Messages that cannot be read alone are read with the rest, because that error has their indices.
            if let Ok(reading) = engine.read_as(new.as_any(), known.format, &[]) {
                known.read(&reading.conversation);
                return Ok(None);
            }
            (known.prefixes, known.asked) = (Prefixes::default(), None);
        }
        let reading = engine.read_as(history.as_any(), known.format, &[])?;
        known.read(&reading.conversation);
        Ok(Some(reading))
    }

    /// Returns the request for any history. O(length of the history) at memory speed.
    fn whole(
        handle: &Bound<'_, PyView>,
        history: &History<'_>,
        room: Room,
        pins: &[usize],
        hard: bool,
        is_sent: bool,
    ) -> PyResult<PyViewRequest> {
        let (py, own) = (handle.py(), handle.get());
        let engine = own.engine.get();
        let mut compactions = own.compactions.load(Ordering::Acquire);
        let (format, demands) = engine.demands_of(&history.all)?;
        let known = own.histories.take(&history.lasting).filter(|known| known.format == format);
        let mut known = known.map_or_else(|| KnownHistory::new(py, format, own.promise), Ok)?;
        let is_noticed = known.follow(&history.lasting)?;
        let reading = own.read(&mut known, &history.lasting)?;
        let (prefixes, asked) = (known.prefixes.clone(), known.asked);
        let mut forgotten = None;
        let (Compaction { pieces, left: unscaled, removed, account, .. }, since) = {
            let mut view = own.view.lock();
            // A conversation that starts over is still the same conversation.
            if own.is_unproven.load(Ordering::Acquire) && known.is_answered && view.is_of_another(&prefixes) {
                return Err(of_another().into());
            }
            own.is_unproven.store(false, Ordering::Release);
            view.update(&prefixes);
            let view::Request { compaction, entries, is_cut } = view.request(room.budget, &prefixes, asked);
            if is_cut && is_sent {
                forgotten = Some(view.compacted(room.budget, compaction.clone(), &prefixes));
                // A remembered request may show another compaction of the same history.
                compactions = own.compactions.fetch_add(1, Ordering::AcqRel) + 1;
            }
            (compaction, entries)
        };
        // After the lock, because dropping the last reference to a message may run code of the host.
        drop(forgotten);
        let is_untouched = pieces.is_empty() && history.transient.is_empty();
        let mut units = Units::of(pieces, prefixes.len(), history.transient());
        let mut list = history.lasting.clone();
        if !is_untouched {
            list = shown(&history.lasting, &units)?;
        }
        let reading = reading.filter(|_| is_untouched);
        let mut reading = reading.map_or_else(|| engine.read_as(list.as_any(), format, &[]), Ok)?;
        let (mut repairs, mut awaited, mut is_made) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_lasting = history.transient.is_empty();
        if !validate(&reading.conversation, &demands).is_empty() {
            let repaired = repair(&reading.conversation, &demands, OpenCalls::Answer);
            let rewrite = |node: &_| wire::rewrite(node, &reading.conversation, format, &repaired.changes);
            let entries = PyNode::reading(&list, rewrite)?;
            awaited = open_calls(&reading.conversation, &repaired.changes, &entries);
            is_made = entries.iter().map(|entry| !entry.is_same).collect();
            // If several calls share an id, later messages decide which of them gets a result.
            is_lasting &= Pairs::of(&reading.conversation).repeated().is_empty();
            repairs = repaired.repairs.into_iter().map(|done| done.what).collect();
            units = units.repaired(outputs(entries));
            list = shown(&history.lasting, &units)?;
            reading = engine.read_as(list.as_any(), format, &[])?;
        }
        let mut pinned = waiting(&reading.conversation, &awaited, &is_made);
        let mut place = 0;
        for unit in units.iter() {
            let places = place..place + unit.shows.len();
            place = places.end;
            if unit.is_transient || pins.iter().any(|pin| unit.stands_for.contains(&history.lasting_place(*pin))) {
                pinned.extend(places.filter_map(|place| reading.conversation.message_of(place)));
            }
        }
        for message in pinned {
            reading.conversation.messages[message].pin = Pin::Pinned;
        }
        let (counted, before) = own.count(py, &reading);
        let left = counted.scaled(unscaled);
        let is_idle = engine.engine.idle(counted.total, left, list.len(), counted.beginning, room)?.is_some();
        let limit = engine.engine.limit(room, counted.beginning)?;
        let is_due = hard || !is_idle;
        if is_sent {
            own.send(counted, before, Removal { removed, ..Removal::default() });
        }
        // A request that will be compacted is not continued.
        if is_sent && !is_due && is_lasting {
            let shows = Shows { budget: room.budget, left: unscaled, removed, compactions };
            known.keep(shows, &units, &list, (counted, before));
        }
        if is_noticed {
            own.histories.keep(known);
        }
        let list = list.unbind();
        let due = is_due.then(|| {
            let places = history.places(&units);
            let known = units.iter().take_while(|unit| since > 0 && unit.stands_for.start <= since);
            let past = Past { account, removed, entries: known.map(|unit| unit.shows.len()).sum() };
            let room = Room { past, ..room };
            let reading = PyReading::new(own.engine.clone_ref(py), list.clone_ref(py), reading, room, None, places);
            let view = handle.clone().unbind();
            let (history, reading) = (history.lasting.clone().unbind(), Py::new(py, reading)?);
            PyResult::Ok(Due { view, history, is_lasting, reading, units, prefixes, asked, room, hard, limit, counted })
        });
        Ok(PyViewRequest { list, repairs, tokens: counted.total, due: due.transpose()? })
    }

    /// Returns the counts of a request, and the tokens of the request before the model's last answer.
    fn count(&self, py: Python<'_>, reading: &Reading<PyText>) -> (Counted, usize) {
        let counter = self.engine.get().counting.ledger.now();
        let measured = py.detach(|| counter.measure(&reading.conversation));
        let settled = Settled::of(&reading.conversation, &measured);
        let before = before_answer(&reading.conversation, &measured);
        (Counted { settled, ..Counted::of(&measured, counter.scale(), reading.format) }, before)
    }
}

/// True if requests with these budgets share their compactions.
#[pyfunction]
pub fn share_compactions(one: Amount, other: Amount) -> bool {
    view::share_compactions(Some(one.0), Some(other.0))
}

/// Returns the messages with waiting calls, and their placeholder results. Each request has them until the real result
/// arrives.
fn waiting(conversation: &Conversation<PyText>, awaited: &[usize], is_made: &[bool]) -> Vec<usize> {
    let mut messages: Vec<usize> = awaited.iter().filter_map(|place| conversation.message_of(*place)).collect();
    if !messages.is_empty() {
        let pairs = Pairs::of(conversation);
        let waits = pairs.calls().iter().filter(|call| messages.contains(&call.message));
        let answers = waits.filter_map(|call| call.result).map(|(message, _)| message);
        messages.extend(answers.filter(|message| is_made[conversation.entry(*message)]).collect::<Vec<_>>());
    }
    messages
}

/// Returns the positions, in a repaired list, of the newest calls whose only result came from the repair.
fn open_calls(
    conversation: &Conversation<PyText>,
    changes: &[Change<'_>],
    entries: &[Rewritten<Bound<'_, PyAny>>],
) -> Vec<usize> {
    let pieces = changes.iter().rev().flat_map(|change| match change {
        Change::Compose { pieces, .. } => &pieces[..],
        _ => &[],
    });
    let calls = pieces.filter_map(|piece| match piece {
        Piece::Answer { message, part, .. } => Some(conversation.messages[*message].span.entry_of(*part).0),
        _ => None,
    });
    let place = |call: usize| entries.iter().position(|entry| entry.of.contains(&call));
    calls.take(AWAITED).filter_map(place).collect()
}
