//! The history of a request to a view, and the part that the request shows.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bindings::pending_exception::host_error;
use crate::engine::require_entry;
use crate::error::Result as CoreResult;
use crate::view::{ShownMessage, Units};

/// A message that is not in the history.
pub(super) type Made = Arc<Py<PyAny>>;

/// A history, and the messages in it that are for this request only.
pub(super) struct History<'py> {
    pub all: Bound<'py, PyList>,
    pub lasting: Bound<'py, PyList>,
    /// Each with the number of history entries before it.
    pub transient: Vec<(usize, Bound<'py, PyAny>)>,
}

impl<'py> History<'py> {
    pub fn of(all: &Bound<'py, PyList>, transient: &[usize]) -> CoreResult<History<'py>> {
        for place in transient {
            require_entry(*place, all.len())?;
        }
        if transient.is_empty() {
            return Ok(History { all: all.clone(), lasting: all.clone(), transient: Vec::new() });
        }
        let lasting = PyList::empty(all.py());
        let mut apart = Vec::new();
        for (place, entry) in all.iter().enumerate() {
            if transient.contains(&place) {
                apart.push((lasting.len(), entry));
            } else {
                lasting.append(entry).map_err(|error| host_error(&error))?;
            }
        }
        Ok(History { all: all.clone(), lasting, transient: apart })
    }

    /// Converts a place in the whole history to a place in the lasting history.
    pub fn lasting_place(&self, place: usize) -> usize {
        place - self.transient.iter().enumerate().filter(|(index, (before, _))| before + index < place).count()
    }

    /// Returns the index in the whole history of each message of a request. A message that replaces several has the
    /// index of the first; a message that replaces none has no index.
    pub fn places(&self, units: &Units<Made>) -> Vec<Option<usize>> {
        let before = |entry: usize| self.transient.partition_point(|(before, _)| *before < entry);
        let mut transient = 0;
        let places = units.iter().flat_map(|unit| {
            let start = unit.stands_for.start;
            let place = match (unit.stands_for.is_empty(), unit.is_transient) {
                (false, _) => Some(start + before(start + 1)),
                (true, true) => {
                    transient = before(start).max(transient) + 1;
                    Some(start + transient - 1)
                }
                (true, false) => None,
            };
            unit.shows.iter().map(move |_| place)
        });
        places.collect()
    }

    pub fn transient(&self) -> Vec<(usize, Made)> {
        self.transient.iter().map(|(before, entry)| (*before, Arc::new(entry.clone().unbind()))).collect()
    }
}

/// Returns the messages that a request shows.
pub(super) fn shown<'py>(history: &Bound<'py, PyList>, units: &Units<Made>) -> PyResult<Bound<'py, PyList>> {
    let shown = units.shown().map(|shown| match shown {
        ShownMessage::Entry(entry) => history.get_item(*entry),
        ShownMessage::Made(message) => Ok(message.bind(history.py()).clone()),
    });
    PyList::new(history.py(), shown.collect::<PyResult<Vec<_>>>()?)
}
