//! Renders Python objects as compact JSON.

use std::fmt::Write;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use super::{PyNode, attribute};
use crate::bindings::pending_exception::host_error;
use crate::bindings::text::PyText;
use crate::error::Result;
use crate::wire::{Bytes, Kind, Node, too_deep};

pub(super) fn render(object: &Bound<'_, PyAny>, out: &mut String, bytes: Bytes, depth: usize) -> Result<()> {
    if depth == 0 {
        return Err(too_deep());
    }
    let node = PyNode(object.clone());
    match node.kind() {
        Kind::Null => out.push_str("null"),
        Kind::Text => {
            if let Ok(string) = object.cast::<PyString>() {
                render_string(string, out, bytes)?;
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
    // A copy of the items, because rendering an object may run code that changes the dict.
    let items: Vec<_> = dict.iter().collect();
    for (position, (key, value)) in items.into_iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        match key.cast::<PyString>() {
            Ok(key) => render_string(key, out, bytes)?,
            Err(_) => render_text(&key.str().map_err(|e| host_error(&e))?.to_string_lossy(), out),
        }
        out.push(':');
        render(&value, out, bytes, depth - 1)?;
    }
    out.push('}');
    Ok(())
}

/// Appends a string. Stored content must come back unchanged, so lone surrogates, which are not text, are then escaped.
fn render_string(string: &Bound<'_, PyString>, out: &mut String, bytes: Bytes) -> Result<()> {
    let text = PyText::of(string);
    if let (Bytes::Stored, PyText::Owned(_)) = (bytes, &text) {
        let escaped =
            string.py().import("json").and_then(|json| json.call_method1("dumps", (string,))?.extract::<String>());
        out.push_str(&escaped.map_err(|e| host_error(&e))?);
    } else {
        render_text(&text, out);
    }
    Ok(())
}

/// Appends a JSON string. Runs without a character to escape, nearly all of any text, are copied whole.
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
    // Render the number itself, because the `str` of a numeric enum is its name.
    let py = object.py();
    let kind = if object.is_instance_of::<PyInt>() { py.get_type::<PyInt>() } else { py.get_type::<PyFloat>() };
    let text = kind.call_method1("__repr__", (object,)).and_then(|text| text.extract::<String>());
    let text = text.map_err(|e| host_error(&e))?;
    // JSON has no `nan` and `inf`. Python's `json` module writes them by these names.
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
        Bytes::Whole | Bytes::Stored => {
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

/// Returns an object as a plain value: its `model_dump` (pydantic), else its attributes, else its text.
pub fn plain<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
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

/// Returns the fields of a dumped pydantic object that are not None; a part of Gemini has twenty fields. The values are
/// the object's own, so that nested objects are treated the same way. `exclude_none` would also remove None inside its
/// dicts.
fn set_fields<'py>(object: &Bound<'py, PyAny>, dumped: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let Ok(dump) = dumped.cast::<PyDict>() else { return Ok(dumped) };
    let fields = PyDict::new(object.py());
    for (key, value) in dump.iter().filter(|(_, value)| !value.is_none()) {
        let own = key.cast::<PyString>().ok().and_then(|name| attribute(object, name));
        fields.set_item(key, own.unwrap_or(value))?;
    }
    Ok(fields.into_any())
}
