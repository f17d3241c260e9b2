//! Exceptions that the host's code raises while messages are read.
//!
//! Reading a field of a node cannot fail. If an attribute raises, the exception is kept while reading goes on, and is
//! raised afterwards instead of a result. An interrupt is raised unchanged, because it ends the host's program. An
//! ordinary exception is raised as the cause of a `MessageError`.

use std::cell::RefCell;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::error::{Error, Result};

thread_local! {
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps the first exception until `take`.
pub fn keep(error: PyErr) {
    RAISED.with_borrow_mut(|raised| {
        raised.get_or_insert(error);
    });
}

/// Returns and clears the kept exception.
pub fn take() -> Option<PyErr> {
    RAISED.take()
}

/// Returns an error if an exception is kept. The values that were read must then not be used.
///
/// # Errors
/// `Conversation`, which becomes the kept exception in Python.
pub fn nothing_raised() -> Result<()> {
    if RAISED.with_borrow(Option::is_some) { Err(unusable("its attributes cannot be read")) } else { Ok(()) }
}

/// Converts an exception that the host raised while its value was read or built. An interrupt is raised unchanged.
pub fn host_error(error: &PyErr) -> Error {
    Python::attach(|py| {
        if !error.is_instance_of::<PyException>(py) {
            keep(error.clone_ref(py));
        }
    });
    unusable(error)
}

/// Returns the error about a value that cannot be used.
pub fn unusable(why: impl std::fmt::Display) -> Error {
    Error::Conversation {
        problem: format!("a value of a message cannot be used: {why}"),
        remedy: "give plain dicts, lists and strings".to_owned(),
    }
}
