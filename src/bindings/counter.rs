//! `TokenCounter` and `count_tokens`.

use std::sync::{Arc, OnceLock};

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};

use super::counting::{Counting, History};
use super::format::named_format;
use super::formula::Formula;
use super::text::PyText;
use super::whole::Amount;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::shared::once;
use crate::tokens::{CountTokens, Encoding, Estimate, Exact, NAMED_RATIOS, Precision, TextKind, counter_for_model};

/// For texts of at least this many bytes, releasing the interpreter lock is worth its cost.
const WORTH_RELEASING: usize = 4 * 1024;

/// The constructor of a counter that the class itself makes.
const CLASS: &str = "TokenCounter";

fn exact(encoding: &str) -> PyResult<Exact> {
    let encoding = Encoding::from_name(encoding).ok_or_else(|| Error::Policy {
        setting: "encoding".to_owned(),
        problem: format!(
            "unknown encoding '{encoding}'; use 'o200k_base' or 'cl100k_base', or for the id of a model \
             `TokenCounter.for_model`"
        ),
    })?;
    Ok(Exact::new(encoding))
}

/// Converts a Python number. A whole number may be beyond the range of a float.
fn number(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    match value.extract::<f64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => Ok(f64::INFINITY),
        number => number,
    }
}

/// Runs `work` on `text`. If the text is long, other threads can run meanwhile.
fn aside<R: Send>(py: Python<'_>, text: &PyText, work: impl FnOnce() -> R + Send) -> R {
    if text.len() < WORTH_RELEASING { work() } else { py.detach(work) }
}

#[doc = doc!("count_tokens")]
#[pyfunction]
#[pyo3(signature = (text, encoding = "o200k_base"))]
pub fn count_tokens(text: &Bound<'_, PyAny>, encoding: &str) -> PyResult<usize> {
    static O200K: OnceLock<Ledger> = OnceLock::new();
    static CL100K: OnceLock<Ledger> = OnceLock::new();
    let py = text.py();
    let Ok(text) = text.cast::<PyString>() else {
        let kind = text.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "text must be a str; got {kind}; TokenCounter().count_messages counts messages"
        )));
    };
    let exact = exact(encoding)?;
    let ledger = match exact.encoding() {
        Encoding::O200kBase => &O200K,
        Encoding::Cl100kBase => &CL100K,
    };
    let ledger = once(ledger, || Ledger::new(Arc::new(exact)));
    let text = PyText::of(text);
    Ok(aside(py, &text, || ledger.count_text(&text, TextKind::Prose)))
}

#[doc = doc!("TokenCounter")]
#[pyclass(frozen, subclass, name = "TokenCounter", module = "ullage")]
#[derive(Debug)]
pub struct PyTokenCounter {
    pub counting: Arc<Counting>,
    /// Counts a request instead of the ledger, if it is set.
    formula: Option<Formula>,
    /// The constructor and its arguments, for `pickle`.
    origin: (&'static str, Py<PyTuple>),
}

impl PyTokenCounter {
    fn over(counter: Arc<dyn CountTokens>, constructor: &'static str, arguments: Bound<'_, PyTuple>) -> PyTokenCounter {
        PyTokenCounter::of(Ledger::new(counter), constructor, arguments)
    }

    fn of(ledger: Ledger, constructor: &'static str, arguments: Bound<'_, PyTuple>) -> PyTokenCounter {
        let origin = (constructor, arguments.unbind());
        PyTokenCounter { counting: Arc::new(Counting::over(ledger)), formula: None, origin }
    }

    fn ledger(&self) -> &Ledger {
        &self.counting.ledger
    }
}

#[pymethods]
impl PyTokenCounter {
    #[new]
    #[pyo3(signature = (encoding = "o200k_base"))]
    fn new(py: Python<'_>, encoding: &str) -> PyResult<PyTokenCounter> {
        Ok(PyTokenCounter::over(Arc::new(exact(encoding)?), CLASS, PyTuple::new(py, [encoding])?))
    }

    #[doc = doc!("TokenCounter.for_model")]
    #[staticmethod]
    #[pyo3(signature = (model, *, learn_with = None))]
    fn for_model(
        model: &Bound<'_, PyString>,
        learn_with: Option<PyRef<'_, PyTokenCounter>>,
    ) -> PyResult<PyTokenCounter> {
        let arguments = PyTuple::new(model.py(), [model])?;
        let mut ledger = Ledger::new(counter_for_model(&PyText::of(model)));
        if let Some(other) = learn_with {
            ledger = ledger.learning_with(other.ledger());
        }
        Ok(PyTokenCounter::of(ledger, "for_model", arguments))
    }

