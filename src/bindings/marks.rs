//! Reads the texts that ullage wrote into a conversation.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::text::PyText;
use crate::store;

/// Returns the number of messages that a note stands for, and its text.
#[pyfunction]
pub fn removal_note(text: &Bound<'_, PyString>) -> Option<(usize, String)> {
    let text = PyText::of(text);
    store::noted_removals(&text).filter(|note| note.messages > 0).map(|note| (note.messages, note.body.to_owned()))
}

/// True if a text is what a retrieval returned.
#[pyfunction]
pub fn is_retrieved(text: &Bound<'_, PyString>) -> bool {
    store::is_retrieved(&PyText::of(text))
}
