//! Python integers, which have no bounds.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

/// An amount. A negative number counts as zero, and a number that is too large as the largest possible.
#[derive(Debug, Clone, Copy)]
pub struct Amount(pub usize);

impl<'py> FromPyObject<'_, 'py> for Amount {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Amount> {
        if object.is_instance_of::<PyBool>() || !object.is_instance_of::<PyInt>() {
            return Err(PyTypeError::new_err(format!("must be a whole number; got {}", described(object)?)));
        }
        match object.extract::<usize>() {
            Ok(number) => Ok(Amount(number)),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                Ok(Amount(if object.lt(0)? { 0 } else { usize::MAX }))
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns the value if it is short, or else its type.
fn described(object: Borrowed<'_, '_, PyAny>) -> PyResult<String> {
    /// A longer text says less about the mistake than the type.
    const LONGEST: usize = 30;
    let text = object.repr().map(|text| text.to_string_lossy().into_owned());
    match text {
        Ok(text) if text.len() <= LONGEST => Ok(text),
        _ => Ok(object.get_type().name()?.to_string()),
    }
}
