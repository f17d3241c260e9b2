//! The two small traits over which every wire format is written.

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
    /// Returns the word for it in an error.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Scalar => "a number or a bool",
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
    /// Only their number, for counting, because a provider does not count them as text.
    Length,
    /// All of them, in base64 as Strands stores them in a session, for reading.
    Whole,
    /// The same, with escapes for lone surrogates, which text cannot contain. From a store everything comes back
    /// unchanged.
    Stored,
}

/// Maximum nesting of a value: well above any real tool result, and well below the depth that would exhaust a thread's
/// stack. It also ends a cyclic Python structure.
pub const MAX_DEPTH: usize = 256;

/// Maximum nesting of a whole message: its own levels and a value of [`MAX_DEPTH`] inside.
pub const MAX_MESSAGE_DEPTH: usize = MAX_DEPTH + 16;

/// Levels of maps that are merged when several messages become one: the message, its metadata, and the host's own data
/// in them.
pub const UNITED: usize = 3;

/// A value of the host, read in place.
pub trait Node: Clone {
    /// A string of the host, borrowed if possible.
    type Text: Text + From<String> + Sync;

    /// Returns the type of this node.
    fn kind(&self) -> Kind;

    /// True if this is `null` or `None`.
    fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// Returns the field `key`, even if it is null. `None` if there is no such field.
    fn get(&self, key: Key) -> Option<Self>;

    /// Returns the field with a name that no format has, inside a call's arguments.
    fn field(&self, name: &str) -> Option<Self>;

    /// Returns the elements of a list; `None` for any other value.
    fn items(&self) -> Option<Vec<Self>> {
        self.length().map(|length| (0..length).filter_map(|index| self.at(index)).collect())
    }

    /// Returns the number of elements of a list; `None` for any other value.
    fn length(&self) -> Option<usize>;

    /// Returns the number of fields of a dict; `None` for other values, because an object's fields look like its
    /// methods.
    fn field_count(&self) -> Option<usize>;

    /// Returns an element of a list.
    fn at(&self, index: usize) -> Option<Self>;

    /// Returns the text of a string; `None` for any other value. O(1) if the host keeps UTF-8.
    fn text(&self) -> Option<Self::Text>;

    /// Returns the bytes of a string that [`Node::text`] cannot represent, because it is not valid in any encoding.
    fn raw(&self) -> Option<Vec<u8>> {
        None
    }

    /// Returns the number of raw bytes; `None` for any other value.
    fn byte_length(&self) -> Option<usize> {
        None
    }

    /// Copies the raw bytes from `at` on into `into`, and returns their number.
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

    /// Does work that uses no object of the host, and lets the host's other threads run meanwhile.
    fn aside<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }

    /// Returns the field `key`, if it exists and is not null.
    fn present(&self, key: Key) -> Option<Self> {
        self.get(key).filter(|node| !node.is_null())
    }

    /// Returns the value as compact JSON, for counting.
    ///
    /// # Errors
    /// `Conversation` if it is nested deeper than [`MAX_DEPTH`].
    fn rendered(&self) -> Result<Self::Text> {
        let mut out = String::new();
        self.render(&mut out, Bytes::Length, MAX_DEPTH)?;
        Ok(out.into())
    }
}

/// A host that can create new values, which applying a plan needs.
///
/// Nothing is changed in place. A new value shares every part that did not change with the old one.
pub trait Build: Node {
    /// An owned value of the host.
    type Out;

    /// Returns this very value.
    fn keep(&self) -> Self::Out;

    /// Returns a shallow copy of this map or object. These fields are set, or removed if they have no value. Fields of
    /// `others` that it lacks and that are not named are added. Maps in maps are merged likewise, down to [`UNITED`]
    /// levels. An object takes nothing of others.
    fn united(&self, fields: Vec<(Key, Option<Self::Out>)>, others: &[Self]) -> Result<Self::Out>;

    /// Returns a shallow copy of this map or object with these fields set, or removed if they have no value.
    fn with_all(&self, fields: Vec<(Key, Option<Self::Out>)>) -> Result<Self::Out> {
        self.united(fields, &[])
    }

    /// Returns a shallow copy with one field set.
    fn with(&self, key: Key, value: Self::Out) -> Result<Self::Out> {
        self.with_all(vec![(key, Some(value))])
    }

    /// Returns a shallow copy of this map or object with these fields set.
    fn with_fields(&self, fields: Vec<(&str, Self::Out)>) -> Result<Self::Out>;

    /// Returns a new list.
    fn list(&self, items: Vec<Self::Out>) -> Result<Self::Out>;

    /// Returns a truth value.
    fn truth(&self, value: bool) -> Self::Out;

    /// Returns a new string.
    fn string(&self, text: &str) -> Self::Out;

    /// Returns a new map.
    fn map(&self, entries: Vec<(Key, Self::Out)>) -> Result<Self::Out>;

    /// Returns a new value like this one: a map, or an object of the same class.
    fn map_like(&self, entries: Vec<(Key, Self::Out)>) -> Result<Self::Out> {
        self.map(entries)
    }
}
