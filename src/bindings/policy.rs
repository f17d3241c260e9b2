//! `Policy`: settings as keyword arguments.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyAnyMethods, PyBool, PyDict, PyMapping, PySequence, PyString};
use pythonize::pythonize;
use serde_json::Value;

use super::text::PyText;
use crate::policy::{Policy, Settings};

/// The maximum depth of a setting's value: levels are lists of dicts, and some values in them are lists.
const NESTING: usize = 3;

/// Returns settings by name. The core checks them, so a value that JSON does not have becomes a text that no setting
/// accepts.
fn settings_of(settings: &Bound<'_, PyDict>) -> Settings {
    settings.iter().map(|(name, value)| (text_of(&name), json_of(&value, NESTING))).collect()
}

fn json_of(value: &Bound<'_, PyAny>, nesting: usize) -> Value {
    if value.is_none() {
        Value::Null
    } else if let Ok(truth) = value.cast::<PyBool>() {
        Value::Bool(truth.is_true())
    } else if value.is_instance_of::<PyString>() {
        Value::String(text_of(value))
    } else if let Ok(number) = value.extract::<u64>() {
        number.into()
    } else if let Ok(number) = value.extract::<i64>() {
        number.into()
    } else if let Some(number) = value.extract().ok().and_then(serde_json::Number::from_f64) {
        number.into()
    } else {
        container_of(value, nesting).unwrap_or_else(|| Value::String(text_of(value)))
    }
}

/// Returns the value as a JSON list or object, if it is one.
fn container_of(value: &Bound<'_, PyAny>, nesting: usize) -> Option<Value> {
    let below = nesting.checked_sub(1)?;
    if let Ok(mapping) = value.cast::<PyMapping>() {
        let items = mapping.items().ok()?;
        let pairs = items.iter().filter_map(|item| item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().ok());
        return Some(pairs.map(|(name, value)| (text_of(&name), json_of(&value, below))).collect());
    }
    let elements = value.cast::<PySequence>().ok()?.to_list().ok()?;
    Some(elements.iter().map(|element| json_of(&element, below)).collect())
}

/// Returns a value as text, for an error.
fn text_of(value: &Bound<'_, PyAny>) -> String {
    value.str().map_or_else(|_| value.get_type().to_string(), |text| PyText::of(&text).to_string())
}

fn refuse_change(policy: &Bound<'_, PyPolicy>, name: &str) -> PyResult<()> {
    let class = policy.get_type();
    let class = class.name()?;
    Err(PyAttributeError::new_err(format!(
        "a {class} cannot be changed; make a new one with policy.replace({name}=...)"
    )))
}

#[doc = doc!("Policy")]
#[pyclass(frozen, eq, skip_from_py_object, name = "Policy", module = "ullage")]
#[derive(Debug, Clone, PartialEq)]
pub struct PyPolicy(pub Policy);

#[pymethods]
impl PyPolicy {
    #[new]
    #[pyo3(signature = (**settings))]
    fn new(settings: Option<&Bound<'_, PyDict>>) -> PyResult<PyPolicy> {
        PyPolicy(Policy::default()).replace(settings)
    }

    #[doc = doc!("Policy.from_dict")]
    #[staticmethod]
    fn from_dict(settings: &Bound<'_, PyDict>) -> PyResult<PyPolicy> {
        PyPolicy::new(Some(settings))
    }

    #[doc = doc!("Policy.replace")]
    #[pyo3(signature = (**changes))]
    fn replace(&self, changes: Option<&Bound<'_, PyDict>>) -> PyResult<PyPolicy> {
        Ok(PyPolicy(self.0.replace(changes.map(settings_of).unwrap_or_default())?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        Ok((slf.get_type().getattr("from_dict")?, (slf.get().to_dict(slf.py())?,)))
    }

    #[doc = doc!("Policy.preset")]
    #[staticmethod]
    fn preset(name: &str) -> PyResult<PyPolicy> {
        Ok(PyPolicy(Policy::preset(name)?))
    }

    #[doc = doc!("Policy.from_env")]
    // The Python package reads the environment; the core does not.
    #[staticmethod]
    #[pyo3(signature = (prefix = "ULLAGE_", environ = None))]
    fn from_env<'py>(py: Python<'py>, prefix: &str, environ: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        py.import("ullage._engine.environment")?.call_method1("policy_from_env", (prefix, environ))
    }

    #[doc = doc!("Policy.to_dict")]
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0)?)
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let settings = self.to_dict(py)?;
        settings.get_item(name).map_err(|_| PyAttributeError::new_err(format!("a policy has no setting '{name}'")))
    }

    fn __setattr__(slf: &Bound<'_, Self>, name: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        refuse_change(slf, name)
    }

    fn __delattr__(slf: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        refuse_change(slf, name)
    }

    fn __dir__(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        let mut names: Vec<String> = slf.get_type().dir()?.extract()?;
        for name in slf.get().to_dict(slf.py())?.try_iter()? {
            names.push(name?.extract()?);
        }
        Ok(names)
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
