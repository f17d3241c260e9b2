//! Several texts in one string: a note joins a user's text, and the content stays a string.
//!
//! A border is between them: a line with a number that is made from everything before it. A page or a tool whose output
//! somebody pastes does not know what is before it, so it cannot write a border, and a quoted one does not fit its new
//! place. Who writes the whole string can, but only among words of their own.

use memchr::memmem;
use xxhash_rust::xxh3::Xxh3;

use super::key::Key;
use super::node::{Build, Node};
use crate::error::Result;
use crate::message::Role;

/// The text before the number of a border, and after it. With two tokens of the number it takes at most four tokens,
/// as the frame of a block does: a line that begins with dashes would take a fifth.
const BORDER: (&str, &str) = ("\n\n", " ---\n");

/// The smallest number and how many there are: six digits are two tokens in most vocabularies.
const NUMBERS: (u128, u128) = (100_000, 900_000);
const DIGITS: usize = 6;

/// The texts in a content that is a string; `None` for any other content.
pub(super) fn texts_in<N: Node>(content: &N, role: Role) -> Option<Vec<N::Text>> {
    let text = content.text()?;
    if role == Role::User && can_join(content, &text) {
        let texts = joined_texts(&text);
        if texts.len() > 1 {
            return Some(texts.into_iter().map(|text| text.to_owned().into()).collect());
        }
    }
    Some(vec![text])
}

/// The content of `entry` that is a string of these texts, or a list where they cannot be one string.
pub(super) fn content_of<N: Build>(
    entry: &N,
    content: &N,
    texts: &[&str],
    text_block: impl Fn(&N, N::Out) -> Result<N::Out>,
) -> Result<N::Out> {
    let whole = content.text();
    let out = |text: &str| if whole.as_deref() == Some(text) { content.keep() } else { entry.string(text) };
    if let [text] = texts {
        return Ok(out(text));
    }
    if is_users(entry) && whole.as_deref().is_none_or(|text| can_join(content, text)) {
        return Ok(entry.string(&join(texts)));
    }
    entry.list(texts.iter().map(|text| text_block(entry, out(text))).collect::<Result<_>>()?)
}

/// The number of blocks or texts in the content of an entry.
pub(super) fn parts_of<N: Node>(entry: &N) -> usize {
    let Some(content) = entry.present(Key::Content) else { return 0 };
    content.length().unwrap_or_else(|| texts_in(&content, speaker_of(entry)).map_or(1, |texts| texts.len()))
}

/// A text of the string that is the content of an entry, as a value of the host.
pub(super) fn text_at<N: Build>(entry: &N, content: &N, part: usize) -> N::Out {
    match texts_in(content, speaker_of(entry)) {
        Some(texts) if texts.len() > 1 => entry.string(texts.get(part).map_or("", |text| text)),
        _ => content.keep(),
    }
}

/// The role by which the texts in the content of an entry are told apart.
pub(super) fn speaker_of<N: Node>(entry: &N) -> Role {
    if is_users(entry) { Role::User } else { Role::Assistant }
}

fn is_users<N: Node>(entry: &N) -> bool {
    entry.get(Key::Role).and_then(|role| role.text()).is_some_and(|role| &*role == "user")
}

/// False for a string of which a text is not all: what cannot be encoded would be lost.
fn can_join<N: Node>(content: &N, text: &str) -> bool {
    !text.contains(char::REPLACEMENT_CHARACTER) || content.raw().is_none()
}

/// One string of texts, with a border before each but the first. O(length), for each text.
pub(super) fn join(texts: &[&str]) -> String {
    let mut out = String::new();
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            let mut hasher = Xxh3::new();
            hasher.update(out.trim_start().as_bytes());
            let number = number(&hasher);
            out.extend([BORDER.0, &number, BORDER.1]);
        }
        out.push_str(text);
    }
    out
}

/// The texts of a string, which is one where it has no border. O(length), whatever it holds.
pub fn joined_texts(string: &str) -> Vec<&str> {
    let mut texts = Vec::new();
    let mut before = Xxh3::new();
    // Hosts may take away the space around a text.
    let (mut start, mut read) = (0, string.len() - string.trim_start().len());
    for tail in memmem::find_iter(string.as_bytes(), BORDER.1) {
        let Some(border) = tail.checked_sub(BORDER.0.len() + DIGITS).filter(|border| *border >= start) else {
            continue;
        };
        let Some(told) = string.get(border..tail).and_then(|border| border.strip_prefix(BORDER.0)) else { continue };
        if read < border {
            before.update(&string.as_bytes()[read..border]);
            read = border;
        }
        if told == number(&before) {
            texts.push(&string[start..border]);
            start = tail + BORDER.1.len();
        }
    }
    texts.push(&string[start..]);
    texts
}

/// The number of the border after what was read.
fn number(before: &Xxh3) -> String {
    (NUMBERS.0 + before.digest128() % NUMBERS.1).to_string()
}