    #[doc = doc!("TokenCounter.with_ratio")]
    #[staticmethod]
    fn with_ratio(ratio: &Bound<'_, PyAny>) -> PyResult<PyTokenCounter> {
        let estimate = match ratio.cast::<PyString>() {
            Ok(name) => Estimate::named_ratio(&PyText::of(name))?,
            Err(_) if ratio.is_instance_of::<PyBool>() => {
                return Err(PyTypeError::new_err("a number or a name is needed, not a bool"));
            }
            Err(_) => Estimate::ratio(number(ratio)?)?,
        };
        Ok(PyTokenCounter::over(Arc::new(estimate), "with_ratio", PyTuple::new(ratio.py(), [ratio])?))
    }

    #[doc = doc!("TokenCounter.preset")]
    #[staticmethod]
    #[pyo3(signature = (name, model = None))]
    fn preset(py: Python<'_>, name: &str, model: Option<&Bound<'_, PyString>>) -> PyResult<PyTokenCounter> {
        let arguments = (name, model).into_pyobject(py)?;
        let model = model.map(PyText::of);
        let (formula, estimate) = Formula::preset(name, model.as_deref().unwrap_or_default())?;
        let counter = PyTokenCounter::over(Arc::new(estimate), "preset", arguments);
        Ok(PyTokenCounter { formula: Some(formula), ..counter })
    }

    #[classattr]
    #[pyo3(name = "RATIOS")]
    fn ratios(py: Python<'_>) -> PyResult<Py<PyDict>> {
        let ratios = PyDict::new(py);
        for (name, ratio) in NAMED_RATIOS {
            ratios.set_item(name, ratio)?;
        }
        Ok(ratios.unbind())
    }

    #[doc = doc!("TokenCounter.name")]
    #[getter]
    fn name(&self) -> &str {
        self.ledger().counter().name()
    }

    #[doc = doc!("TokenCounter.scale")]
    #[getter]
    fn scale(&self) -> f64 {
        self.ledger().now().scale().factor()
    }

    #[doc = doc!("TokenCounter.count")]
    fn count(&self, py: Python<'_>, text: &Bound<'_, PyString>) -> usize {
        let (text, ledger) = (PyText::of(text), self.ledger());
        aside(py, &text, || match ledger.counter().precision() {
            Precision::Exact => ledger.count_text(&text, TextKind::Prose),
            Precision::Estimated => ledger.now().count_remembered(&text, TextKind::Prose),
        })
    }

    #[doc = doc!("TokenCounter.fits")]
    fn fits(&self, py: Python<'_>, text: &Bound<'_, PyString>, limit: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Amount(most) = limit.extract()?;
        // Even an empty text takes more than a negative number of tokens.
        if limit.lt(0)? {
            return Ok(false);
        }
        let (text, ledger) = (PyText::of(text), self.ledger());
        Ok(aside(py, &text, || match ledger.counter().precision() {
            Precision::Exact => ledger.counter().fits(&text, TextKind::Prose, most),
            Precision::Estimated => ledger.now().fits(&text, TextKind::Prose, most),
        }))
    }

    #[doc = doc!("TokenCounter.count_messages")]
    #[pyo3(signature = (messages, format = None, *, system = None, tools = None, append_only = false))]
    fn count_messages(
        &self,
        messages: &Bound<'_, PyAny>,
        format: Option<&str>,
        system: Option<&Bound<'_, PyAny>>,
        tools: Option<&Bound<'_, PyAny>>,
        append_only: bool,
    ) -> PyResult<usize> {
        if let Some(formula) = self.formula {
            return formula.tokens(messages, format);
        }
        let format = format.map(named_format).transpose()?;
        let counted = self.counting.count(messages, format, History::of(append_only))?;
        let fixed = self.counting.fixed_tokens(system, tools)?;
        Ok(self.ledger().request(counted.total, counted.beginning, fixed))
    }

    #[doc = doc!("TokenCounter.observe")]
    #[pyo3(signature = (messages, reported_tokens, format = None, *, append_only = false))]
    fn observe(
        &self,
        messages: &Bound<'_, PyAny>,
        reported_tokens: &Bound<'_, PyAny>,
        format: Option<&str>,
        append_only: bool,
    ) -> PyResult<bool> {
        let reported = reported_tokens.extract()?;
        let format = format.map(named_format).transpose()?;
        let counted = self.counting.count(messages, format, History::of(append_only))?;
        Ok(self.counting.observe(counted, reported))
    }

    /// Pickles the counter without the scale learned by `observe`.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Py<PyTuple>)> {
        let (class, base) = (slf.get_type(), slf.py().get_type::<PyTokenCounter>());
        if !class.is(&base) {
            let text = format!("{} cannot be pickled; give it a `__reduce__`", class.name()?);
            return Err(PyTypeError::new_err(text));
        }
        let (constructor, arguments) = &slf.get().origin;
        let made_by = if *constructor == CLASS { class.into_any() } else { class.getattr(*constructor)? };
        Ok((made_by, arguments.clone_ref(slf.py())))
    }

    /// Returns the counter itself, so copies share cached counts and the learned scale.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!("TokenCounter({:?})", self.name())
    }
}
