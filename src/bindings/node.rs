//! Reading and building over Python objects: dicts, or anything with attributes.

use std::fmt::Write;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PySlice, PyString, PyTuple};

use super::raised::{self, host_error};
use super::text::PyText;
use crate::error::Result;
use crate::media::{Content, Raw};
use crate::wire::{Build, Bytes, Key, Kind, Node, too_deep};

/// A Python object, seen as a node.
#[derive(Debug, Clone)]
pub struct PyNode<'py>(pub Bound<'py, PyAny>);

/// The Python string of `key`, made once: a dict finds an interned key without hashing it again.
fn name(py: Python<'_>, key: Key) -> &Bound<'_, PyString> {
    static NAMES: PyOnceLock<Vec<Py<PyString>>> = PyOnceLock::new();
    let names =
        NAMES.get_or_init(py, || Key::ALL.iter().map(|(_, name)| PyString::intern(py, name).unbind()).collect());
    names[key as usize].bind(py)
}

/// What a look-up found; what it raised is kept.
fn found(value: PyResult<Option<Bound<'_, PyAny>>>) -> Option<Bound<'_, PyAny>> {
    value.unwrap_or_else(|error| {
        raised::keep(error);
        None
    })
}

/// An attribute, where the object has it. That of a model which computes its fields (pydantic's) is missing too where that
/// fails: it has more of them than a message needs. Anything else that is raised is kept.
fn attribute<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    match object.getattr_opt(name) {
        Err(error) if error.is_instance_of::<PyException>(object.py()) && is_model(object) => None,
        value => found(value),
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
            return found(dict.get_item(name)).map(PyNode);
        }
        if self.kind() != Kind::Map {
            return None;
        }
        attribute(&self.0, name).map(PyNode)
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
        // Bytes that were no UTF-8 when Python read them stand as lone surrogates, and come back as they were.
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
        // Another thread may change a bytearray, so Python cuts the piece out.
        let end = at.saturating_add(into.len());
        let (Ok(start), Ok(end)) = (isize::try_from(at), isize::try_from(end)) else { return 0 };
        let piece = self.0.get_item(PySlice::new(self.0.py(), start, end, 1));
        let piece = piece.ok().and_then(|piece| Some(piece.cast::<PyByteArray>().ok()?.to_vec()));
        Raw(&piece.unwrap_or_default()).read(0, into)
    }

    fn aside<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.0.py().detach(work)
    }

    fn render(&self, out: &mut String, bytes: Bytes, depth: usize) -> Result<()> {
        render(&self.0, out, bytes, depth)
    }
}

fn render(object: &Bound<'_, PyAny>, out: &mut String, bytes: Bytes, depth: usize) -> Result<()> {
    if depth == 0 {
        return Err(too_deep());
    }
    let node = PyNode(object.clone());
    match node.kind() {
        Kind::Null => out.push_str("null"),
        Kind::Text => {
            if let Some(text) = node.text() {
                render_text(&text, out);
            }
        }
        Kind::Scalar => render_scalar(object, out)?,
        Kind::Bytes => render_bytes(object, out, bytes)?,
        Kind::List => {
            out.push('[');
            for (position, item) in node.items().unwrap_or_default().iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                render(&item.0, out, bytes, depth - 1)?;
            }
            out.push(']');
        }
        Kind::Map => match object.cast::<PyDict>() {
            Ok(dict) => render_dict(dict, out, bytes, depth)?,
            Err(_) => render(&plain(object)?, out, bytes, depth - 1)?,
        },
    }
    Ok(())
}

fn render_dict(dict: &Bound<'_, PyDict>, out: &mut String, bytes: Bytes, depth: usize) -> Result<()> {
    out.push('{');
    // A copy of the items: rendering an object may run code that changes the dict.
    let items: Vec<_> = dict.iter().collect();
    for (position, (key, value)) in items.into_iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        match key.cast::<PyString>() {
            Ok(key) => render_text(&PyText::of(key), out),
            Err(_) => render_text(&key.str().map_err(|e| host_error(&e))?.to_string_lossy(), out),
        }
        out.push(':');
        render(&value, out, bytes, depth - 1)?;
    }
    out.push('}');
    Ok(())
}

/// Appends a JSON string. Runs that need no escape, nearly all of any text, are copied whole.
fn render_text(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut start = 0;
    for (index, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[start..index]);
        start = index + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => {
                let _ = write!(out, "\\u{byte:04x}"); // Writing to a string cannot fail.
            }
        }
    }
    out.push_str(&text[start..]);
    out.push('"');
}

