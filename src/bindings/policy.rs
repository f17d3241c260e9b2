//! `Policy`: settings as keyword arguments.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList};
use pythonize::{depythonize, pythonize};

use crate::error::Error;
use crate::policy::Policy;

fn read(settings: &Bound<'_, PyDict>, name: &str) -> Result<Policy, Error> {
    depythonize(settings).map_err(|error| Error::Policy { setting: name.to_owned(), problem: error.to_string() })
}

/// How deep the values of a setting are nested: its levels are a list of dicts, of which some values are lists.
const NESTING: usize = 3;

/// A true or false in the value of a setting, `nesting` levels deep at most: to Python it is the number 1 or 0.
fn truth_in<'py>(value: &Bound<'py, PyAny>, nesting: usize) -> Option<Bound<'py, PyAny>> {
    if value.is_instance_of::<PyBool>() {
        return Some(value.clone());
    }
    let inner = match (value.cast::<PyDict>(), value.cast::<PyList>()) {
        _ if nesting == 0 => return None,
        (Ok(dict), _) => dict.values(),
        (_, Ok(list)) => list.clone(),
        _ => return None,
    };
    inner.iter().find_map(|value| truth_in(&value, nesting - 1))
}

#[pyclass(frozen, eq, skip_from_py_object, name = "Policy", module = "ullage")]
#[derive(Debug, Clone, PartialEq)]
pub struct PyPolicy(pub Policy);

#[pymethods]
impl PyPolicy {
    #[new]
    #[pyo3(signature = (**settings))]
    fn new(settings: Option<&Bound<'_, PyDict>>) -> PyResult<PyPolicy> {
        let Some(settings) = settings else { return Ok(PyPolicy(Policy::default())) };
        // One by one first, so that an error names the setting.
        for (name, value) in settings {
            if let Some(truth) = truth_in(&value, NESTING) {
                let problem = format!("it is {truth}; no setting is true or false");
                return Err(Error::Policy { setting: name.to_string(), problem }.into());
            }
            let one = PyDict::new(settings.py());
            one.set_item(&name, value)?;
            read(&one, &name.to_string())?;
        }
        Ok(PyPolicy(read(settings, "settings")?.checked()?))
    }

    #[staticmethod]
    fn from_dict(settings: &Bound<'_, PyDict>) -> PyResult<PyPolicy> {
        PyPolicy::new(Some(settings))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        Ok((slf.get_type().getattr("from_dict")?, (slf.get().to_dict(slf.py())?,)))
    }

    #[staticmethod]
    fn preset(name: &str) -> PyResult<PyPolicy> {
        Ok(PyPolicy(Policy::preset(name)?))
    }

    // The package reads the environment, the core does not.
    #[staticmethod]
    #[pyo3(signature = (prefix = "ULLAGE_", environ = None))]
    fn from_env<'py>(py: Python<'py>, prefix: &str, environ: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        py.import("ullage.environment")?.call_method1("policy_from_env", (prefix, environ))
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0)?)
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let settings = self.to_dict(py)?;
        settings.get_item(name).map_err(|_| PyAttributeError::new_err(format!("a policy has no setting '{name}'")))
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
