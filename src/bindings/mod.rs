//! The Python extension module `ullage._core`: names, types and errors. It makes no decisions about messages.

// The docstrings come from the stub, in the form that Python tools read.
#![allow(clippy::doc_markdown, clippy::doc_lazy_continuation)]

/// Returns the docstring of a name in the stub; see `build.rs`.
macro_rules! doc {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/docs/", $name))
    };
}

mod append_only;
mod compress;
mod conversation;
mod counter;
mod counting;
mod economics;
mod engine;
mod errors;
mod forks;
mod format;
mod formula;
mod identity;
mod limits;
mod marks;
mod node;
mod payload;
mod pending_exception;
mod plan;
mod policy;
mod reading;
mod replay;
mod retrieve;
mod store;
mod summary;
mod text;
mod transcript;
mod validity;
mod view;
mod whole;

use pyo3::prelude::*;

/// The native half of the package `ullage`.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::compress::{compress, sample_json};
    #[pymodule_export]
    use super::conversation::{PyConversation, PyToolCall, PyToolResult, tool_outcome};
    #[pymodule_export]
    use super::counter::{PyTokenCounter, count_tokens};
    #[pymodule_export]
    use super::economics::{PyPromptCache, cache_factors, plan_cost, unchanged_tokens};
    #[pymodule_export]
    use super::engine::PyEngine;
    #[pymodule_export]
    use super::errors::{
        BudgetError, MessageError, MessagesChangedError, PolicyError, ReferenceTakenError, StoreError, SummaryError,
        UllageError, policy_error,
    };
    #[pymodule_export]
    use super::format::detect_format;
    #[pymodule_export]
    use super::limits::{known_limits, longest_beginning, unknown_limits, window_and_reserve};
    #[pymodule_export]
    use super::marks::{is_retrieved, removal_note};
    #[pymodule_export]
    use super::payload::{PyPayload, reference_of};
    #[pymodule_export]
    use super::plan::PyPlan;
    #[pymodule_export]
    use super::policy::PyPolicy;
    #[pymodule_export]
    use super::reading::PyReading;
    #[pymodule_export]
    use super::replay::{PyNeeds, session_cuts};
    #[pymodule_export]
    use super::retrieve::{PySearch, nearest, references_in, retrieve};
    #[pymodule_export]
    use super::store::{PyFileStore, PyMemoryStore, PyStore};
    #[pymodule_export]
    use super::summary::{quoted_summary, summary_request};
    #[pymodule_export]
    use super::transcript::PyTranscriptFile;
    #[pymodule_export]
    use super::validity::{repair, validate};
    #[pymodule_export]
    use super::view::{PyView, PyViewIndex, PyViewLookup, PyViewRequest, share_compactions};

    use super::forks;
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // By default, an error that Python raises is about no setting.
        let py = module.py();
        py.get_type::<PolicyError>().setattr("problems", PyTuple::empty(py))?;
        forks::register(module.py())?;
        module.add("RETRIEVAL_LIMIT", crate::store::RETRIEVAL_LIMIT)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
