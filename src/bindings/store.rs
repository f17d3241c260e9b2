//! The stores, and reading a stored output back.

use std::path::PathBuf;

use pyo3::PyClassInitializer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::text::PyText;
use super::whole::Amount;

use crate::error::Error;
use crate::store::{self, Deletion, FileStore, MemoryStore, Reference, Request, Store};

/// What the native stores have in common.
#[pyclass(frozen, subclass, name = "NativeStore", module = "ullage._core")]
#[derive(Debug)]
pub struct PyStore(Box<dyn Store>);

#[pymethods]
impl PyStore {
    #[pyo3(signature = (content, *, reference, tool = None))]
    #[allow(unused_variables)] // `tool` is for stores that file by tool; here the reference names it.
    fn put(
        &self,
        py: Python<'_>,
        content: &[u8],
        reference: &Bound<'_, PyString>,
        tool: Option<&str>,
    ) -> PyResult<String> {
        let parsed = Reference::parse(&PyText::of(reference))?;
        py.detach(|| self.0.put(&parsed, content))?;
        Ok(parsed.to_string())
    }

    fn get<'py>(&self, py: Python<'py>, reference: &Bound<'_, PyString>) -> PyResult<Bound<'py, PyBytes>> {
        let reference = Reference::parse(&PyText::of(reference))?;
        let content = py.detach(|| self.0.get(&reference))?;
        Ok(PyBytes::new(py, &content))
    }

    fn list(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(py.detach(|| self.0.list())?.iter().map(ToString::to_string).collect())
    }

    fn delete(&self, py: Python<'_>, reference: &Bound<'_, PyString>) -> PyResult<bool> {
        let reference = Reference::parse(&PyText::of(reference))?;
        Ok(py.detach(|| self.0.delete(&reference))? == Deletion::Deleted)
    }
}

#[pyclass(frozen, subclass, extends = PyStore, name = "MemoryStore", module = "ullage")]
#[derive(Debug)]
pub struct PyMemoryStore;

#[pymethods]
impl PyMemoryStore {
    #[new]
    fn new() -> PyClassInitializer<PyMemoryStore> {
        PyClassInitializer::from(PyStore(Box::new(MemoryStore::default()))).add_subclass(PyMemoryStore)
    }
}

#[pyclass(frozen, subclass, extends = PyStore, name = "FileStore", module = "ullage")]
#[derive(Debug)]
pub struct PyFileStore {
    folder: PathBuf,
}

#[pymethods]
impl PyFileStore {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // A path arrives as a `PathBuf`.
    fn new(folder: PathBuf) -> PyResult<PyClassInitializer<PyFileStore>> {
        // Where it is now, also when the program changes its folder.
        let folder = std::path::absolute(&folder).map_err(|error| Error::Store {
            problem: format!("'{}' names no folder: {error}", folder.display()),
            remedy: "give the path of a folder".to_owned(),
        })?;
        let store = PyStore(Box::new(FileStore::new(&folder)));
        Ok(PyClassInitializer::from(store).add_subclass(PyFileStore { folder }))
    }

    #[getter]
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }
}

#[pyfunction]
#[allow(clippy::similar_names)] // `content` and `context` are the public names.
#[pyo3(signature = (reference, content, *, pattern, lines, context, limit))]
pub fn retrieve(
    py: Python<'_>,
    reference: &Bound<'_, PyString>,
    content: &[u8],
    pattern: Option<&Bound<'_, PyString>>,
    lines: Option<(Amount, Amount)>,
    context: Amount,
    limit: Amount,
) -> PyResult<String> {
    let reference = Reference::parse(&PyText::of(reference))?;
    let lines = match lines {
        Some((Amount(first), Amount(last))) if first == 0 || last < first => {
            return Err(PyErr::from(Error::Store {
                problem: format!("there are no lines {first} to {last}"),
                remedy: "count lines from 1, the first not behind the last".to_owned(),
            }));
        }
        lines => lines.map(|(Amount(first), Amount(last))| first..=last),
    };
    let pattern = pattern.map(PyText::of);
    let pattern = pattern.as_deref();
    let request = Request { pattern, lines, context: context.0, limit: limit.0 };
    Ok(py.detach(|| store::retrieve(&reference, content, &request))?)
}
