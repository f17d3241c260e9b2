//! Exceptions that the host's own code raises while messages are read.
//!
//! A node says whether it has a field, and cannot fail. What an attribute raises is kept aside while reading goes on, and is
//! raised in place of whatever was read: an interrupt ends the program of the host, not a field of its message. An ordinary
//! exception is raised as the cause of a `MessageError`.

use std::cell::RefCell;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::error::{Error, Result};

thread_local! {
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps the first exception until it is raised.
pub fn keep(error: PyErr) {
    RAISED.with_borrow_mut(|raised| {
        raised.get_or_insert(error);
    });
}

/// The exception that was kept.
pub fn take() -> Option<PyErr> {
    RAISED.take()
}

/// True if something is kept: then nothing that was read is to be used.
///
/// # Errors
/// `Conversation`, which becomes the exception itself in Python.
pub fn nothing_raised() -> Result<()> {
    if RAISED.with_borrow(Option::is_some) { Err(unusable("its attributes cannot be read")) } else { Ok(()) }
}

/// An exception of the host while one of its values was read or built. What is no ordinary one is raised as itself.
pub fn host_error(error: &PyErr) -> Error {
    Python::attach(|py| {
        if !error.is_instance_of::<PyException>(py) {
            keep(error.clone_ref(py));
        }
    });
    unusable(error)
}

/// The error about a value that cannot be used.
pub fn unusable(why: impl std::fmt::Display) -> Error {
    Error::Conversation {
        problem: format!("a value of a message cannot be used: {why}"),
        remedy: "give plain dicts, lists and strings".to_owned(),
    }
}
