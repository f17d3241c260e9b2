//! Shortening one text.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::counter::PyTokenCounter;
use super::text::PyText;
use super::whole::Amount;
use crate::compress::{Aim, Compressor, Gap, LeftOut, PlainContent, compress as shorten, json_sample};
use crate::error::Error;
use crate::tokens::{CountTokens, TextKind};

/// First and last line where it is lines, how much it is, what it is, and how many errors are in it.
type LeftOutParts = (Option<(usize, usize)>, usize, &'static str, usize);

/// What is left of the text, `None` for all of it; its kind, what is left out, and its tokens before and after.
type CompressedParts = (Option<String>, &'static str, Vec<LeftOutParts>, usize, usize);

#[pyfunction]
#[pyo3(signature = (text, tool, budget, counter, compressor))]
pub fn compress(
    py: Python<'_>,
    text: &Bound<'_, PyString>,
    tool: &str,
    budget: Option<Amount>,
    counter: &PyTokenCounter,
    compressor: &str,
) -> PyResult<CompressedParts> {
    let compressor = Compressor::ALL.into_iter().find(|known| known.name() == compressor).ok_or_else(|| {
        let known: Vec<&str> = Compressor::ALL.iter().map(|known| known.name()).collect();
        Error::Policy {
            setting: "compressor".to_owned(),
            problem: format!("there is none named '{compressor}'; known are: {}", known.join(", ")),
        }
    })?;
    let text = PyText::of(text);
    let aim = budget.map_or(Aim::Essence, |Amount(tokens)| Aim::Tokens(tokens));
    Ok(py.detach(|| {
        let counter = counter.counting.ledger.now();
        let kind = TextKind::ToolOutput;
        let before = counter.count(&text, kind);
        let (short, what, left_out) = match compressor {
            Compressor::Content if matches!(aim, Aim::Tokens(budget) if before <= budget) => (None, "text", Vec::new()),
            Compressor::Content => match shorten(tool, &text, aim, kind, &counter) {
                Some(short) => (Some(short.text), short.kind.name(), short.left_out.iter().map(parts).collect()),
                None => (None, "text", Vec::new()),
            },
            plain => match plain.plain(&text) {
                Some(short) => (Some(short.text), plain_kind(short.content), Vec::new()),
                None => (None, "text", Vec::new()),
            },
        };
        match short.map(|short| (counter.count(&short, kind), short)) {
            Some((after, short)) if after < before => (Some(short), what, left_out, before, after),
            _ => (None, what, Vec::new(), before, before),
        }
    }))
}

fn plain_kind(content: PlainContent) -> &'static str {
    match content {
        PlainContent::Text => "text",
        PlainContent::Object(_) | PlainContent::List(_) => "json",
    }
}

fn parts(left_out: &LeftOut) -> LeftOutParts {
    let alarms = left_out.alarms;
    match &left_out.gap {
        Gap::Lines(lines) => (Some((lines.start, lines.end - 1)), lines.len(), "lines", alarms),
        Gap::Items(count, noun) => (None, *count, noun, alarms),
        Gap::Characters(count) => (None, *count, "characters", alarms),
    }
}

/// How many keys or elements the JSON in `text` has, and the first of them as JSON; `None` if it is no object or list.
#[pyfunction]
pub fn sample_json(py: Python<'_>, text: &Bound<'_, PyString>) -> Option<(usize, String)> {
    let text = PyText::of(text);
    let sample = py.detach(|| json_sample(&text))?;
    match sample.content {
        PlainContent::Object(keys) => Some((keys, format!("{{{}}}", sample.members))),
        PlainContent::List(items) => Some((items, format!("[{}]", sample.members))),
        PlainContent::Text => None,
    }
}
