//! JSON as a flat list of the positions of its values.
//!
//! It is as strict as RFC 8259, but allows lone surrogates, which Python writes. Nothing is decoded and nothing
//! recurses, so the source's numbers, strings and duplicate keys stay unchanged, and depth costs one word for each
//! level. Values are chosen by position and written from their source, so a parser that builds values would do needless
//! work.

use std::ops::Range;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compress) enum Kind {
    Object,
    Array,
    String,
    Number,
    /// `true`, `false` or `null`.
    Word,
}

/// A value, or the key of a member. A key comes before its value.
#[derive(Debug, Clone, Copy)]
pub(in crate::compress) struct Node {
    start: u32,
    end: u32,
    next: u32,
    pub(in crate::compress) kind: Kind,
}

impl Kind {
    /// True if it can contain values.
    pub(in crate::compress) fn is_container(self) -> bool {
        matches!(self, Kind::Object | Kind::Array)
    }
}

impl Node {
    /// Returns the bytes of its source, including quotes and brackets.
    pub(in crate::compress) fn span(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(in crate::compress) fn is_container(self) -> bool {
        self.kind.is_container()
    }
}

/// The values of a text, each before its children.
#[derive(Debug, Default)]
pub(in crate::compress) struct Tape {
    nodes: Vec<Node>,
    open: Vec<u32>,
}

impl Tape {
    /// Parses `text`; `None` unless it is one JSON value. O(length).
    pub(in crate::compress) fn of(text: &str) -> Option<Tape> {
        let mut tape = Tape::default();
        let end = tape.read(text, 0)?;
        (after_space(text.as_bytes(), end) == text.len()).then_some(tape)
    }

    /// Parses the value at or after `start`, replacing the present contents. Returns its end.
    pub(in crate::compress) fn read(&mut self, text: &str, start: usize) -> Option<usize> {
        // Positions take 32 bits, so that the list stays small beside the text.
        u32::try_from(text.len()).ok()?;
        self.nodes.clear();
        self.open.clear();
        self.scan(text.as_bytes(), start)
    }

    pub(in crate::compress) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(in crate::compress) fn node(&self, index: usize) -> Node {
        self.nodes[index]
    }

    /// Returns the index after the last value inside the one at `index`.
    pub(in crate::compress) fn next(&self, index: usize) -> usize {
        self.nodes[index].next as usize
    }

    /// Returns the children of the value at `index`: elements, or keys and values alternating.
    pub(in crate::compress) fn children(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.next(index);
        let first = Some(index + 1).filter(|child| *child < end);
        std::iter::successors(first, move |child| Some(self.next(*child)).filter(|next| *next < end))
    }

    /// Returns the members of the object at `index`, as keys and values.
    pub(in crate::compress) fn members(&self, index: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.children(index).step_by(2).map(|key| (key, key + 1))
    }

    /// Returns the last value or key that begins at or before `offset`.
    pub(in crate::compress) fn at(&self, offset: usize) -> Option<usize> {
        self.nodes.partition_point(|node| node.start as usize <= offset).checked_sub(1)
    }

    fn scan(&mut self, bytes: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        loop {
            at = after_space(bytes, at);
            match *bytes.get(at)? {
                opening @ (b'{' | b'[') => {
                    let kind = if opening == b'{' { Kind::Object } else { Kind::Array };
                    self.open.push(index(self.nodes.len()));
                    self.nodes.push(Node { start: index(at), end: 0, next: 0, kind });
                    let inside = after_space(bytes, at + 1);
                    // A bracket of the wrong kind is rejected below.
                    if !matches!(*bytes.get(inside)?, b'}' | b']') {
                        at = if kind == Kind::Object { self.key(bytes, inside)? } else { inside };
                        continue;
                    }
                    at = inside;
                }
                b'"' => at = self.leaf(Kind::String, at, after_string(bytes, at)?),
                b'-' | b'0'..=b'9' => at = self.leaf(Kind::Number, at, after_number(bytes, at)?),
                _ => at = self.leaf(Kind::Word, at, after_word(bytes, at)?),
            }
            loop {
                let Some(open) = self.open.last() else { return Some(at) };
                let kind = self.nodes[*open as usize].kind;
                at = after_space(bytes, at);
                match (kind, *bytes.get(at)?) {
                    (Kind::Object, b',') => {
                        at = self.key(bytes, after_space(bytes, at + 1))?;
                        break;
                    }
                    (_, b',') => {
                        at += 1;
                        break;
                    }
                    (Kind::Object, b'}') | (Kind::Array, b']') => {
                        at += 1;
                        let next = index(self.nodes.len());
                        let node = &mut self.nodes[*open as usize];
                        (node.end, node.next) = (index(at), next);
                        self.open.pop();
                    }
                    _ => return None,
                }
            }
        }
    }

    /// Reads the key at `at`, and returns the position where its value may begin.
    fn key(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        if bytes.get(at) != Some(&b'"') {
            return None;
        }
        let end = self.leaf(Kind::String, at, after_string(bytes, at)?);
        let colon = after_space(bytes, end);
        (bytes.get(colon) == Some(&b':')).then_some(colon + 1)
    }

    fn leaf(&mut self, kind: Kind, start: usize, end: usize) -> usize {
        let next = index(self.nodes.len() + 1);
        self.nodes.push(Node { start: index(start), end: index(end), next, kind });
        end
    }
}

/// Converts a position. OK because the text was checked to be shorter, and has no more values than bytes.
#[expect(clippy::cast_possible_truncation, reason = "checked where the text comes in")]
pub(super) fn index(place: usize) -> u32 {
    place as u32
}

/// Returns the first position at or after `at` that is not a space.
pub(in crate::compress) fn after_space(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && matches!(bytes[at], b' ' | b'\n' | b'\r' | b'\t') {
        at += 1;
    }
    at
}

/// Returns the position after the string whose opening quote is at `at`.
fn after_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        // Skips the many bytes that cannot end the string.
        while at < bytes.len() && !matches!(bytes[at], b'"' | b'\\' | 0..b' ') {
            at += 1;
        }
        match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match *bytes.get(at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                b'u' if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => at += 6,
                _ => return None,
            },
            _ => return None,
        }
    }
}

fn after_number(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = |at: usize| {
        let count = bytes[at.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then_some(at + count)
    };
    let first = at + usize::from(bytes[at] == b'-');
    let mut at = if bytes.get(first) == Some(&b'0') { first + 1 } else { digits(first)? };
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at = digits(at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-'))))?;
    }
    Some(at)
}

fn after_word(bytes: &[u8], at: usize) -> Option<usize> {
    ["true", "false", "null"].iter().find(|word| bytes[at..].starts_with(word.as_bytes())).map(|word| at + word.len())
}
