//! Borrows the text of Python strings.

use std::ops::Deref;
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;

use crate::message::{Text, digest_of};

/// A string of the host: its own memory if that is UTF-8, else a copy.
#[derive(Debug)]
pub enum PyText {
    /// Memory of the Python string, which this value keeps alive.
    Backed {
        /// The string.
        text: PyBackedStr,
        /// Its digest, if it is known: see [`Identities`](super::identity::Identities).
        digest: OnceLock<u128>,
    },
    /// Our own copy.
    Owned(String),
}

impl PyText {
    /// Returns the text of a Python string. O(1) for ASCII. Lone surrogates, which no encoding allows, are replaced.
    pub fn of(string: &Bound<'_, PyString>) -> PyText {
        match PyBackedStr::try_from(string.clone()) {
            Ok(text) => PyText::Backed { text, digest: OnceLock::new() },
            Err(_) => PyText::Owned(replace_surrogates(string)),
        }
    }
}

/// Returns the text with one U+FFFD for each lone surrogate. Python's own conversion would write three.
fn replace_surrogates(string: &Bound<'_, PyString>) -> String {
    let replaced = string
        .call_method1("encode", ("utf-16-le", "surrogatepass"))
        .and_then(|bytes| bytes.call_method1("decode", ("utf-16-le", "replace")))
        .and_then(|text| text.extract::<String>());
    replaced.unwrap_or_else(|_| string.to_string_lossy().into_owned())
}

impl Deref for PyText {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            PyText::Backed { text, .. } => text,
            PyText::Owned(text) => text,
        }
    }
}

impl Text for PyText {
    fn digest(&self) -> u128 {
        match self {
            // Computed before the cell is touched, because a fork may come while another thread fills it (see
            // `shared::once`).
            PyText::Backed { text, digest } => digest.get().copied().unwrap_or_else(|| {
                let made = digest_of(text);
                let _ = digest.set(made); // Another thread's is the same.
                made
            }),
            PyText::Owned(text) => digest_of(text),
        }
    }
}

impl From<String> for PyText {
    fn from(text: String) -> PyText {
        PyText::Owned(text)
    }
}
