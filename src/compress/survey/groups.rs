//! Rows in groups: spans in traces or resources, log lines in streams.
//!
//! The formats are those of Cloud Trace and Jaeger (`spans`), OTLP and Tempo (`scopeSpans`), and Loki (`stream` and
//! `values`).

use super::names::SPAN_ID;
use super::shape::{self, PayloadKind};
use super::value::Value;
use crate::compress::json::Kind;

/// The field of a trace with its spans, and the fields of a resource with its scopes.
const SPANS: [&str; 1] = ["spans"];
const SCOPES: [&str; 2] = ["scopespans", "instrumentationlibraryspans"];

/// The fields of a Loki stream with its labels and its lines.
pub(super) const STREAM: [&str; 1] = ["stream"];
const LINES: [&str; 1] = ["values"];

/// Members of a group that are its rows, or describe all of them.
const PARTS: [&str; 7] =
    ["spans", "scopespans", "instrumentationlibraryspans", "processes", "resource", "stream", "values"];

/// Number of groups that are checked to recognize their kind, and the percentage that must match.
const LOOKED_AT: usize = 64;
const MOST: usize = 60;

/// The percentage of an object that must be its rows, so that nothing else is overlooked; and the percentage for a
/// group among others, which may hold one short span.
const MOST_OF_ONE: usize = 66;
const LEAST_OF_EACH: usize = 33;

/// Rows and their container.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group<'a> {
    value: Value<'a>,
    form: GroupForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupForm {
    /// A group with its own rows.
    Group,
    /// A row among groups.
    Row,
    /// Elements or members that are rows, without groups.
    Plain,
}

/// Returns the kind of the groups in a value, or of a value that is a group. Reads only the first of them.
pub(super) fn grouped(main: Value<'_>) -> Option<PayloadKind> {
    match main.kind() {
        Kind::Object => kind_of(main).filter(|_| consists_of_rows(main, MOST_OF_ONE)),
        Kind::Array => {
            let (mut groups, mut all, mut kind) = (0, 0, None);
            for one in main.items().take(LOOKED_AT) {
                all += 1;
                match kind_of(one) {
                    Some(its) if consists_of_rows(one, LEAST_OF_EACH) => {
                        groups += 1;
                        kind = kind.or(Some(its));
                    }
                    None if is_group(one) => groups += 1,
                    _ => {}
                }
            }
            kind.filter(|_| groups * 100 >= all * MOST)
        }
        _ => None,
    }
}

/// Returns the groups in a value, or the value as the only group.
pub(super) fn groups(main: Value<'_>) -> impl Iterator<Item = Group<'_>> {
    let grouped = grouped(main).is_some();
    let several = grouped && main.kind() == Kind::Array;
    let form = if grouped { GroupForm::Group } else { GroupForm::Plain };
    let each = main.items().filter(move |_| several);
    let each = each.map(|value| Group { value, form: if is_group(value) { GroupForm::Group } else { GroupForm::Row } });
    (!several).then_some(Group { value: main, form }).into_iter().chain(each)
}

impl<'a> Group<'a> {
    /// Returns the value around the rows, if it describes them.
    pub(super) fn around(self) -> Option<Value<'a>> {
        (self.form == GroupForm::Group).then_some(self.value)
    }

    /// Returns the rows, with their keys if they are members of an object.
    pub(super) fn rows(self) -> impl Iterator<Item = (Option<&'a str>, Value<'a>)> {
        let value = self.value;
        let is = move |form| (self.form == form).then_some(value);
        let plain = is(GroupForm::Plain).into_iter();
        let members = plain.clone().flat_map(Value::members).map(|(key, row)| (Some(key), row));
        let listed = plain.chain(self.lists()).flat_map(Value::items).chain(is(GroupForm::Row));
        listed.map(|row| (None, row)).chain(members)
    }

    /// Returns the lists that contain the rows.
    pub(super) fn lists(self) -> impl Iterator<Item = Value<'a>> {
        self.around().into_iter().flat_map(lists)
    }
}

fn lists(group: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let scopes = group.field(&SCOPES).filter(|scopes| scopes.kind() == Kind::Array);
    let names = if group.field(&STREAM).is_some() { &LINES } else { &SPANS };
    let holders = scopes.is_none().then_some(group).into_iter().chain(scopes.into_iter().flat_map(Value::items));
    holders.filter_map(|holder| holder.field(names)).filter(|list| list.kind() == Kind::Array)
}

/// Returns the kind of a group by its first row. A span may contain the spans that it called, but is not a group.
fn kind_of(group: Value<'_>) -> Option<PayloadKind> {
    if !is_group(group) {
        return None;
    }
    let first = lists(group).flat_map(Value::items).next()?;
    if group.field(&STREAM).is_some() {
        return line(first).map(|_| PayloadKind::Logs);
    }
    shape::is(first, PayloadKind::Traces).then_some(PayloadKind::Traces)
}

/// True if a value has the lists of a group, even empty ones.
fn is_group(value: Value<'_>) -> bool {
    match value.field(&STREAM) {
        Some(stream) => stream.kind() == Kind::Object && lists(value).next().is_some(),
        None => value.field(&SPAN_ID).is_none() && lists(value).next().is_some(),
    }
}

/// Returns the time, the text and the optional labels of a line in a stream.
pub(super) fn line(row: Value<'_>) -> Option<(Value<'_>, Value<'_>, Option<Value<'_>>)> {
    let mut parts = row.items();
    let (time, text) = (parts.next()?, parts.next()?);
    (!time.kind().is_container() && text.kind() == Kind::String).then(|| (time, text, parts.next()))
}

fn consists_of_rows(group: Value<'_>, hundredths: usize) -> bool {
    let parts = group.members().filter(|(key, _)| PARTS.iter().any(|part| super::value::is_named(key, part)));
    let size: usize = parts.map(|(_, part)| part.raw().len()).sum();
    size * 100 >= group.raw().len() * hundredths
}
