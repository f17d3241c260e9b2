//! One Python exception for each kind of error, all under `UllageError`.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::pending_exception;
use crate::error::{Error, SettingProblem};

create_exception!(ullage, UllageError, PyException, doc!("UllageError"));
create_exception!(ullage, BudgetError, UllageError, doc!("BudgetError"));
create_exception!(ullage, MessageError, UllageError, doc!("MessageError"));
create_exception!(ullage, MessagesChangedError, MessageError, doc!("MessagesChangedError"));
create_exception!(ullage, PolicyError, UllageError, doc!("PolicyError"));
create_exception!(ullage, SummaryError, UllageError, doc!("SummaryError"));
create_exception!(ullage, StoreError, UllageError, doc!("StoreError"));
create_exception!(ullage, ReferenceTakenError, StoreError, doc!("ReferenceTakenError"));

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        if let Some(raised) = pending_exception::take() {
            return of_host(raised);
        }
        let text = error.to_string();
        match error {
            Error::Budget { budget, floor, messages, .. } => {
                budget_error(text, budget, floor, messages.into_iter().map(|(message, _)| message).collect())
            }
            Error::NoRoom { taken, .. } => budget_error(text, 0, taken, Vec::new()),
            Error::Message { index, .. } => message_error(text, Some(index)),
            Error::Conversation { .. } => message_error(text, None),
            Error::Changed => {
                with_attributes(MessagesChangedError::new_err(text), |value| value.setattr("index", None::<usize>))
            }
            Error::Policy { setting, problem } => settings_error(text, vec![(setting, problem)]),
            Error::Settings { problems } => {
                settings_error(text, problems.into_iter().map(|wrong| (wrong.path, wrong.problem)).collect())
            }
            Error::Taken { .. } => ReferenceTakenError::new_err(text),
            Error::Store { .. } => StoreError::new_err(text),
        }
    }
}

/// Converts an exception that the host's code raised while a message was read. An ordinary exception becomes the cause
/// of a `MessageError`; an interrupt is passed on.
fn of_host(raised: PyErr) -> PyErr {
    Python::attach(|py| {
        if !raised.is_instance_of::<PyException>(py) {
            return raised;
        }
        let error = message_error(pending_exception::unusable(&raised).to_string(), None);
        error.set_cause(py, Some(raised));
        error
    })
}

fn settings_error(text: String, problems: Vec<(String, String)>) -> PyErr {
    with_attributes(PolicyError::new_err(text), |value| value.setattr("problems", PyTuple::new(value.py(), problems)?))
}

/// Returns the `PolicyError` about wrong settings that the Python package has read itself.
#[pyfunction]
pub fn policy_error(py: Python<'_>, problems: Vec<(String, String)>) -> Bound<'_, PyAny> {
    let problems = problems.into_iter().map(|(path, problem)| SettingProblem { path, problem }).collect();
    PyErr::from(Error::Settings { problems }).into_value(py).into_bound(py).into_any()
}

fn message_error(text: String, index: Option<usize>) -> PyErr {
    with_attributes(MessageError::new_err(text), |value| value.setattr("index", index))
}

fn budget_error(text: String, budget: usize, floor: usize, messages: Vec<usize>) -> PyErr {
    with_attributes(BudgetError::new_err(text), |value| {
        value.setattr("budget", budget)?;
        value.setattr("floor", floor)?;
        value.setattr("messages", messages)
    })
}

fn with_attributes(raised: PyErr, set: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) -> PyErr {
    Python::attach(|py| set(raised.value(py)).err().unwrap_or(raised))
}
