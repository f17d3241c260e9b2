//! The hooks that keep locks free while the interpreter forks.

use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

use crate::shared;

#[pyfunction]
fn before_fork() {
    // The interpreter lock stays held, so no other Python thread can take a lock before the fork.
    shared::before_fork();
}

#[pyfunction]
fn after_fork_in_parent() {
    shared::after_fork_in_parent();
}

#[pyfunction]
fn after_fork_in_child() {
    shared::after_fork_in_child();
}

/// Sleeps without the interpreter lock, because the forking thread needs it.
fn pause(time: Duration) {
    // `None` while the interpreter shuts down.
    if Python::try_attach(|py| py.detach(|| thread::sleep(time))).is_none() {
        thread::sleep(time);
    }
}

/// Registers the hooks with the interpreter, if the system has forks.
pub fn register(py: Python<'_>) -> PyResult<()> {
    shared::pause_by(pause);
    let Some(register) = PyModule::import(py, "os")?.getattr_opt("register_at_fork")? else { return Ok(()) };
    let hooks = PyDict::new(py);
    hooks.set_item("before", wrap_pyfunction!(before_fork, py)?)?;
    hooks.set_item("after_in_parent", wrap_pyfunction!(after_fork_in_parent, py)?)?;
    hooks.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, py)?)?;
    register.call((), Some(&hooks)).map(drop)
}
