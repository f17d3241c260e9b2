//! `TranscriptFile`: the lines of a conversation's log. `ullage.transcript` turns them into messages.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::error::Error;
use crate::store::{Flush, Line, Locking, OpenedTranscript, Transcript};

/// A log, its lines with a flag for complete ones, and the messages about incomplete ones.
type Contents = (PyTranscriptFile, Vec<(String, bool)>, Vec<String>);

#[pyclass(frozen, name = "TranscriptFile", module = "ullage._core")]
#[derive(Debug)]
pub struct PyTranscriptFile(Transcript);

#[pymethods]
impl PyTranscriptFile {
    /// Opens the file and reads it.
    #[staticmethod]
    #[pyo3(signature = (path, *, fsync, lock))]
    #[allow(clippy::needless_pass_by_value)] // A path arrives owned.
    fn open(py: Python<'_>, path: PathBuf, fsync: &str, lock: bool) -> PyResult<Contents> {
        let flush = match fsync {
            "always" => Flush::Always,
            "close" => Flush::OnClose,
            "never" => Flush::Never,
            _ => {
                let problem = format!("it is '{fsync}', and must be \"always\", \"close\" or \"never\"");
                return Err(Error::Policy { setting: "fsync".to_owned(), problem }.into());
            }
        };
        let locking = if lock { Locking::Exclusive } else { Locking::None };
        let OpenedTranscript { transcript, lines, skipped } = py.detach(|| Transcript::open(&path, flush, locking))?;
        let lines = lines.into_iter().map(|line| match line {
            Line::Record(text) => (text, true),
            Line::Damaged(text) => (text, false),
        });
        Ok((PyTranscriptFile(transcript), lines.collect(), skipped))
    }

    fn append(&self, py: Python<'_>, record: &str) -> PyResult<()> {
        Ok(py.detach(|| self.0.append(record))?)
    }

    #[allow(clippy::needless_pass_by_value)] // As above.
    fn export(&self, py: Python<'_>, to: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| self.0.export(&to))?)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.0.close())?)
    }
}
