//! The cost and savings of a prompt cache, for `ullage.Economics`.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pythonize::{depythonize, pythonize};

use super::counter::PyTokenCounter;
use super::counting::Counting;
use super::format::{named_format, read_messages};
use super::plan::PyPlan;
use super::text::PyText;
use super::whole::Amount;
use crate::economics::{PlanCost, Prices, PromptCache};
use crate::edit::Edit;
use crate::error::{Error, Result};
use crate::shared::Locked;
use crate::wire::Format;

pub fn prices(given: &Bound<'_, PyDict>) -> Result<Prices> {
    let prices: Prices = depythonize(given)
        .map_err(|error| Error::Policy { setting: "prices".to_owned(), problem: error.to_string() })?;
    prices.checked()
}

/// Factors for writing into the cache of a model's provider and for reading from it.
#[pyfunction]
pub fn cache_factors(model: &Bound<'_, PyString>) -> Option<(f64, f64)> {
    Prices::factors_of_model(&PyText::of(model)).map(|prices| (prices.cache_write, prices.cache_read))
}

#[pyfunction]
#[pyo3(signature = (before, after, unchanged, *, prices))]
pub fn plan_cost<'py>(
    before: Amount,
    after: Amount,
    unchanged: Amount,
    prices: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let cost = PlanCost::of(before.0, after.0, unchanged.0, self::prices(prices)?);
    Ok(pythonize(prices.py(), &cost)?)
}

/// Returns the tokens of the messages before the first one that a plan changes.
#[pyfunction]
pub fn unchanged_tokens(plan: &PyPlan, messages: &Bound<'_, PyAny>, counter: &PyTokenCounter) -> PyResult<usize> {
    let plan = &plan.0;
    let (_, conversation) = read_messages(messages, Some(plan.format))?;
    let first = plan.edits.iter().map(Edit::first_message).min().unwrap_or(conversation.messages.len());
    let measured = counter.counting.ledger.measure(&conversation);
    Ok((0..first.min(conversation.messages.len())).map(|message| measured.message(message)).sum())
}

/// The provider's cache during the requests of one session.
#[pyclass(frozen, name = "PromptCache", module = "ullage._core")]
#[derive(Debug)]
pub struct PyPromptCache {
    cache: Locked<PromptCache>,
    counting: Arc<Counting>,
    format: Option<Format>,
}

#[pymethods]
impl PyPromptCache {
    #[new]
    #[pyo3(signature = (counter, *, format = None))]
    fn new(counter: &PyTokenCounter, format: Option<&str>) -> PyResult<PyPromptCache> {
        let format = format.map(named_format).transpose()?;
        Ok(PyPromptCache { cache: Locked::default(), counting: Arc::clone(&counter.counting), format })
    }

    /// Sends a request with these messages.
    fn request(&self, messages: &Bound<'_, PyAny>) -> PyResult<()> {
        let (_, conversation) = read_messages(messages, self.format)?;
        self.counting.recall(messages.py(), &conversation);
        messages.py().detach(|| {
            let measured = self.counting.ledger.measure(&conversation);
            let keyed = (0..conversation.messages.len()).map(|at| (measured.digest(at..at + 1), measured.message(at)));
            self.cache.lock().request(keyed);
        });
        Ok(())
    }

    /// Requests, tokens read and tokens written so far.
    fn used<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let used = self.cache.lock().used();
        Ok(pythonize(py, &used)?)
    }

    /// Returns the cost, in tokens of plain input.
    #[pyo3(signature = (*, prices))]
    fn cost(&self, prices: &Bound<'_, PyDict>) -> PyResult<f64> {
        let prices = self::prices(prices)?;
        Ok(self.cache.lock().used().cost(prices))
    }
}
