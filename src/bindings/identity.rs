//! Strings that were seen before, known by what they are rather than by what they say.
//!
//! A Python string never changes, so as long as one is kept alive its place in memory is its name, and its digest can be
//! remembered under it: a long history is then measured without reading its texts again. A message that is edited in place
//! holds another string afterwards, so an edit is noticed all the same.

use std::collections::HashMap;
use std::fmt;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use super::text::PyText;
use crate::message::{Conversation, digest_of};

/// From this many bytes on, looking a string up costs less than its digest.
const WORTH_KNOWING: usize = 512;

/// Readings after which strings that were not seen again are let go.
const READINGS_KEPT: u32 = 16;

struct Seen {
    /// Keeps the string alive, so that no other takes its place.
    text: PyBackedStr,
    digest: u128,
    reading: u32,
}

#[derive(Default)]
struct Known {
    /// By the address of the text.
    strings: HashMap<usize, Seen, foldhash::fast::RandomState>,
    reading: u32,
}

/// The digests of the long strings of the last readings. Shared freely between threads.
#[derive(Default)]
pub struct Identities {
    known: Mutex<Known>,
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
        let mut gone = Vec::new();
        {
            let mut known = self.known.lock();
            let Known { strings, reading } = &mut *known;
            *reading = reading.wrapping_add(1);
            for message in &conversation.messages {
                message.texts(|text, _| {
                    let PyText::Backed { text, digest } = text else { return };
                    if text.len() < WORTH_KNOWING {
                        return;
                    }
                    let seen = strings.entry(text.as_ptr() as usize).or_insert_with(|| Seen {
                        text: text.clone_ref(py),
                        digest: digest_of(text),
                        reading: *reading,
                    });
                    seen.reading = *reading;
                    // A text has one digest, whoever tells it first.
                    let _ = digest.set(seen.digest);
                });
            }
            if reading.is_multiple_of(READINGS_KEPT) {
                let old = |seen: &Seen| reading.wrapping_sub(seen.reading) >= READINGS_KEPT;
                gone.extend(strings.extract_if(|_, seen| old(seen)).map(|(_, seen)| seen.text));
            }
        }
        drop(gone);
    }
}
