//! Recognizes Python strings by identity, without reading them again.
//!
//! A Python string never changes. While it is kept alive, its address identifies it, and its digest can be cached by
//! the address. So a long history is counted without reading its texts again. Editing a message in place puts another
//! string into it, so an edit is still noticed.

use std::collections::HashMap;
use std::fmt;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use super::text::PyText;
use crate::message::{Conversation, digest_of};
use crate::shared::Shared;

/// For strings of at least this many bytes, the look-up is cheaper than the digest.
const WORTH_KNOWING: usize = 512;

/// Strings that were not seen in this many readings are dropped. With 2 instead of 16, counting four conversations in
/// turn took twice the time.
const READINGS_KEPT: u32 = 16;

/// Above this size, strings that the current reading did not use are dropped. Their conversations may be gone, and
/// reading that much again takes a few milliseconds.
const MOST_BYTES: usize = 64 * 1024 * 1024;

struct SeenObjects {
    /// Keeps the string alive, so its address is not reused.
    text: PyBackedStr,
    digest: u128,
    reading: u32,
}

#[derive(Default)]
struct KnownObject {
    /// Entries by the address of the text.
    strings: HashMap<usize, SeenObjects, foldhash::fast::RandomState>,
    /// Total size of all entries.
    bytes: usize,
    reading: u32,
}

/// The digests of long strings in the latest readings. Threads may share it.
#[derive(Default)]
pub struct Identities {
    known: Shared<KnownObject>,
}

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identities").finish_non_exhaustive()
    }
}

impl Identities {
    /// Sets the digest of every long text of `conversation`. O(texts), and O(length) for new texts.
    pub fn recall(&self, py: Python<'_>, conversation: &Conversation<PyText>) {
        // Strings are dropped after the lock is released, because dropping the last reference frees memory of the host.
        let gone = self.known.lock().map(|mut known| {
            known.reading = known.reading.wrapping_add(1);
            for message in &conversation.messages {
                message.texts(|text, _| {
                    if let PyText::Backed { text, digest } = text
                        && text.len() >= WORTH_KNOWING
                    {
                        // Another thread may have set it first; the digest is the same.
                        let _ = digest.set(known.digest(py, text));
                    }
                });
            }
            known.let_go()
        });
        drop(gone);
    }
}

impl KnownObject {
    fn digest(&mut self, py: Python<'_>, text: &PyBackedStr) -> u128 {
        let seen = self.strings.entry(text.as_ptr() as usize).or_insert_with(|| {
            self.bytes += text.len();
            SeenObjects { text: text.clone_ref(py), digest: digest_of(text), reading: self.reading }
        });
        seen.reading = self.reading;
        seen.digest
    }

    /// Removes expired entries and returns their strings.
    fn let_go(&mut self) -> Vec<PyBackedStr> {
        let kept = if self.bytes > MOST_BYTES { 1 } else { READINGS_KEPT };
        if !self.reading.is_multiple_of(kept) {
            return Vec::new();
        }
        let old = |seen: &SeenObjects| self.reading.wrapping_sub(seen.reading) >= kept;
        let gone: Vec<_> = self.strings.extract_if(|_, seen| old(seen)).map(|(_, seen)| seen.text).collect();
        self.bytes -= gone.iter().map(|text| text.len()).sum::<usize>();
        gone
    }
}
