//! Reads stored outputs back, and finds references to them.

use std::collections::{BTreeSet, HashSet};
use std::ops::RangeInclusive;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use super::node::{PyNode, plain};
use super::text::PyText;
use super::whole::Amount;
use crate::error::Error;
use crate::shared::Locked;
use crate::store::{self, Reference, Request, Search, mentions};
use crate::wire::{Kind, MAX_MESSAGE_DEPTH, Node, too_deep};

#[pyfunction]
#[allow(clippy::similar_names, clippy::too_many_arguments)] // `content` and `context` are the public names.
#[pyo3(signature = (reference, content, *, pattern, lines, pointer, context, head, tail, limit, place))]
pub fn retrieve(
    py: Python<'_>,
    reference: &Bound<'_, PyString>,
    content: &[u8],
    pattern: Option<&Bound<'_, PyString>>,
    lines: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    pointer: Option<&Bound<'_, PyString>>,
    context: Amount,
    head: Option<Amount>,
    tail: Option<Amount>,
    limit: Amount,
    place: Option<&Bound<'_, PyString>>,
) -> PyResult<String> {
    let reference = Reference::parse(&PyText::of(reference))?;
    let lines = lines.map(|(first, last)| range_of_lines(&first, &last)).transpose()?;
    let [pattern, pointer, place] = [pattern, pointer, place].map(|text| text.map(PyText::of));
    let request = Request {
        pointer: pointer.as_deref(),
        pattern: pattern.as_deref(),
        lines,
        context: context.0,
        head: head.map(|amount| amount.0),
        tail: tail.map(|amount| amount.0),
        limit: limit.0,
        place: place.as_deref(),
    };
    Ok(py.detach(|| store::retrieve(&reference, content, &request))?)
}

/// Returns the lines from `first` to `last`, both included.
fn range_of_lines(first: &Bound<'_, PyAny>, last: &Bound<'_, PyAny>) -> PyResult<RangeInclusive<usize>> {
    match (first.extract()?, last.extract()?) {
        (Amount(start), Amount(end)) if start > 0 && start <= end => Ok(start..=end),
        _ => Err(PyErr::from(Error::Store {
            problem: format!("there are no lines {first} to {last}"),
            remedy: "count lines from 1, the first not after the last".to_owned(),
        })),
    }
}

/// A search through the artifacts of any store, one after the other.
#[pyclass(frozen, name = "Search", module = "ullage._core")]
#[derive(Debug)]
pub struct PySearch(Locked<Option<Search>>);

#[pymethods]
impl PySearch {
    #[new]
    #[pyo3(signature = (pattern, *, context, limit))]
    fn new(pattern: &Bound<'_, PyString>, context: Amount, limit: Amount) -> PyResult<PySearch> {
        let search = Search::new(&PyText::of(pattern), context.0, limit.0)?;
        Ok(PySearch(Locked::new(Some(search))))
    }

    fn look(&self, py: Python<'_>, reference: &Bound<'_, PyString>, content: &Bound<'_, PyBytes>) -> PyResult<()> {
        let reference = Reference::parse(&PyText::of(reference))?;
        let content = content.as_bytes();
        py.detach(|| {
            if let Some(search) = self.0.lock().as_mut() {
                search.look(&reference, content);
            }
        });
        Ok(())
    }

    /// Returns the report and ends the search.
    fn report(&self) -> String {
        self.0.lock().take().map(Search::report).unwrap_or_default()
    }
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // A list arrives as a `Vec`.
pub fn nearest(wanted: &Bound<'_, PyString>, known: Vec<String>) -> Vec<String> {
    let wanted = PyText::of(wanted);
    store::nearest(&wanted, known.iter().map(String::as_str)).into_iter().map(str::to_owned).collect()
}

/// Returns every reference in any string inside `value`: in dicts, lists, and the fields of objects.
#[pyfunction]
pub fn references_in(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let mut found = BTreeSet::new();
    // Visited objects are kept alive, so that no other object gets their address; this also ends cycles.
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    let mut next = vec![(value.clone(), MAX_MESSAGE_DEPTH)];
    while let Some((object, depth)) = next.pop() {
        let (kind, text) = PyNode::reading::<_, Error>(&object, |node| Ok((node.kind(), node.text())))?;
        if kind == Kind::Text {
            found.extend(text.into_iter().flat_map(|text| mentions(text.as_bytes())));
        } else if matches!(kind, Kind::List | Kind::Map) && seen.insert(object.as_ptr() as usize) {
            let below = depth.checked_sub(1).ok_or_else(too_deep)?;
            next.extend(inside(&object)?.into_iter().map(|part| (part, below)));
            kept.push(object);
        }
    }
    Ok(found.iter().map(ToString::to_string).collect())
}

/// Returns the values in a container.
fn inside<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if let Ok(dict) = object.cast::<PyDict>() {
        let mut parts = Vec::with_capacity(2 * dict.len());
        // A copy of the items, because reading an object may run code that changes the dict.
        for entry in dict.items().iter() {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry.extract()?;
            parts.extend([key, value]);
        }
        return Ok(parts);
    }
    if let Ok(list) = object.cast::<PyList>() {
        return Ok(list.iter().collect());
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return Ok(tuple.iter().collect());
    }
    Ok(vec![plain(object)?])
}
