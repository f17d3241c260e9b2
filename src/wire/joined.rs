//! Several texts in one string: a note joins a user's text, and the content stays a string.
//!
//! A border separates them: a line with a number that is computed from everything before it. A pasted page or tool
//! output does not know what precedes it, so it cannot contain a valid border, and a quoted border does not fit its new
//! place. A person who writes the whole string can write one, but only between their own words.

use memchr::memmem;
use xxhash_rust::xxh3::Xxh3;

use super::key::Key;
use super::node::{Build, Node};
use crate::error::Result;
use crate::message::Role;

/// The text before and after the number of a border. With two tokens for the number it takes at most four tokens, like
/// the frame of a block. A line that begins with dashes would take a fifth.
const BORDER: (&str, &str) = ("\n\n", " ---\n");

/// The smallest number, and how many there are. Six digits are two tokens in most vocabularies.
const NUMBERS: (u128, u128) = (100_000, 900_000);
const DIGITS: usize = 6;

/// Returns the texts in a string content; `None` for any other content.
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

/// Returns a content of `entry` with these texts: a string, or a list if they cannot be one string.
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

/// Returns the number of blocks or texts in the content of an entry.
pub(super) fn parts_of<N: Node>(entry: &N) -> usize {
    let Some(content) = entry.present(Key::Content) else { return 0 };
    content.length().unwrap_or_else(|| texts_in(&content, speaker_of(entry)).map_or(1, |texts| texts.len()))
}

/// Returns a text of an entry's string content, as a value of the host.
pub(super) fn text_at<N: Build>(entry: &N, content: &N, part: usize) -> N::Out {
    match texts_in(content, speaker_of(entry)) {
        Some(texts) if texts.len() > 1 => entry.string(texts.get(part).map_or("", |text| text)),
        _ => content.keep(),
    }
}

/// Returns the role that decides how the texts in an entry's content are separated.
pub(super) fn speaker_of<N: Node>(entry: &N) -> Role {
    if is_users(entry) { Role::User } else { Role::Assistant }
}

fn is_users<N: Node>(entry: &N) -> bool {
    entry.get(Key::Role).and_then(|role| role.text()).is_some_and(|role| &*role == "user")
}

/// False if the text is not the whole string, because characters that cannot be encoded would be lost.
fn can_join<N: Node>(content: &N, text: &str) -> bool {
    !text.contains(char::REPLACEMENT_CHARACTER) || content.raw().is_none()
}

/// Joins texts to one string, with a border before each but the first. O(length) for each text.
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

/// Splits a string into its texts; one if it has no border. O(length) for any string.
pub fn joined_texts(string: &str) -> Vec<&str> {
    let mut texts = Vec::new();
    let mut before = Xxh3::new();
    // Hosts may strip the space around a text.
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

/// Returns the number of the border after the text read so far.
fn number(before: &Xxh3) -> String {
    (NUMBERS.0 + before.digest128() % NUMBERS.1).to_string()
}
