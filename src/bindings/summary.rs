//! Summaries of message ranges that the host chooses.

use pyo3::prelude::*;
use pyo3::types::PyString;
use pythonize::pythonize;
use serde::Deserialize;
use serde::de::value::{Error as Unknown, StrDeserializer};

use super::counter::PyTokenCounter;
use super::format::{named_format, read_messages};
use super::text::PyText;
use super::whole::Amount;
use crate::error::Error;
use crate::message::Conversation;
use crate::summary::{Removed, SummaryPrompt, body, parts, quoted, request};

/// Returns a removal of the whole conversation. `previous` is the body of a note, or any other summary.
fn all<'a>(conversation: &'a Conversation<PyText>, previous: &str) -> Removed<'a, PyText> {
    let everything = std::iter::once(0..conversation.messages.len()).collect();
    let previous = if parts(previous).0.is_empty() { body(previous, &[]) } else { previous.to_owned() };
    Removed::of(conversation, everything, std::iter::once(&*previous))
}

/// Returns the fields of a `SummaryRequest` for removed messages.
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
    let named: Result<SummaryPrompt, Unknown> = SummaryPrompt::deserialize(StrDeserializer::new(prompt));
    let prompt =
        named.map_err(|error| Error::Policy { setting: "summary_prompt".to_owned(), problem: error.to_string() })?;
    let (_, conversation) = read_messages(messages, Some(named_format(format)?))?;
    let previous = PyText::of(previous);
    let asked = messages.py().detach(|| {
        let counting = counter.counting.ledger.now();
        let measured = counting.measure(&conversation);
        let sizes: Vec<usize> = (0..conversation.messages.len()).map(|index| measured.message(index)).collect();
        request(&all(&conversation, &previous), &sizes, prompt, max_tokens.0, input.0, &counting)
    });
    Ok(pythonize(messages.py(), &asked)?)
}

/// Quotes a model's summary for a message of its own, so that no line of it can imitate a line of ullage.
#[pyfunction]
pub fn quoted_summary(text: &Bound<'_, PyString>) -> String {
    quoted(&PyText::of(text))
}
