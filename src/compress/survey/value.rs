//! A JSON value in the tape of its text.

use std::borrow::Cow;
use std::ops::Range;

use crate::compress::json::{Kind, Tape};

/// A value, by its index on the tape.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value<'a> {
    text: &'a str,
    tape: &'a Tape,
    index: usize,
}

impl<'a> Value<'a> {
    pub(super) fn of(text: &'a str, tape: &'a Tape, index: usize) -> Value<'a> {
        Value { text, tape, index }
    }

    pub(super) fn index(self) -> usize {
        self.index
    }

    pub(super) fn kind(self) -> Kind {
        self.tape.node(self.index).kind
    }

    /// Returns the bytes of its source.
    pub(super) fn span(self) -> Range<usize> {
        self.tape.node(self.index).span()
    }

    /// True if the value at `index` is this one or inside it.
    pub(super) fn holds(self, index: usize) -> bool {
        (self.index..self.tape.next(self.index)).contains(&index)
    }

    /// Returns its source.
    pub(super) fn raw(self) -> &'a str {
        &self.text[self.span()]
    }

    /// Returns its source without the quotes of a string, with escapes.
    pub(super) fn inside(self) -> &'a str {
        let raw = self.raw();
        if self.kind() == Kind::String { &raw[1..raw.len() - 1] } else { raw }
    }

    /// Returns the decoded text of a string, or the source of any other value.
    pub(super) fn said(self) -> Cow<'a, str> {
        let inside = self.inside();
        if self.kind() != Kind::String || !inside.contains('\\') {
            return Cow::Borrowed(inside);
        }
        // Half a surrogate pair is not text, so its escape stays.
        serde_json::from_str(self.raw()).map_or(Cow::Borrowed(inside), Cow::Owned)
    }

    /// Returns a number. It may be a string, which APIs use for numbers that do not fit into a double.
    pub(super) fn number(self) -> Option<f64> {
        match self.kind() {
            Kind::Number | Kind::String => self.inside().parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }
    }

    pub(super) fn is_null(self) -> bool {
        self.raw() == "null"
    }

    /// Returns the elements of an array; none for any other value.
    pub(super) fn items(self) -> impl Iterator<Item = Value<'a>> {
        let is_array = self.kind() == Kind::Array;
        self.children().filter(move |_| is_array)
    }

    /// Returns the members of an object; none for any other value.
    pub(super) fn members(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        let is_object = self.kind() == Kind::Object;
        let key = move |place: usize| Value { index: place, ..self }.inside();
        let pair = move |(name, value): (usize, usize)| (key(name), Value { index: value, ..self });
        let members = is_object.then(|| self.tape.members(self.index));
        members.into_iter().flatten().map(pair)
    }

    /// Returns the keys of an object.
    pub(super) fn keys(self) -> impl Iterator<Item = Value<'a>> {
        let is_object = self.kind() == Kind::Object;
        self.children().step_by(2).filter(move |_| is_object)
    }

    /// Returns the number of elements or members.
    pub(super) fn len(self) -> usize {
        match self.kind() {
            Kind::Array => self.items().count(),
            Kind::Object => self.members().count(),
            _ => 0,
        }
    }

    /// Returns the member with the first of `names` that has a value. Names are compared without case, `_` and `-`;
    /// `names` are in that form. O(members).
    pub(super) fn field(self, names: &[&str]) -> Option<Value<'a>> {
        let mut found: Option<(usize, Value<'a>)> = None;
        for (key, value) in self.members() {
            let before = found.map_or(names.len(), |(place, _)| place);
            if let Some(place) = names[..before].iter().position(|name| is_named(key, name))
                && !value.is_null()
            {
                found = Some((place, value));
            }
        }
        found.map(|(_, value)| value)
    }

    fn children(self) -> impl Iterator<Item = Value<'a>> {
        let children = self.kind().is_container().then(|| self.tape.children(self.index));
        children.into_iter().flatten().map(move |index| Value { index, ..self })
    }
}

/// True if `key` equals `name` without regard to case and separators. `name` is in lower case.
pub(super) fn is_named(key: &str, name: &str) -> bool {
    let letters = key.bytes().filter(|byte| !matches!(byte, b'_' | b'-')).map(|byte| byte.to_ascii_lowercase());
    letters.eq(name.bytes())
}
