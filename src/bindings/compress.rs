//! Shortens one text.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::counter::PyTokenCounter;
use super::text::PyText;
use super::whole::Amount;
use crate::compress::{Aim, Compressor, Focus, Gap, LeftOut, PlainContent, Request, compress as shorten, json_sample};
use crate::error::Error;
use crate::parallel;
use crate::store::compiled;
use crate::tokens::{CountTokens, TextKind};

/// A text of at least this many bytes is counted without the interpreter lock: that takes about a millisecond.
const WORTH_A_THREAD: usize = 128 * 1024;

/// The first and last line if the gap is in lines, its size, its unit, and the number of errors in it.
type LeftOutParts = (Option<(usize, usize)>, usize, &'static str, usize);

/// The shortened text, `None` if nothing is missing; its kind, its gaps, and its tokens before and after.
type CompressedParts = (Option<String>, &'static str, Vec<LeftOutParts>, usize, usize);

#[pyfunction]
#[pyo3(signature = (text, tool, budget, counter, compressor, *, lines, pattern))]
#[allow(clippy::too_many_arguments)] // One for each keyword of the Python function that calls it.
pub fn compress(
    py: Python<'_>,
    text: &Bound<'_, PyString>,
    tool: &str,
    budget: Option<Amount>,
    counter: &PyTokenCounter,
    compressor: &str,
    lines: Option<(Amount, Amount)>,
    pattern: Option<&str>,
) -> PyResult<CompressedParts> {
    let compiled = |pattern| {
        compiled(pattern).map_err(|error| Error::Policy { setting: "pattern".to_owned(), problem: error.to_string() })
    };
    let pattern = pattern.map(compiled).transpose()?;
    let focus = match (lines, &pattern) {
        (Some((Amount(first), Amount(last))), _) => Some(Focus::Lines(first..last.saturating_add(1))),
        (None, Some(pattern)) => Some(Focus::Pattern(pattern)),
        (None, None) => None,
    };
    let compressor = Compressor::ALL.into_iter().find(|known| known.name() == compressor).ok_or_else(|| {
        let known: Vec<&str> = Compressor::ALL.iter().map(|known| known.name()).collect();
        Error::Policy {
            setting: "compressor".to_owned(),
            problem: format!("unknown name '{compressor}'; known are: {}", known.join(", ")),
        }
    })?;
    let text = PyText::of(text);
    let aim = budget.map_or(Aim::Essence, |Amount(tokens)| Aim::Tokens(tokens));
    Ok(py.detach(|| {
        let counter = counter.counting.ledger.now();
        let kind = TextKind::ToolOutput;
        let shortened = || match compressor {
            Compressor::Content => {
                match shorten(&text, &Request { focus: focus.clone(), ..Request::of(tool, aim) }, &counter) {
                    Some(short) => (Some(short.text), short.kind.name(), short.left_out.iter().map(parts).collect()),
                    None => (None, "text", Vec::new()),
                }
            }
            plain => match plain.plain(&text) {
                Some(short) => (Some(short.text), plain_kind(short.content), Vec::new()),
                None => (None, "text", Vec::new()),
            },
        };
        let count = || counter.count(&text, kind);
        let (before, (short, what, left_out)) = parallel::both(text.len(), WORTH_A_THREAD, count, shortened);
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
    let failure_words = left_out.failure_words;
    match &left_out.gap {
        Gap::Lines(lines) | Gap::Numbered(lines, _) => {
            (Some((lines.start, lines.end - 1)), lines.len(), "lines", failure_words)
        }
        Gap::Items(count, noun) => (None, *count, noun, failure_words),
        Gap::Characters(count) => (None, *count, "characters", failure_words),
    }
}

/// Returns the number of keys or elements of the JSON in `text`, and the first of them as JSON; `None` if it is not an
/// object or list.
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
