//! Where content goes that leaves the conversation, and how it comes back.

mod file;
mod memory;
mod reference;
mod retrieve;

use std::fmt::Debug;

pub use file::FileStore;
pub use memory::MemoryStore;
pub use reference::{
    Marked, NOTE_ANSWER, Reference, Whereabouts, marked, marked_reference, noted_removals, output_mark, removal_note,
    retrieval_mark,
};
pub use retrieve::{Request, retrieve};

use crate::error::{Error, Result};

/// Keeps content by reference.
pub trait Store: Debug + Send + Sync {
    /// Keeps `content` under `reference`. Putting the same content twice is no mistake.
    ///
    /// # Errors
    /// `Store` if it cannot be written, `Taken` if other content has that reference. Then nothing has changed.
    fn put(&self, reference: &Reference, content: &[u8]) -> Result<()>;

    /// The content of `reference`, byte for byte.
    ///
    /// # Errors
    /// `Store` if there is none, or it cannot be read.
    fn get(&self, reference: &Reference) -> Result<Vec<u8>>;

    /// Every reference, sorted.
    fn list(&self) -> Result<Vec<Reference>>;

    /// Forgets `reference`; whether there was anything to forget.
    fn delete(&self, reference: &Reference) -> Result<Deletion>;
}

/// Whether there is a store to move things to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storing {
    /// What leaves the conversation is stored.
    On,
    /// What leaves the conversation is lost.
    Off,
}

/// What a deletion found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// The content was there and is gone.
    Deleted,
    /// There was none.
    NotFound,
}

fn unknown(reference: &Reference) -> Error {
    Error::Store {
        problem: format!("nothing is stored as {reference}"),
        remedy: "check the reference, and that this is the store of the same session".to_owned(),
    }
}

fn collision(reference: &Reference) -> Error {
    Error::Taken { reference: reference.to_string() }
}
