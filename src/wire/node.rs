//! The two small traits that every wire format is written over.

use crate::message::Text;

use super::key::Key;
use crate::error::Result;

/// The type of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null` or `None`.
    Null,
    /// A number or a truth value.
    Scalar,
    /// A string.
    Text,
    /// Raw bytes (Python only).
    Bytes,
    /// A list or tuple.
    List,
    /// A dict, or an object with attributes.
    Map,
}

impl Kind {
    /// The word for it in an error.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Scalar => "a number or truth value",
            Kind::Text => "a string",
            Kind::Bytes => "bytes",
            Kind::List => "a list",
            Kind::Map => "an object",
        }
    }
}

/// The representation of raw bytes in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bytes {
    /// Only how many there are: for counting, since a provider does not count them as text.
    Length,
    /// All of them, in base64 as Strands stores them in a session: for reading.
    Whole,
    /// The same, with lone surrogates, which no text can hold, as escapes: for a store, from which all comes back as it was.
    Stored,
}

/// The most levels that a value may be nested: well over any real tool result, well under the depth that would exhaust
/// the stack of a thread. A cyclic Python structure ends here too.
pub const MAX_DEPTH: usize = 256;

/// The most levels of a whole message: its own and a value of [`MAX_DEPTH`] inside.
pub const MAX_MESSAGE_DEPTH: usize = MAX_DEPTH + 16;

/// Levels of maps that are united where several messages become one: the message, its metadata, and what in them is the
/// host's own.
pub const UNITED: usize = 3;

/// A value of the host, read in place.
pub trait Node: Clone {
    /// A string of the host, borrowed where that is possible.
    type Text: Text + From<String> + Sync;

    /// The type of this node.
    fn kind(&self) -> Kind;

    /// True if this is `null` or `None`.
    fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// Returns the field `key`, even if it is null. `None` if there is no such field.
    fn get(&self, key: Key) -> Option<Self>;

    /// The field of a name that no format has: inside of a call's arguments.
    fn field(&self, name: &str) -> Option<Self>;

    /// The elements of a list, `None` for anything else.
    fn items(&self) -> Option<Vec<Self>> {
        self.length().map(|length| (0..length).filter_map(|index| self.at(index)).collect())
    }

    /// Number of elements of a list, `None` for anything else.
    fn length(&self) -> Option<usize>;

    /// Returns the number of fields of a dict; `None` for other values, because an object's fields look like its
    /// methods.
    fn field_count(&self) -> Option<usize>;

    /// An element of a list.
    fn at(&self, index: usize) -> Option<Self>;

    /// The text of a string, `None` for anything else. O(1) where the host keeps UTF-8.
    fn text(&self) -> Option<Self::Text>;

    /// The bytes of a string whose [`Node::text`] is not all of it, because it is no text in any encoding.
    fn raw(&self) -> Option<Vec<u8>> {
        None
    }

    /// The number of raw bytes, `None` for anything else.
    fn byte_length(&self) -> Option<usize> {
        None
    }

    /// Copies the raw bytes from `at` on into `into`; says how many.
    fn read_bytes(&self, _at: usize, _into: &mut [u8]) -> usize {
        0
    }

    /// True if this is the truth value `true`.
    fn is_true(&self) -> bool;

    /// Appends the value to `out` as compact JSON.
    ///
    /// # Errors
    /// `Conversation` if it is nested deeper than `depth`.
    fn render(&self, out: &mut String, bytes: Bytes, depth: usize) -> Result<()>;

    /// Does work that touches nothing of the host, and lets its other threads run meanwhile.
    fn aside<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }

    /// The field `key`, if it is there and not null.
    fn present(&self, key: Key) -> Option<Self> {
        self.get(key).filter(|node| !node.is_null())
    }

    /// The value as compact JSON, for counting.
    ///
    /// # Errors
    /// `Conversation` if it is nested deeper than [`MAX_DEPTH`].
    fn rendered(&self) -> Result<Self::Text> {
        let mut out = String::new();
        self.render(&mut out, Bytes::Length, MAX_DEPTH)?;
        Ok(out.into())
    }
}

/// A host that can make new values: what applying a plan needs beyond reading.
///
/// Nothing is changed in place. A new value shares every part that did not change with the old one.
pub trait Build: Node {
    /// An owned value of the host.
    type Out;

    /// This very value.
    fn keep(&self) -> Self::Out;

    /// A shallow copy of this map or object with these fields set, those without a value taken away, and those fields of
    /// `others` that it has not and that are not named. Maps in maps are united likewise, down to [`UNITED`] levels. An
    /// object takes nothing of others.
    fn united(&self, fields: Vec<(Key, Option<Self::Out>)>, others: &[Self]) -> Result<Self::Out>;

    /// A shallow copy of this map or object with these fields set, those without a value taken away.
    fn with_all(&self, fields: Vec<(Key, Option<Self::Out>)>) -> Result<Self::Out> {
        self.united(fields, &[])
    }

    /// The same with one field set.
    fn with(&self, key: Key, value: Self::Out) -> Result<Self::Out> {
        self.with_all(vec![(key, Some(value))])
    }

    /// Returns a shallow copy of this map or object with these fields set.
    fn with_fields(&self, fields: Vec<(&str, Self::Out)>) -> Result<Self::Out>;

    /// A new list.
    fn list(&self, items: Vec<Self::Out>) -> Result<Self::Out>;

    /// A truth value.
    fn truth(&self, value: bool) -> Self::Out;

    /// A new string.
    fn string(&self, text: &str) -> Self::Out;

    /// A new map.
    fn map(&self, entries: Vec<(Key, Self::Out)>) -> Result<Self::Out>;

    /// A new value of the kind of this one: a map, or an object of the same class.
    fn map_like(&self, entries: Vec<(Key, Self::Out)>) -> Result<Self::Out> {
        self.map(entries)
    }
}
