//! The history that a view is asked about, and what a request shows of it.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::Made;
use crate::bindings::raised::host_error;
use crate::engine::require_entry;
use crate::error::Result as CoreResult;
use crate::view::{Shown, Units};

/// A history, and the messages among it that are for this request alone.
pub(super) struct History<'py> {
    pub all: Bound<'py, PyList>,
    pub lasting: Bound<'py, PyList>,
    /// With the number of entries of the history before each.
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

    /// The place in the lasting history of an entry of all of it.
    pub fn lasting_place(&self, place: usize) -> usize {
        place - self.transient.iter().enumerate().filter(|(index, (before, _))| before + index < place).count()
    }

    pub fn transient(&self) -> Vec<(usize, Made)> {
        self.transient.iter().map(|(before, entry)| (*before, Arc::new(entry.clone().unbind()))).collect()
    }
}

/// The messages that a request shows.
pub(super) fn shown<'py>(history: &Bound<'py, PyList>, units: &Units<Made>) -> PyResult<Bound<'py, PyList>> {
    let shown = units.shown().map(|shown| match shown {
        Shown::Entry(entry) => history.get_item(*entry),
        Shown::Made(message) => Ok(message.bind(history.py()).clone()),
    });
    PyList::new(history.py(), shown.collect::<PyResult<Vec<_>>>()?)
}
