//! The stores.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::PyClassInitializer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::text::PyText;
use super::whole::Amount;
use crate::error::Error;
use crate::store::{
    self, Deletion, FileStore, MemoryStore, Places, RETRIEVAL_LIMIT, Reference, Retention, Sparing, Store,
};

#[doc = doc!("NativeStore")]
#[pyclass(frozen, subclass, name = "NativeStore", module = "ullage._core")]
#[derive(Debug)]
pub struct PyStore(Arc<dyn Store>);

#[pymethods]
impl PyStore {
    #[doc = doc!("NativeStore.put")]
    #[pyo3(signature = (content, *, reference, tool = None))]
    #[allow(unused_variables)] // `tool` is for stores that file by tool; here the reference names it.
    fn put(
        &self,
        py: Python<'_>,
        content: &[u8],
        reference: &Bound<'_, PyString>,
        tool: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let parsed = Reference::parse(&PyText::of(reference))?;
        py.detach(|| self.0.put(&parsed, content))?;
        Ok(parsed.to_string())
    }

    #[doc = doc!("NativeStore.get")]
    fn get<'py>(&self, py: Python<'py>, reference: &Bound<'_, PyString>) -> PyResult<Bound<'py, PyBytes>> {
        let text = PyText::of(reference);
        let content = py.detach(|| self.0.get(&store::reference_in(&*self.0, &text)?))?;
        Ok(PyBytes::new(py, &content))
    }

    #[doc = doc!("NativeStore.list")]
    fn list(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(py.detach(|| self.0.list())?.iter().map(ToString::to_string).collect())
    }

    #[doc = doc!("NativeStore.delete")]
    fn delete(&self, py: Python<'_>, reference: &Bound<'_, PyString>) -> PyResult<bool> {
        let reference = Reference::parse(&PyText::of(reference))?;
        Ok(py.detach(|| self.0.delete(&reference))? == Deletion::Deleted)
    }

    // Written out for the stub, which shows numbers.
    #[pyo3(
        signature = (pattern, *, context = Amount(0), limit = Amount(RETRIEVAL_LIMIT)),
        text_signature = "($self, pattern, *, context=0, limit=20000)"
    )]
    #[doc = doc!("NativeStore.search")]
    fn search(
        &self,
        py: Python<'_>,
        pattern: &Bound<'_, PyString>,
        context: Amount,
        limit: Amount,
    ) -> PyResult<String> {
        let pattern = PyText::of(pattern);
        Ok(py.detach(|| store::search(&*self.0, &pattern, context.0, limit.0))?)
    }
}

#[doc = doc!("MemoryStore")]
#[pyclass(frozen, subclass, extends = PyStore, name = "MemoryStore", module = "ullage")]
#[derive(Debug)]
pub struct PyMemoryStore;

#[pymethods]
impl PyMemoryStore {
    #[new]
    fn new() -> PyClassInitializer<PyMemoryStore> {
        PyClassInitializer::from(PyStore(Arc::new(MemoryStore::default()))).add_subclass(PyMemoryStore)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let count = slf.as_super().get().0.list()?.len();
        Ok(format!("<MemoryStore: {count} {}>", if count == 1 { "artifact" } else { "artifacts" }))
    }

    /// Returns the stored content by reference, for `copy` and `pickle`.
    fn __getstate__<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let store = &slf.as_super().get().0;
        let listed = store.list()?;
        listed
            .iter()
            .map(|reference| Ok((reference.to_string(), PyBytes::new(slf.py(), &store.get(reference)?))))
            .collect()
    }

    fn __setstate__(slf: &Bound<'_, Self>, state: Vec<(String, Bound<'_, PyBytes>)>) -> PyResult<()> {
        for (reference, content) in state {
            slf.as_super().get().0.put(&Reference::parse(&reference)?, content.as_bytes())?;
        }
        Ok(())
    }
}

#[doc = doc!("FileStore")]
#[pyclass(frozen, subclass, extends = PyStore, name = "FileStore", module = "ullage")]
#[derive(Debug)]
pub struct PyFileStore {
    folder: PathBuf,
    session: Option<Py<PyString>>,
    retention: (Option<usize>, Option<usize>),
    store: Arc<FileStore>,
}

impl PyFileStore {
    /// Returns the places of the store's files.
    pub fn places(&self) -> Arc<dyn Places> {
        Arc::<FileStore>::clone(&self.store)
    }
}

