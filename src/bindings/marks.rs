//! What ullage wrote into a conversation, read back.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::text::PyText;
use crate::store;

/// How many messages a note in place of removed messages speaks of, and what it says of them.
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
