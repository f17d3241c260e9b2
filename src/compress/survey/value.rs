//! A value of JSON in the tape of its text.

use std::borrow::Cow;
use std::ops::Range;

use crate::compress::json::{Kind, Tape};

/// A value, by its place.
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

    /// The bytes of the text that it takes.
    pub(super) fn span(self) -> Range<usize> {
        self.tape.node(self.index).span()
    }

    /// True if the value at `index` is this one or in it.
    pub(super) fn holds(self, index: usize) -> bool {
        (self.index..self.tape.next(self.index)).contains(&index)
    }

    /// The value as its source has it.
    pub(super) fn raw(self) -> &'a str {
        &self.text[self.span()]
    }

    /// The same without the quotes of a string; escapes stay.
    pub(super) fn inside(self) -> &'a str {
        let raw = self.raw();
        if self.kind() == Kind::String { &raw[1..raw.len() - 1] } else { raw }
    }

    /// Returns the text of a string, and the source of anything else.
    pub(super) fn said(self) -> Cow<'a, str> {
        let inside = self.inside();
        if self.kind() != Kind::String || !inside.contains('\\') {
            return Cow::Borrowed(inside);
        }
        // Halves of surrogate pairs are no text: then the escapes stay.
        serde_json::from_str(self.raw()).map_or(Cow::Borrowed(inside), Cow::Owned)
    }

    /// A number, also one that is written as a string, as APIs write what is longer than a double.
    pub(super) fn number(self) -> Option<f64> {
        match self.kind() {
            Kind::Number | Kind::String => self.inside().parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }
    }

    pub(super) fn is_null(self) -> bool {
        self.raw() == "null"
    }

    /// The elements of an array; nothing for anything else.
    pub(super) fn items(self) -> impl Iterator<Item = Value<'a>> {
        let is_array = self.kind() == Kind::Array;
        self.children().filter(move |_| is_array)
    }

    /// The members of an object; nothing for anything else.
    pub(super) fn members(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        let is_object = self.kind() == Kind::Object;
        let key = move |place: usize| Value { index: place, ..self }.inside();
        let pair = move |(name, value): (usize, usize)| (key(name), Value { index: value, ..self });
        let members = is_object.then(|| self.tape.members(self.index));
        members.into_iter().flatten().map(pair)
    }

    /// The keys of an object.
    pub(super) fn keys(self) -> impl Iterator<Item = Value<'a>> {
        let is_object = self.kind() == Kind::Object;
        self.children().step_by(2).filter(move |_| is_object)
    }

    /// The number of elements or members.
    pub(super) fn len(self) -> usize {
        match self.kind() {
            Kind::Array => self.items().count(),
            Kind::Object => self.members().count(),
            _ => 0,
        }
    }

    /// The member under the first of `names` that has a value. Names are compared without case, `_` and `-`, and
    /// `names` are written so. O(members).
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

/// True if `key` is `name`, which is in lower case, except for its case and what joins its words.
pub(super) fn is_named(key: &str, name: &str) -> bool {
    let letters = key.bytes().filter(|byte| !matches!(byte, b'_' | b'-')).map(|byte| byte.to_ascii_lowercase());
    letters.eq(name.bytes())
}
