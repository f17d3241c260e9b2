//! Reads the notes and marks that ullage wrote into a conversation.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::text::PyText;
use crate::{store, wire};

/// Returns the number of messages that the first note in a string replaces, and its text.
#[pyfunction]
pub fn removal_note(text: &Bound<'_, PyString>) -> Option<(usize, String)> {
    let text = PyText::of(text);
    let mut notes = wire::joined_texts(&text).into_iter().filter_map(store::noted_removals);
    notes.find(|note| note.messages > 0).map(|note| (note.messages, note.body.to_owned()))
}

/// True if a text is the output of a retrieval.
#[pyfunction]
pub fn is_retrieved(text: &Bound<'_, PyString>) -> bool {
    store::is_retrieved(&PyText::of(text))
}