fn render_scalar(object: &Bound<'_, PyAny>, out: &mut String) -> Result<()> {
    if let Ok(flag) = object.cast::<PyBool>() {
        out.push_str(if flag.is_true() { "true" } else { "false" });
        return Ok(());
    }
    // The number itself: an enum of numbers writes its name.
    let py = object.py();
    let kind = if object.is_instance_of::<PyInt>() { py.get_type::<PyInt>() } else { py.get_type::<PyFloat>() };
    let text = kind.call_method1("__repr__", (object,)).and_then(|text| text.extract::<String>());
    let text = text.map_err(|e| host_error(&e))?;
    // JSON has no `nan` and `inf`; Python's own module writes them as these names.
    out.push_str(match text.as_str() {
        "nan" => "NaN",
        "inf" => "Infinity",
        "-inf" => "-Infinity",
        number => number,
    });
    Ok(())
}

fn render_bytes(object: &Bound<'_, PyAny>, out: &mut String, bytes: Bytes) -> Result<()> {
    match bytes {
        Bytes::Length => {
            let length = object.len().map_err(|e| host_error(&e))?;
            let _ = write!(out, "\"<{length} bytes>\""); // Writing to a string cannot fail.
        }
        Bytes::Whole => {
            let encoded = object
                .py()
                .import("base64")
                .and_then(|base64| base64.call_method1("b64encode", (object,))?.call_method1("decode", ("ascii",)))
                .and_then(|text| text.extract::<String>())
                .map_err(|e| host_error(&e))?;
            out.push_str("{\"__bytes_encoded__\":true,\"data\":\"");
            out.push_str(&encoded);
            out.push_str("\"}");
        }
    }
    Ok(())
}

/// An object as a plain value: the fields that its `model_dump` gives (pydantic), else its attributes, else its text.
pub(super) fn plain<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = object.py();
    let get = |name| object.getattr_opt(name).map_err(|error| host_error(&error));
    if let Some(dump) = get("model_dump")? {
        return dump.call0().and_then(|dumped| set_fields(object, dumped)).map_err(|e| host_error(&e));
    }
    if let Some(fields) = get("_asdict")? {
        return fields.call0().map_err(|e| host_error(&e));
    }
    if let Some(attributes) = get("__dict__")?
        && attributes.is_instance_of::<PyDict>()
    {
        return Ok(attributes);
    }
    match object.str() {
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(PyString::new(py, "<unprintable>").into_any()),
        text => text.map(Bound::into_any).map_err(|e| host_error(&e)),
    }
}

/// What pydantic dumped of an object, without the fields that are None: a part of Gemini has twenty. Each is the object's
/// own, so that the same is done to the objects in it; `exclude_none` would empty the dicts in it too.
fn set_fields<'py>(object: &Bound<'py, PyAny>, dumped: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let Ok(dump) = dumped.cast::<PyDict>() else { return Ok(dumped) };
    let fields = PyDict::new(object.py());
    for (key, value) in dump.iter().filter(|(_, value)| !value.is_none()) {
        let own = key.cast::<PyString>().ok().and_then(|name| attribute(object, name));
        fields.set_item(key, own.unwrap_or(value))?;
    }
    Ok(fields.into_any())
}

fn set_items(dict: &Bound<'_, PyDict>, fields: Vec<(Key, Option<Bound<'_, PyAny>>)>) -> PyResult<()> {
    let py = dict.py();
    for (key, value) in fields {
        match value {
            Some(value) => dict.set_item(name(py, key), value)?,
            None if dict.contains(name(py, key))? => dict.del_item(name(py, key))?,
            None => {}
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

    fn with_all(&self, fields: Vec<(Key, Option<Self::Out>)>) -> Result<Self::Out> {
        let py = self.0.py();
        let build = || -> PyResult<Self::Out> {
            // A dict of the host's own kind is copied as that kind, below.
            if let Ok(dict) = self.0.cast_exact::<PyDict>() {
                let copy = dict.copy()?;
                set_items(&copy, fields)?;
                return Ok(copy.into_any());
            }
            if let Some(model_copy) = self.0.getattr_opt("model_copy")? {
                let update = PyDict::new(py);
                for (key, value) in fields {
                    update.set_item(name(py, key), value)?;
                }
                let arguments = PyDict::new(py);
                arguments.set_item("update", update)?;
                return model_copy.call((), Some(&arguments));
            }
            let copy = py.import("copy")?.call_method1("copy", (&self.0,))?;
            match copy.cast::<PyDict>() {
                Ok(dict) => set_items(dict, fields)?,
                Err(_) => fields.into_iter().try_for_each(|(key, value)| copy.setattr(name(py, key), value))?,
            }
            Ok(copy)
        };
        build().map_err(|e| host_error(&e))
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
