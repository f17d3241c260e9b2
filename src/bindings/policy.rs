//! `Policy`: settings as keyword arguments.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::{depythonize, pythonize};

use crate::error::Error;
use crate::policy::Policy;

#[pyclass(frozen, eq, skip_from_py_object, name = "Policy", module = "ullage")]
#[derive(Debug, Clone, PartialEq)]
pub struct PyPolicy(pub Policy);

#[pymethods]
impl PyPolicy {
    #[new]
    #[pyo3(signature = (**settings))]
    fn new(settings: Option<&Bound<'_, PyDict>>) -> PyResult<PyPolicy> {
        let policy = match settings {
            None => Policy::default(),
            Some(settings) => depythonize(settings).map_err(|error| Error::Policy {
                setting: "settings".to_owned(),
                problem: error.to_string(),
            })?,
        };
        Ok(PyPolicy(policy.checked()?))
    }

    #[staticmethod]
    fn preset(name: &str) -> PyResult<PyPolicy> {
        Ok(PyPolicy(Policy::preset(name)?))
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0)?)
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let settings = self.to_dict(py)?;
        settings
            .get_item(name)
            .map_err(|_| PyAttributeError::new_err(format!("a policy has no setting '{name}'")))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let settings = self.to_dict(py)?;
        let mut parts = Vec::new();
        for entry in settings.cast::<PyDict>()?.items() {
            let (name, value): (String, Bound<'_, PyAny>) = entry.extract()?;
            parts.push(format!("{name}={}", value.repr()?));
        }
        Ok(format!("Policy({})", parts.join(", ")))
    }
}
