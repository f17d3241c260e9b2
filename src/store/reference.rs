//! Content addresses.
//!
//! A reference names its content: the tool it came from and a hash of the bytes, as in `read_file-3f9a0b12c4d5e6f7`.
//! The same output gets the same reference on every machine, so a dry run can name it before anything is stored.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, shown};

/// Hexadecimal digits of the hash in a reference: 64 bits. A store compares the bytes if it already has the reference,
/// so a collision is an error and never a wrong answer.
pub(super) const HASH_DIGITS: usize = 16;

/// Maximum length of the tool's name in a reference. It is part of a file name, whose length systems limit.
pub(super) const LONGEST_TOOL: usize = 32;

/// The name of stored content.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Reference(String);

impl Reference {
    /// Returns the reference of `content` from `tool`. O(length).
    pub fn of(tool: &str, content: &[u8]) -> Reference {
        Reference::salted(tool, content, 0)
    }

    /// Returns another reference of the same content for each `salt`, for a store that has other content under the
    /// first. A salt of 0 gives the reference of [`Reference::of`].
    pub fn salted(tool: &str, content: &[u8], salt: u64) -> Reference {
        let mut hasher = blake3::Hasher::new();
        hasher.update(content);
        if salt != 0 {
            hasher.update(&salt.to_le_bytes());
        }
        let hash = hasher.finalize().to_hex();
        Reference(format!("{}-{}", safe_name(tool), &hash[..HASH_DIGITS]))
    }

    /// Parses a reference.
    ///
    /// # Errors
    /// `Store` if `text` does not have the form of [`Reference::of`]. So a reference can never be a path.
    pub fn parse(text: &str) -> Result<Reference> {
        let well_formed = text.rsplit_once('-').is_some_and(|(tool, hash)| {
            !tool.is_empty()
                && tool.len() <= LONGEST_TOOL
                && tool.bytes().all(is_of_tool)
                && hash.len() == HASH_DIGITS
                && hash.bytes().all(is_of_hash)
        });
        if well_formed {
            return Ok(Reference(text.to_owned()));
        }
        Err(Error::Store {
            problem: format!("'{}' is not a reference", shown(text)),
            remedy: "copy a reference from the conversation, such as read_file-3f9a0b12c4d5e6f7".to_owned(),
        })
    }

    /// Returns the reference as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the tool's part.
    pub(super) fn tool(&self) -> &str {
        self.parts().0
    }

    /// Returns the hash.
    pub(super) fn hash(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        self.0.rsplit_once('-').unwrap_or_default() // There always is one.
    }
}

impl TryFrom<String> for Reference {
    type Error = Error;

    fn try_from(text: String) -> Result<Reference> {
        Reference::parse(&text)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// True if the tool's part of a reference may contain this byte.
pub(super) fn is_of_tool(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

/// True if the hash in a reference may contain this byte.
pub(super) fn is_of_hash(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Returns the tool's name as allowed in a file name: lower case, digits and underscores.
pub(super) fn safe_name(tool: &str) -> String {
    let name: String = tool
        .bytes()
        .map(|byte| byte.to_ascii_lowercase())
        .map(|byte| if is_of_tool(byte) { char::from(byte) } else { '_' })
        .take(LONGEST_TOOL)
        .collect();
    let name = name.trim_matches('_');
    if name.is_empty() { "output".to_owned() } else { name.to_owned() }
}
