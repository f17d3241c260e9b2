//! Detects changed messages without reading them.

use std::cell::RefCell;

use pyo3::exceptions::PyLookupError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

/// The maximum nesting of lists and dicts that is followed. A deeper message is read each time.
const DEEPEST: usize = 32;

/// The reason why a value cannot be compared by identity: it is nested too deep, or it is an object of another type,
/// which may change in place.
const UNKNOWN: &str = "not of JSON's kinds";

/// A snapshot of messages: the shape of their dicts and lists, and the addresses of their strings and numbers. Strings
/// and numbers never change, and the snapshot keeps them alive, so no other value can take an address.
#[derive(Debug, Default)]
pub(super) struct Contents {
    marks: Vec<usize>,
    held: Vec<Py<PyAny>>,
}

impl Contents {
    /// Adds messages to the snapshot. False if one has another type than JSON's; the snapshot must then not be used.
    pub fn follow(&mut self, messages: &Bound<'_, PyList>) -> bool {
        let note = RefCell::new(|mark: usize, value: Option<&Bound<'_, PyAny>>| {
            self.marks.push(mark);
            self.held.extend(value.map(|value| value.clone().unbind()));
            true
        });
        messages.iter().all(|message| visit(&message, DEEPEST, &note).is_ok())
    }

    /// True if a list begins with these messages unchanged. `count` is the number of messages in the snapshot.
    pub fn begin(&self, list: &Bound<'_, PyList>, count: usize) -> bool {
        let marks = RefCell::new(self.marks.iter());
        let same = RefCell::new(|mark: usize, _: Option<&Bound<'_, PyAny>>| marks.borrow_mut().next() == Some(&mark));
        list.iter().take(count).all(|message| visit(&message, DEEPEST, &same).is_ok()) && marks.borrow().len() == 0
    }
}

/// Visits a value: gives `each` a mark with the length of each list and dict, and one for each string and number. Fails
/// if `each` returns false or the value has another type than JSON's.
fn visit<'py>(
    value: &Bound<'py, PyAny>,
    depth: usize,
    each: &RefCell<impl FnMut(usize, Option<&Bound<'py, PyAny>>) -> bool>,
) -> PyResult<()> {
    let go_on = |is_same: bool| if is_same { Ok(()) } else { Err(PyLookupError::new_err(UNKNOWN)) };
    if value.is_exact_instance_of::<PyString>() {
        return go_on(each.borrow_mut()(place(value), Some(value)));
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        go_on(depth > 0 && each.borrow_mut()(2 * dict.len(), None))?;
        return dict.locked_for_each(|key, value| {
            go_on(key.is_exact_instance_of::<PyString>() && each.borrow_mut()(place(&key), Some(&key)))?;
            visit(&value, depth - 1, each)
        });
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        go_on(depth > 0 && each.borrow_mut()(2 * list.len() + 1, None))?;
        return list.iter().try_for_each(|value| visit(&value, depth - 1, each));
    }
    let is_scalar = value.is_none()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>();
    go_on(is_scalar && each.borrow_mut()(place(value), Some(value)))
}

fn place(value: &Bound<'_, PyAny>) -> usize {
    value.as_ptr() as usize
}