#[pymethods]
impl PyFileStore {
    #[new]
    #[pyo3(
        signature = (folder, session = None, keep = Some(Amount(Retention::KEEP)), clean_above = Some(Amount(Retention::CLEAN_ABOVE))),
        text_signature = "(folder, session=None, keep=100, clean_above=150)"
    )]
    #[allow(clippy::needless_pass_by_value)] // A path arrives as a `PathBuf`.
    fn new(
        folder: PathBuf,
        session: Option<&Bound<'_, PyString>>,
        keep: Option<Amount>,
        clean_above: Option<Amount>,
    ) -> PyResult<PyClassInitializer<PyFileStore>> {
        // The folder is absolute, in case the program changes its working directory.
        let folder = std::path::absolute(&folder).map_err(|error| Error::Store {
            problem: format!("'{}' is not the path of a folder: {error}", folder.display()),
            remedy: "give the path of a folder".to_owned(),
        })?;
        let retention = (keep.map(|keep| keep.0), clean_above.map(|above| above.0));
        let store = FileStore::new(&folder)
            .retaining(retention.0.zip(retention.1).map(|(keep, above)| Retention::new(keep, above)));
        let store = Arc::new(match session {
            // Returns the whole id, even if it is not valid text, because two ids may differ only in lone surrogates.
            Some(id) => {
                let id = id.call_method1("encode", ("utf-8", "surrogatepass"))?;
                store.of_session(id.cast::<PyBytes>()?.as_bytes())
            }
            None => store,
        });
        let base = PyStore(Arc::<FileStore>::clone(&store));
        let session = session.map(|id| id.clone().unbind());
        Ok(PyClassInitializer::from(base).add_subclass(PyFileStore { folder, session, retention, store }))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let session = match &self.session {
            Some(id) => format!(", session={}", id.bind(py).repr()?),
            None => String::new(),
        };
        let folder = PyString::new(py, &self.folder.to_string_lossy()).repr()?;
        Ok(format!("FileStore({folder}{session})"))
    }

    /// Returns the arguments of a store in the same folder, for `copy` and `pickle`.
    fn __getnewargs__(&self, py: Python<'_>) -> (PathBuf, Option<Py<PyString>>, Option<usize>, Option<usize>) {
        (self.folder.clone(), self.session(py), self.retention.0, self.retention.1)
    }

    /// Returns nothing, because the arguments describe the whole store.
    #[staticmethod]
    fn __getstate__() -> Option<()> {
        None
    }

    #[doc = doc!("FileStore.folder")]
    #[getter]
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    #[doc = doc!("FileStore.session")]
    #[getter]
    fn session(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.session.as_ref().map(|id| id.clone_ref(py))
    }

    #[doc = doc!("FileStore.directory")]
    #[getter]
    fn directory(&self) -> PathBuf {
        self.store.directory()
    }

    #[doc = doc!("FileStore.path")]
    fn path(&self, py: Python<'_>, reference: &Bound<'_, PyString>) -> PyResult<Option<PathBuf>> {
        let Ok(reference) = Reference::parse(&PyText::of(reference)) else { return Ok(None) };
        Ok(py.detach(|| self.store.path(&reference))?)
    }

    #[doc = doc!("FileStore.relative_path")]
    fn relative_path(&self, py: Python<'_>, reference: &Bound<'_, PyString>) -> PyResult<Option<PathBuf>> {
        let path = self.path(py, reference)?;
        Ok(path.map(|path| path.strip_prefix(&self.folder).map_or_else(|_| path.clone(), PathBuf::from)))
    }

    #[doc = doc!("FileStore.above_limit")]
    #[getter]
    fn above_limit(&self) -> bool {
        self.store.is_above_limit()
    }

    #[doc = doc!("FileStore.clean")]
    #[pyo3(signature = (live, *, spare_own = true))]
    fn clean(&self, py: Python<'_>, live: &Bound<'_, PyAny>, spare_own: bool) -> PyResult<Vec<String>> {
        // A single string would be iterated by its characters.
        let live: Vec<PyText> = match live.cast::<PyString>() {
            Ok(text) => vec![PyText::of(text)],
            Err(_) => {
                live.try_iter()?.map(|text| Ok(PyText::of(text?.cast::<PyString>()?))).collect::<PyResult<_>>()?
            }
        };
        let sparing = if spare_own { Sparing::Own } else { Sparing::Nothing };
        let removed = py.detach(|| self.store.clean(live.iter().map(|text| text.as_bytes()), sparing))?;
        Ok(removed.iter().map(ToString::to_string).collect())
    }
}
