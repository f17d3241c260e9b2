//! One Python exception for each kind of error, all under `UllageError`.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::error::Error;

create_exception!(
    ullage,
    UllageError,
    PyException,
    "Base of everything that ullage raises."
);
create_exception!(
    ullage,
    BudgetError,
    UllageError,
    "The conversation cannot be brought inside its budget."
);
create_exception!(
    ullage,
    MessageError,
    UllageError,
    "A message, or the list of them, is not what its format asks for."
);
create_exception!(
    ullage,
    PolicyError,
    UllageError,
    "A setting is unknown, out of range, or contradicts another."
);
create_exception!(
    ullage,
    StoreError,
    UllageError,
    "A store could not write, read or find."
);

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        let text = error.to_string();
        match error {
            Error::Budget {
                budget,
                floor,
                messages,
                ..
            } => Python::attach(|py| {
                let raised = BudgetError::new_err(text);
                let value = raised.value(py);
                let set = value
                    .setattr("budget", budget)
                    .and_then(|()| value.setattr("floor", floor))
                    .and_then(|()| value.setattr("messages", messages));
                set.err().unwrap_or(raised)
            }),
            Error::NoRoom { .. } => BudgetError::new_err(text),
            Error::Message { index, .. } => Python::attach(|py| {
                let raised = MessageError::new_err(text);
                let set = raised.value(py).setattr("index", index);
                set.err().unwrap_or(raised)
            }),
            Error::Conversation { .. } => MessageError::new_err(text),
            Error::Policy { .. } => PolicyError::new_err(text),
            Error::Store { .. } => StoreError::new_err(text),
        }
    }
}
