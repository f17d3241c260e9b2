//! Summaries of messages that all leave, for hosts that choose themselves which do.

use pyo3::prelude::*;
use pyo3::types::PyString;
use pythonize::pythonize;
use serde::Deserialize;
use serde::de::value::{Error as Unknown, StrDeserializer};

use super::counter::PyTokenCounter;
use super::format::named_format;
use super::node::PyNode;
use super::pending_exception::nothing_raised;
use super::text::PyText;
use super::whole::Amount;
use crate::error::{Error, Result};
use crate::message::Conversation;
use crate::summary::{Removed, SummaryFallback, SummaryPrompt, body, bounded, lost_lines, parts, quoted, request};
use crate::wire;

fn read(messages: &Bound<'_, PyAny>, format: &str) -> Result<Conversation<PyText>> {
    let conversation = wire::read(&PyNode(messages.clone()), named_format(format)?)?;
    nothing_raised()?;
    Ok(conversation)
}

/// All of the conversation leaves; `previous` is what [`audited_summary`] gave, or any other summary.
fn all<'a>(conversation: &'a Conversation<PyText>, previous: &str) -> Removed<'a, PyText> {
    let everything = std::iter::once(0..conversation.messages.len()).collect();
    let previous = if parts(previous).0.is_empty() { body(previous, &[]) } else { previous.to_owned() };
    Removed::of(conversation, everything, std::iter::once(&*previous))
}

/// A setting by its name in a policy.
fn setting<'a, T: Deserialize<'a>>(setting: &str, name: &'a str) -> Result<T> {
    let named: std::result::Result<T, Unknown> = T::deserialize(StrDeserializer::new(name));
    named.map_err(|error| Error::Policy { setting: setting.to_owned(), problem: error.to_string() })
}

/// Returns the fields of a `SummaryRequest` for messages that are removed.
#[pyfunction]
#[pyo3(signature = (messages, counter, *, format, previous, prompt, max_tokens, input))]
#[allow(clippy::too_many_arguments)] // One for each keyword of the class that calls it.
pub fn summary_request<'py>(
    messages: &Bound<'py, PyAny>,
    counter: &PyTokenCounter,
    format: &str,
    previous: &Bound<'py, PyString>,
    prompt: &str,
    max_tokens: Amount,
    input: Amount,
) -> PyResult<Bound<'py, PyAny>> {
    let prompt: SummaryPrompt = setting("summary_prompt", prompt)?;
    let conversation = read(messages, format)?;
    let previous = PyText::of(previous);
    let asked = messages.py().detach(|| {
        let counting = counter.counting.ledger.now();
        let measured = counting.measure(&conversation);
        let sizes: Vec<usize> = (0..conversation.messages.len()).map(|index| measured.message(index)).collect();
        request(&all(&conversation, &previous), &sizes, prompt, max_tokens.0, input.0, &counting)
    });
    Ok(pythonize(messages.py(), &asked)?)
}

/// Writes an account of removed messages without a model.
#[pyfunction]
#[pyo3(signature = (messages, counter, *, format, previous, fallback, max_tokens))]
pub fn summary_without_model(
    messages: &Bound<'_, PyAny>,
    counter: &PyTokenCounter,
    format: &str,
    previous: &Bound<'_, PyString>,
    fallback: &str,
    max_tokens: Amount,
) -> PyResult<String> {
    let fallback: SummaryFallback = setting("summary_fallback", fallback)?;
    let conversation = read(messages, format)?;
    let previous = PyText::of(previous);
    Ok(messages.py().detach(|| {
        let counting = counter.counting.ledger.now();
        fallback.text(&all(&conversation, &previous), max_tokens.0, &counting)
    }))
}

/// A model's summary in at most so many tokens, and the lines of the messages that hold what it lost.
#[pyfunction]
#[pyo3(signature = (messages, counter, *, format, previous, summary, max_tokens, lines))]
#[allow(clippy::too_many_arguments)] // As above.
pub fn audited_summary(
    messages: &Bound<'_, PyAny>,
    counter: &PyTokenCounter,
    format: &str,
    previous: &Bound<'_, PyString>,
    summary: &Bound<'_, PyString>,
    max_tokens: Amount,
    lines: Amount,
) -> PyResult<String> {
    let conversation = read(messages, format)?;
    let [previous, summary] = [previous, summary].map(PyText::of);
    Ok(messages.py().detach(|| {
        let counting = counter.counting.ledger.now();
        let summary = bounded(&quoted(&summary), max_tokens.0, &counting);
        let removed = all(&conversation, &previous);
        let measured = counting.measure(&conversation);
        let lost = lost_lines(&removed, &measured, vec![&*summary], lines.0, &counting);
        body(&summary, &[&lost])
    }))
}

/// A model's summary that stands in a message of its own, where no line of it may pass for one of ours.
#[pyfunction]
pub fn quoted_summary(text: &Bound<'_, PyString>) -> String {
    quoted(&PyText::of(text))
}
