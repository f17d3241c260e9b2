//! Recognizes strings that were seen before by their identity, without reading them.
//!
//! A Python string never changes, so as long as one is kept alive its place in memory is its name, and its digest can be
//! remembered under it: a long history is then measured without reading its texts again. A message that is edited in place
//! holds another string afterwards, so an edit is noticed anyway.

use std::collections::HashMap;
use std::fmt;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use super::text::PyText;
use crate::message::{Conversation, digest_of};
use crate::shared::Shared;

/// From this many bytes on, looking a string up costs less than its digest.
const WORTH_KNOWING: usize = 512;

/// Readings after which strings that were not seen again are let go. With two, four conversations that are counted in turn
/// took twice the time.
const READINGS_KEPT: u32 = 16;

/// Above this number of bytes, strings that this reading did not use are dropped: their conversations may be gone, and
/// reading that much again takes a few milliseconds.
const MOST_BYTES: usize = 64 * 1024 * 1024;

struct SeenObjects {
    /// Keeps the string alive, so that no other takes its place.
    text: PyBackedStr,
    digest: u128,
    reading: u32,
}

#[derive(Default)]
struct KnownObject {
    /// By the address of the text.
    strings: HashMap<usize, SeenObjects, foldhash::fast::RandomState>,
    /// The size of all entries together.
    bytes: usize,
    reading: u32,
}

/// The digests of the long strings of the last readings. Shared freely between threads.
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
    /// Tells every long text of `conversation` its digest. O(texts), and O(length) for those not seen before.
    pub fn recall(&self, py: Python<'_>, conversation: &Conversation<PyText>) {
        // Strings are let go after the lock: with the last of one goes the host's memory, which is the host's affair.
        let gone = self.known.lock().map(|mut known| {
            known.reading = known.reading.wrapping_add(1);
            for message in &conversation.messages {
                message.texts(|text, _| {
                    if let PyText::Backed { text, digest } = text
                        && text.len() >= WORTH_KNOWING
                    {
                        // A text has one digest, whichever thread computed it first.
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

    /// Removes entries that are no longer kept.
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
