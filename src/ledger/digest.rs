//! Digests of texts, used to cache counts and to recognize conversations.

use crate::media::Media;
use crate::message::{Conversation, Document, Item, Message, Part, Role, Signature, Text, Turn, digest_of};
use crate::tokens::TextKind;
use xxhash_rust::xxh3::xxh3_128;

/// Returns the cache key of a text's count.
pub(super) fn key<T: Text + ?Sized>(text: &T, kind: TextKind) -> u128 {
    mix(kind as u128, text.digest())
}

/// Returns the same digest as [`Measured::digest`](super::Measured::digest) of the whole conversation, without
/// counting.
pub fn fingerprint<T: Text>(conversation: &Conversation<T>) -> u128 {
    let mut keys = Vec::new();
    conversation.messages.iter().fold(0, |fingerprint, message| {
        keys.clear();
        message.texts(|text, kind| keys.push(key(text, kind)));
        mix(fingerprint, digest(message, &keys))
    })
}

/// A digest of the content that a model sees of an entry of the host's list. Other fields do not change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryDigest(pub u128);

impl EntryDigest {
    /// Returns the digest of a list that begins with entries of the digest `before` and continues with this entry.
    pub fn behind(self, before: u128) -> u128 {
        mix(before, self.0)
    }
}

/// Returns the digest of each entry of the host's list. It does not depend on the entries around it. O(length) at
/// memory speed.
pub fn entry_digests<T: Text>(conversation: &Conversation<T>) -> Vec<EntryDigest> {
    let mut digests = Vec::with_capacity(conversation.messages.len());
    for message in &conversation.messages {
        let mut first = 0;
        let later = message.span.later_entries().iter().copied();
        for end in later.chain(std::iter::once(message.parts.len())) {
            let parts = &message.parts[first..end];
            let mut digest = parts.iter().fold(mix(role(message.role), parts.len() as u128), kinds);
            for part in parts {
                part.texts(|text, kind| {
                    digest = mix(digest, if kind == TextKind::Json { of_json(text) } else { key(text, kind) });
                });
            }
            digests.push(EntryDigest(digest));
            first = end;
        }
    }
    digests
}

/// Returns a digest of a JSON text that does not depend on the order of keys, because some session stores change it.
/// Any other text has a digest too. O(length).
fn of_json(text: &str) -> u128 {
    /// An open list, or an open object and its present key.
    #[derive(Default)]
    struct Level {
        is_object: bool,
        digest: u128,
        key: Option<u128>,
    }
    impl Level {
        fn add(&mut self, value: u128) {
            match (self.is_object, self.key.take()) {
                (false, _) => self.digest = mix(self.digest, value),
                (true, Some(key)) => self.digest = self.digest.wrapping_add(mix(key, value)),
                (true, None) => self.key = Some(value),
            }
        }
    }
    let bytes = text.as_bytes();
    let mut outer: Vec<Level> = Vec::new();
    let mut level = Level::default();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        at += 1;
        match bytes[start] {
            open @ (b'{' | b'[') => {
                outer.push(std::mem::replace(&mut level, Level { is_object: open == b'{', ..Level::default() }));
            }
            b'}' | b']' if !outer.is_empty() => {
                let closed = std::mem::replace(&mut level, outer.pop().unwrap_or_default());
                level.add(mix(closed.digest, 1 + u128::from(closed.is_object)));
            }
            b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
            b'"' => {
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
                level.add(xxh3_128(&bytes[start..at]));
            }
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b':' | b']' | b'}' | b'"' | b' ' | b'\n' | b'\r' | b'\t');
                at += bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at);
                level.add(xxh3_128(&bytes[start..at]));
            }
        }
    }
    // Closes the levels that are still open.
    outer.into_iter().rev().fold(level.digest, |digest, level| mix(digest, level.digest))
}

/// Number of bytes of the first text that identify a conversation. Most tasks differ within them.
const RECOGNIZED_BY: usize = 256;

/// Identifies a conversation by its first messages, which no compaction changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Beginning {
    /// A digest of the first message, which may be a system prompt that many conversations share; 0 if there is none.
    pub first: u128,
    /// A digest of the first message and of the first one that is no system prompt.
    pub task: u128,
}

