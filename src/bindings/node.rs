//! Reads Python objects in place: dicts, or objects with attributes.

mod build;
mod render;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PySlice, PyString, PyTuple};

pub use render::plain;

use super::pending_exception;
use super::text::PyText;
use crate::error::{Error, Result as CoreResult};
use crate::media::{Content, Raw};
use crate::wire::{Bytes, Key, Kind, Node};
use render::render;

/// A Python object, seen as a node.
#[derive(Debug, Clone)]
pub struct PyNode<'py>(Bound<'py, PyAny>);

impl<'py> PyNode<'py> {
    /// Runs `read`, which reads an object of the host or builds another from it. This is the only way to get a node. If
    /// an attribute raised an exception meanwhile, the exception is the error, and nothing that was read is used.
    pub fn reading<T, E: From<Error>>(
        object: &Bound<'py, PyAny>,
        read: impl FnOnce(&PyNode<'py>) -> Result<T, E>,
    ) -> Result<T, E> {
        let read = read(&PyNode(object.clone()));
        pending_exception::nothing_raised()?;
        read
    }

    /// The object.
    pub fn object(&self) -> &Bound<'py, PyAny> {
        &self.0
    }
}

/// Returns the Python string of `key`, made once. A dict finds an interned key without hashing it again.
fn name(py: Python<'_>, key: Key) -> &Bound<'_, PyString> {
    static NAMES: PyOnceLock<Vec<Py<PyString>>> = PyOnceLock::new();
    let names =
        NAMES.get_or_init(py, || Key::ALL.iter().map(|(_, name)| PyString::intern(py, name).unbind()).collect());
    names[key as usize].bind(py)
}

/// Returns the value of a look-up, and keeps an exception for later.
fn lookup(value: PyResult<Option<Bound<'_, PyAny>>>) -> Option<Bound<'_, PyAny>> {
    value.unwrap_or_else(|error| {
        pending_exception::keep(error);
        None
    })
}

/// Returns an attribute, if the object has it. A computed field of a pydantic model that fails counts as missing,
/// because a model has more fields than a message needs. Any other exception is kept for later.
fn attribute<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    match object.getattr_opt(name) {
        Err(error) if error.is_instance_of::<PyException>(object.py()) && is_model(object) => None,
        value => lookup(value),
    }
}

fn is_model(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().hasattr("model_dump").unwrap_or(false)
}

impl Node for PyNode<'_> {
    type Text = PyText;

    fn kind(&self) -> Kind {
        let object = &self.0;
        if object.is_instance_of::<PyDict>() {
            Kind::Map
        } else if object.is_instance_of::<PyString>() {
            Kind::Text
        } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            Kind::List
        } else if object.is_none() {
            Kind::Null
        } else if object.is_instance_of::<PyBool>()
            || object.is_instance_of::<PyInt>()
            || object.is_instance_of::<PyFloat>()
        {
            Kind::Scalar
        } else if object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>() {
            Kind::Bytes
        } else {
            Kind::Map
        }
    }

    fn is_null(&self) -> bool {
        self.0.is_none()
    }

    fn get(&self, key: Key) -> Option<Self> {
        let name = name(self.0.py(), key);
        if let Ok(dict) = self.0.cast::<PyDict>() {
            return lookup(dict.get_item(name)).map(PyNode);
        }
        if self.kind() != Kind::Map {
            return None;
        }
        attribute(&self.0, name).map(PyNode)
    }

    fn field(&self, name: &str) -> Option<Self> {
        if let Ok(dict) = self.0.cast::<PyDict>() {
            return lookup(dict.get_item(name)).map(PyNode);
        }
        attribute(&self.0, &PyString::new(self.0.py(), name)).map(PyNode)
    }

    fn length(&self) -> Option<usize> {
        match self.0.cast::<PyList>() {
            Ok(list) => Some(list.len()),
            Err(_) => self.0.cast::<PyTuple>().ok().map(PyTupleMethods::len),
        }
    }

    fn field_count(&self) -> Option<usize> {
        self.0.cast::<PyDict>().ok().map(PyDictMethods::len)
    }

    fn at(&self, index: usize) -> Option<Self> {
        let item = match self.0.cast::<PyList>() {
            Ok(list) => list.get_item(index),
            Err(_) => self.0.cast::<PyTuple>().ok()?.get_item(index),
        };
        item.ok().map(PyNode)
    }

    fn text(&self) -> Option<PyText> {
        self.0.cast::<PyString>().ok().map(PyText::of)
    }

    fn is_true(&self) -> bool {
        self.0.cast::<PyBool>().is_ok_and(PyBoolMethods::is_true)
    }

    fn raw(&self) -> Option<Vec<u8>> {
        let string = self.0.cast::<PyString>().ok()?;
        if PyBackedStr::try_from(string.clone()).is_ok() {
            return None;
        }
        // Bytes that were not UTF-8 when Python decoded them are lone surrogates; encode them back unchanged.
        let encoded = ["surrogateescape", "surrogatepass"]
            .iter()
            .find_map(|errors| string.call_method1("encode", ("utf-8", *errors)).ok())?;
        encoded.extract().ok()
    }

    fn byte_length(&self) -> Option<usize> {
        match self.0.cast::<PyBytes>() {
            Ok(bytes) => Some(bytes.as_bytes().len()),
            Err(_) => self.0.cast::<PyByteArray>().ok().map(PyByteArrayMethods::len),
        }
    }

    fn read_bytes(&self, at: usize, into: &mut [u8]) -> usize {
        if let Ok(bytes) = self.0.cast::<PyBytes>() {
            return Raw(bytes.as_bytes()).read(at, into);
        }
        // Another thread may change a bytearray, so Python makes the copy.
        let end = at.saturating_add(into.len());
        let (Ok(start), Ok(end)) = (isize::try_from(at), isize::try_from(end)) else { return 0 };
        let piece = self.0.get_item(PySlice::new(self.0.py(), start, end, 1));
        let piece = piece.ok().and_then(|piece| Some(piece.cast::<PyByteArray>().ok()?.to_vec()));
        Raw(&piece.unwrap_or_default()).read(0, into)
    }

    fn aside<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.0.py().detach(work)
    }

    fn render(&self, out: &mut String, bytes: Bytes, depth: usize) -> CoreResult<()> {
        render(&self.0, out, bytes, depth)
    }
}
