//! `validate` and `repair`.

use pyo3::prelude::*;

use super::format::named_format;
use super::node::PyNode;
use crate::error::{Error, Result as CoreResult};
use crate::invariants::Demand;
use crate::message::Conversation;
use crate::validity::{OpenCalls, demands_of, provider_says, repair as mend, shared_demands, validate as judge};
use crate::wire::{self, Format, Node};

/// The rule, the message, the block, the problem, the remedy, and the provider's own error text.
type PyViolation = (&'static str, usize, Option<usize>, String, String, &'static str);
/// The rule, the message, and the repair.
type PyRepair = (&'static str, usize, String);

/// The rule that a message breaks if it cannot be read at all.
const READABLE: &str = "readable-message";

/// A conversation, its format, and the rules of its provider. An ambiguous format has the rules of all possible
/// formats.
struct ReadConversation<T> {
    conversation: Conversation<T>,
    format: Format,
    demands: Vec<Demand>,
}

impl<T> ReadConversation<T> {
    fn read<N: Node<Text = T>>(messages: &N, format: Option<&str>) -> CoreResult<ReadConversation<T>> {
        let (format, demands) = match format {
            Some(name) => {
                let format = named_format(name)?;
                (format, demands_of(format).to_vec())
            }
            None => (wire::format_to_read(messages)?, shared_demands(&wire::formats_of(messages)?)),
        };
        Ok(ReadConversation { conversation: wire::read(messages, format)?, format, demands })
    }
}

#[pyfunction]
#[pyo3(signature = (messages, format = None))]
pub fn validate(messages: &Bound<'_, PyAny>, format: Option<&str>) -> PyResult<Vec<PyViolation>> {
    let ReadConversation { conversation, format, demands } =
        match PyNode::reading(messages, |node| ReadConversation::read(node, format)) {
            Err(Error::Message { index, problem, remedy }) => {
                return Ok(vec![(READABLE, index, None, problem, remedy, "400: invalid request")]);
            }
            read => read?,
        };
    let spans = conversation.spans();
    let violations = judge(&conversation, &demands).into_iter().map(|violation| {
        let (entry, part) = match violation.part {
            Some(part) => {
                let (entry, part) = spans.place(violation.message, part);
                (entry, Some(part))
            }
            None => (conversation.entry(violation.message), None),
        };
        let says = provider_says(violation.rule, format);
        (violation.rule, entry, part, violation.problem, violation.remedy.to_owned(), says)
    });
    Ok(violations.collect())
}

#[pyfunction]
#[pyo3(signature = (messages, format = None, *, remove_open_calls))]
pub fn repair<'py>(
    messages: &Bound<'py, PyAny>,
    format: Option<&str>,
    remove_open_calls: bool,
) -> PyResult<(Vec<Bound<'py, PyAny>>, Vec<PyRepair>)> {
    PyNode::reading(messages, |host| {
        let ReadConversation { conversation, format, demands } = ReadConversation::read(host, format)?;
        let open = if remove_open_calls { OpenCalls::Remove } else { OpenCalls::Answer };
        let repaired = mend(&conversation, &demands, open);
        let repairs = repaired.repairs.into_iter().map(|done| (done.rule, conversation.entry(done.message), done.what));
        let messages = wire::rewrite(host, &conversation, format, &repaired.changes)?;
        Ok((messages.into_iter().map(|entry| entry.value).collect(), repairs.collect()))
    })
}
