//! Stores for removed content, and retrieval from them.

mod disk;
mod file;
mod kind;
mod line;
mod marks;
mod memory;
mod mentions;
mod nearest;
mod reference;
mod retrieve;
mod style;
mod superseded;
mod transcript;

use std::fmt::Debug;
use std::sync::Arc;

use file::reference_of_file;
pub use file::{FileStore, Retention, Sparing};
pub use kind::ContentKind;
pub use line::{MARK, NOTE_ANSWER, Whereabouts, output_marked, removal_note, retrieval_marked, text_marked};
pub use marks::{Marked, RemovalNote, is_retrieved, marked, marked_reference, noted_removals};
pub use memory::MemoryStore;
pub use mentions::mentions;
pub use nearest::nearest;
pub use reference::Reference;
pub use retrieve::{RETRIEVAL_LIMIT, Request, Search, compiled, retrieve, search};
pub use style::{MarkStyle, Places};
pub use superseded::{Went, argument_marked, is_ours, is_superseded, shown, superseded_marked};

pub use transcript::{Flush, Line, Locking, OpenedTranscript, Transcript};

use crate::error::{Error, Result};

/// Stored content, which a store may share.
pub type Content = Arc<Vec<u8>>;

/// Keeps content by reference.
pub trait Store: Debug + Send + Sync {
    /// Keeps `content` under `reference`. Putting the same content twice is allowed.
    ///
    /// # Errors
    /// `Store` if it cannot be written, `Taken` if the reference has other content. Then nothing has changed.
    fn put(&self, reference: &Reference, content: &[u8]) -> Result<()>;

    /// Returns the content of `reference`, byte for byte.
    ///
    /// # Errors
    /// `Store` if it cannot be read, or if there is none. The error names the nearest references.
    fn get(&self, reference: &Reference) -> Result<Content>;

    /// Returns the content for a search. It does not count as returned to a conversation.
    fn peek(&self, reference: &Reference) -> Result<Content> {
        self.get(reference)
    }

    /// Returns every reference, sorted.
    fn list(&self) -> Result<Vec<Reference>>;

    /// Deletes `reference`, and returns if it existed.
    fn delete(&self, reference: &Reference) -> Result<Deletion>;
}

/// The presence of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storing {
    /// Removed content is stored.
    On,
    /// Removed content is lost.
    Off,
}

/// The outcome of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// The content was deleted.
    Deleted,
    /// There was no such content.
    NotFound,
}

/// Parses `text` as a reference for reading from `store`.
///
/// # Errors
/// `Store` if it is not a reference. The error names the nearest stored references.
pub fn reference_in(store: &dyn Store, text: &str) -> Result<Reference> {
    Reference::parse(text).map_err(|error| match error {
        Error::Store { problem, remedy } => {
            let known = store.list().unwrap_or_default();
            match nearest_in_words(text, known.iter().map(Reference::as_str)) {
                Some(named) => Error::Store { problem, remedy: named },
                None => Error::Store { problem, remedy },
            }
        }
        other => other,
    })
}

fn unknown<'a>(reference: &Reference, known: impl Iterator<Item = &'a str>) -> Error {
    let named = nearest_in_words(reference.as_str(), known).unwrap_or_else(|| "the store is empty".to_owned());
    Error::Store {
        problem: format!("nothing is stored as {reference}"),
        remedy: format!("{named}; check the reference, and that this is the store of the same session"),
    }
}

/// Names the nearest stored references, as the remedy of an error.
fn nearest_in_words<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let nearest = nearest(wanted, known);
    (!nearest.is_empty()).then(|| format!("the nearest stored references: {}", nearest.join(", ")))
}

fn collision(reference: &Reference) -> Error {
    Error::Taken { reference: reference.to_string() }
}