impl Beginning {
    /// Returns the beginning of a conversation.
    pub(super) fn of<T: Text>(conversation: &Conversation<T>) -> Beginning {
        let messages = &conversation.messages;
        let first = messages.first().map_or(0, beginning);
        let task = messages.iter().find(|message| message.role != Role::System).map_or(0, beginning);
        Beginning { first, task: mix(first, task) }
    }
}

/// Returns a digest of a message's role and of the beginning of its first text, or of other content before any text. A
/// note about removed messages is appended, and so does not change it.
fn beginning<T: Text>(message: &Message<T>) -> u128 {
    let of_text = |text: &T| digest_of(&text[..text.floor_char_boundary(RECOGNIZED_BY)]);
    let shown = message.parts.iter().find_map(|part| match part {
        Part::Text(text) | Part::Reasoning { text, .. } | Part::Opaque(text) => Some(of_text(text)),
        Part::Call { id, .. } | Part::Result { id, .. } => Some(of_text(id)),
        Part::Document(document) => document.texts.first().map(of_text),
        Part::Media(media) => Some(media.key()),
        Part::CachePoint => None,
    });
    mix(role(message.role), shown.unwrap_or_default())
}

/// Returns a digest of a message: its texts, and the kinds and order of its parts.
pub(super) fn digest<T>(message: &Message<T>, keys: &[u128]) -> u128 {
    let kinds = message.parts.iter().fold(mix(role(message.role), message.parts.len() as u128), kinds);
    keys.iter().fold(kinds, |digest, key| mix(digest, *key))
}

/// Returns a digest of a message that is the same in every format. `digest` is the format's own.
///
/// Chat has separate fields for reasoning, words and calls, and so loses their order. Chat and the AI SDK put results
/// first. Not every format marks the end of a cached prefix. One conversation must have one digest in all of them.
/// O(parts).
pub(super) fn text_digest<T>(message: &Message<T>, keys: &[u128], digest_as_it_stands: u128) -> u128 {
    if message.parts.is_sorted_by_key(Part::turn) && message.parts.last().is_none_or(|part| part.turn() < Turn::Mark) {
        return digest_as_it_stands;
    }
    let mut rest = keys;
    let mut parts: Vec<(&Part<T>, &[u128])> = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        let mut texts = 0;
        part.texts(|_, _| texts += 1);
        let (own, others) = rest.split_at(texts);
        rest = others;
        parts.push((part, own));
    }
    parts.retain(|(part, _)| part.turn() < Turn::Mark);
    parts.sort_by_key(|(part, _)| part.turn());
    let kinds =
        parts.iter().fold(mix(role(message.role), parts.len() as u128), |digest, (part, _)| kinds(digest, part));
    parts.iter().flat_map(|(_, keys)| *keys).fold(kinds, |digest, key| mix(digest, *key))
}

/// Adds the kinds of a part and of its items to a digest.
fn kinds<T>(digest: u128, part: &Part<T>) -> u128 {
    /// Different from every number for a kind of part or item.
    const MEDIA: u128 = 1 << 127;
    let sized = |digest, media: &Media| mix(digest, MEDIA | media.key());
    let file = |digest, document: &Document<T>| {
        document.media.iter().fold(mix(digest, MEDIA ^ document.texts.len() as u128), sized)
    };
    match part {
        Part::Text(_) => mix(digest, 1),
        Part::Reasoning { signature, .. } => mix(digest, 2 + 8 * u128::from(*signature == Signature::Signed)),
        Part::Call { .. } => mix(digest, 3),
        Part::CachePoint => mix(digest, 4),
        Part::Opaque(_) => mix(digest, 5),
        Part::Media(media) => sized(digest, media),
        Part::Document(document) => file(digest, document),
        Part::Result { items, .. } => items.iter().fold(mix(digest, 6), |digest, item| match item {
            Item::Text(_) => mix(digest, 1),
            Item::Json(_) => mix(digest, 2),
            Item::Opaque(_) => mix(digest, 3),
            Item::Media(media) => sized(digest, media),
            Item::Document(document) => file(digest, document),
        }),
    }
}

fn role(role: Role) -> u128 {
    match role {
        Role::System => 1,
        Role::User => 2,
        Role::Assistant => 3,
    }
}

/// Adds a hash to a digest so that order matters.
pub(super) fn mix(digest: u128, hash: u128) -> u128 {
    /// An odd constant with evenly distributed bits (the golden ratio in 128 bits), as multiplicative hashing requires.
    const SPREAD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    (digest.rotate_left(29) ^ hash).wrapping_mul(SPREAD)
}
