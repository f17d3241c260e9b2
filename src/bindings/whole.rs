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
            let kind = object.get_type().name()?.to_string();
            return Err(PyTypeError::new_err(format!("a whole number is needed, not a {kind}")));
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
