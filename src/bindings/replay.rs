//! Measures the effect of a compaction on a recorded session, for `ullage.replay`.

use pyo3::prelude::*;
use pyo3::types::PyString;
use pythonize::pythonize;

use super::counter::PyTokenCounter;
use super::format::{named_format, read_messages};
use super::text::PyText;
use super::whole::Amount;
use crate::error::{Error, Result};
use crate::message::Conversation;
use crate::replay::{Context, Coverage, CutRules, Needs, cuts, line_cover, window};
use crate::wire::Format;

/// The baselines by name.
type Baseline = fn(&Conversation<PyText>, crate::ledger::Counting<'_>, usize) -> Context;
const BASELINES: [(&str, Baseline); 2] = [("window", window), ("line-cover", line_cover)];

/// Returns the places to cut a session at: the entry of the list, and the tokens before it.
#[pyfunction]
#[pyo3(signature = (messages, counter, *, tokens, most, least_after, format))]
pub fn session_cuts(
    messages: &Bound<'_, PyAny>,
    counter: &PyTokenCounter,
    tokens: Amount,
    most: Amount,
    least_after: Amount,
    format: Option<&str>,
) -> PyResult<Vec<(usize, usize)>> {
    let (_, conversation) = read_messages(messages, format.map(named_format).transpose()?)?;
    let cutting = CutRules { tokens: tokens.0, most: most.0, least_after: least_after.0 };
    let found = messages.py().detach(|| {
        let measured = counter.counting.ledger.measure(&conversation);
        let before = |cut: usize| (0..cut).map(|message| measured.message(message)).sum();
        let cuts = cuts(&conversation, &measured, cutting);
        cuts.into_iter().map(|cut| (conversation.entry(cut), before(cut))).collect()
    });
    Ok(found)
}

/// Everything that the messages after a cut used of the messages before it.
#[pyclass(frozen, name = "Needs", module = "ullage._core")]
#[derive(Debug)]
pub struct PyNeeds {
    needs: Needs,
    format: Format,
}

#[pymethods]
impl PyNeeds {
    #[new]
    #[pyo3(signature = (messages, cut, *, format))]
    fn new(messages: &Bound<'_, PyAny>, cut: Amount, format: Option<&str>) -> PyResult<PyNeeds> {
        let (format, conversation) = read_messages(messages, format.map(named_format).transpose()?)?;
        let message = conversation.message_of(cut.0).unwrap_or(conversation.messages.len());
        let needs = messages.py().detach(|| Needs::of(&conversation, message));
        Ok(PyNeeds { needs, format })
    }

    /// Returns how much of the needs is in the messages of a context, and how much is in content stored beside it.
    fn kept_in<'py>(&self, context: &Bound<'py, PyAny>, stored: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyAny>> {
        let shown = self.coverage(context)?;
        let retention = context.py().detach(|| {
            let mut beside = Coverage::default();
            for content in stored {
                beside.add_text(&String::from_utf8_lossy(&content));
            }
            self.needs.kept_in(&shown, &beside)
        });
        Ok(pythonize(context.py(), &retention)?)
    }

    /// Returns the needed anchors that are missing in the messages of a context.
    fn lost(&self, context: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        Ok(self.needs.lost(&self.coverage(context)?).into_iter().map(str::to_owned).collect())
    }

    /// Returns the tokens that a baseline keeps of a history, and how much of the needs.
    #[pyo3(signature = (name, history, counter, budget))]
    fn kept_by<'py>(
        &self,
        name: &Bound<'py, PyString>,
        history: &Bound<'py, PyAny>,
        counter: &PyTokenCounter,
        budget: Amount,
    ) -> PyResult<(usize, Bound<'py, PyAny>)> {
        let name = PyText::of(name);
        let baseline = BASELINES.iter().find(|(known, _)| *known == &*name).ok_or_else(|| Error::Policy {
            setting: "baseline".to_owned(),
            problem: format!(
                "unknown baseline '{}'; known are {}",
                &*name,
                BASELINES.map(|(known, _)| known).join(", ")
            ),
        })?;
        let (_, conversation) = read_messages(history, Some(self.format))?;
        let (tokens, retention) = history.py().detach(|| {
            let context = baseline.1(&conversation, counter.counting.ledger.now(), budget.0);
            let shown = context.coverage(&conversation);
            (context.tokens, self.needs.kept_in(&shown, &Coverage::default()))
        });
        Ok((tokens, pythonize(history.py(), &retention)?))
    }
}

impl PyNeeds {
    fn coverage(&self, context: &Bound<'_, PyAny>) -> Result<Coverage> {
        let (_, conversation) = read_messages(context, Some(self.format))?;
        Ok(context.py().detach(|| {
            let mut shown = Coverage::default();
            for message in &conversation.messages {
                shown.add_message(message);
            }
            shown
        }))
    }
}
