//! Builds Python objects: shallow copies with changed fields, and new objects.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString};

use super::{PyNode, name};
use crate::bindings::pending_exception::host_error;
use crate::error::Result;
use crate::wire::{Build, Key, Kind, Node, UNITED};

/// The changed fields of a copy. A field without a value is removed.
type Fields<'py> = Vec<(Bound<'py, PyString>, Option<Bound<'py, PyAny>>)>;

fn set_items(dict: &Bound<'_, PyDict>, fields: Fields<'_>) -> PyResult<()> {
    for (name, value) in fields {
        match value {
            Some(value) => dict.set_item(name, value)?,
            None if dict.contains(&name)? => dict.del_item(name)?,
            None => {}
        }
    }
    Ok(())
}

/// Returns a shallow copy of a dict or object, of the same class, with changed fields.
fn copied<'py>(object: &Bound<'py, PyAny>, fields: Fields<'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    // A subclass of dict is copied as that subclass, below.
    if let Ok(dict) = object.cast_exact::<PyDict>() {
        let copy = dict.copy()?;
        set_items(&copy, fields)?;
        return Ok(copy.into_any());
    }
    if let Some(model_copy) = object.getattr_opt("model_copy")? {
        let update = PyDict::new(py);
        for (name, value) in fields {
            update.set_item(name, value)?;
        }
        let arguments = PyDict::new(py);
        arguments.set_item("update", update)?;
        return model_copy.call((), Some(&arguments));
    }
    let copy = py.import("copy")?.call_method1("copy", (object,))?;
    match copy.cast::<PyDict>() {
        Ok(dict) => set_items(dict, fields)?,
        Err(_) => fields.into_iter().try_for_each(|(name, value)| copy.setattr(name, value))?,
    }
    Ok(copy)
}

/// Adds the fields of another dict that this one does not have, except for the named ones.
fn unite(into: &Bound<'_, PyDict>, other: &Bound<'_, PyAny>, levels: usize, named: &[Key]) -> PyResult<()> {
    let Ok(other) = other.cast::<PyDict>() else { return Ok(()) };
    for (field, value) in other.copy()? {
        if named.iter().any(|key| field.eq(name(into.py(), *key)).unwrap_or(false)) {
            continue;
        }
        match into.get_item(&field)?.filter(|own| !own.is_none()) {
            None => into.set_item(field, value)?,
            Some(own) if levels > 1 && own.is_instance_of::<PyDict>() && value.is_instance_of::<PyDict>() => {
                let own = own.cast::<PyDict>()?.copy()?;
                unite(&own, &value, levels - 1, &[])?;
                into.set_item(field, own)?;
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn new_dict<'py>(py: Python<'py>, entries: Vec<(Key, Bound<'py, PyAny>)>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    entries.into_iter().try_for_each(|(key, value)| dict.set_item(name(py, key), value))?;
    Ok(dict)
}

impl<'py> Build for PyNode<'py> {
    type Out = Bound<'py, PyAny>;

    fn keep(&self) -> Self::Out {
        self.0.clone()
    }

    fn united(&self, fields: Vec<(Key, Option<Self::Out>)>, others: &[Self]) -> Result<Self::Out> {
        let keys: Vec<Key> = fields.iter().map(|(key, _)| *key).collect();
        let build = || {
            let named = fields.into_iter().map(|(key, value)| (name(self.0.py(), key).clone(), value));
            let copy = copied(&self.0, named.collect())?;
            if let Ok(dict) = copy.cast::<PyDict>() {
                others.iter().try_for_each(|other| unite(dict, &other.0, UNITED, &keys))?;
            }
            Ok(copy)
        };
        build().map_err(|e: PyErr| host_error(&e))
    }

    fn with_fields(&self, fields: Vec<(&str, Self::Out)>) -> Result<Self::Out> {
        let named = fields.into_iter().map(|(name, value)| (PyString::new(self.0.py(), name), Some(value)));
        copied(&self.0, named.collect()).map_err(|e| host_error(&e))
    }

    fn list(&self, items: Vec<Self::Out>) -> Result<Self::Out> {
        PyList::new(self.0.py(), items).map(Bound::into_any).map_err(|e| host_error(&e))
    }

    fn truth(&self, value: bool) -> Self::Out {
        PyBool::new(self.0.py(), value).to_owned().into_any()
    }

    fn string(&self, text: &str) -> Self::Out {
        PyString::new(self.0.py(), text).into_any()
    }

    fn map(&self, entries: Vec<(Key, Self::Out)>) -> Result<Self::Out> {
        new_dict(self.0.py(), entries).map(Bound::into_any).map_err(|e| host_error(&e))
    }

    fn map_like(&self, entries: Vec<(Key, Self::Out)>) -> Result<Self::Out> {
        let build = || {
            let fields = new_dict(self.0.py(), entries)?;
            let is_object = self.kind() == Kind::Map && !self.0.is_instance_of::<PyDict>();
            if is_object { self.0.get_type().call((), Some(&fields)) } else { Ok(fields.into_any()) }
        };
        build().map_err(|e| host_error(&e))
    }
}
