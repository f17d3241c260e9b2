//! Measures how well a context helps to predict the agent's next steps.
//!
//! A compressor reads the context, and then the agent's next calls and words. The better the context predicts them, the
//! fewer bytes they take. Calls and words are measured separately, because an agent's style alone helps to predict its
//! words.

use std::io::Write;

use ppmd_rust::Ppmd7Encoder;
use serde::Serialize;

use super::Share;
use super::pieces::{Piece, TextForm, Voice, pieces, plain};
use crate::message::{Message, Text};

/// Number of messages after a cut that count as near, and number that count as far.
const NEAR: usize = 8;
const FAR: usize = 40;

/// Number of preceding characters from which the compressor predicts the next one.
const ORDER: u32 = 8;

/// Bytes of the compressor's model for each byte of text. It needs fewer; without free memory it forgets everything.
const MEMORY: usize = 100;

/// The smallest and largest size of the model.
const MODEL: (usize, usize) = (1 << 20, 1 << 29);

/// Compressed bytes of the near messages, and of the near and far ones together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Bytes {
    near: i64,
    far: i64,
}

/// The agent's actions or words after a cut.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Future {
    near: String,
    far: String,
    /// Compressed size without any context.
    alone: Bytes,
    /// Compressed size after the whole history.
    whole: Bytes,
}

/// The parts of the future that a context can help to predict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Futures {
    acts: Future,
    words: Future,
}

/// The share of the whole history's help that a context gives, as bytes saved by each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Help {
    /// For the arguments of the next calls.
    pub acts_near: Share,
    /// For the arguments of more calls.
    pub acts_far: Share,
    /// For the next words.
    pub words_near: Share,
    /// For more words.
    pub words_far: Share,
}

impl Futures {
    /// Reads the messages after a history; `whole` is the text of that history.
    pub(super) fn of<T: Text>(after: &[Message<T>], whole: &str) -> Futures {
        let near = after.len().min(NEAR);
        let (near, rest) = after.split_at(near);
        let far = &rest[..rest.len().min(FAR - NEAR)];
        let future = |is: fn(&Piece<'_>) -> bool| {
            let mut future =
                Future { near: text(near, is), far: text(far, is), alone: Bytes::default(), whole: Bytes::default() };
            future.alone = future.bytes_after("");
            future.whole = future.bytes_after(whole);
            future
        };
        Futures {
            acts: future(|piece| piece.form == TextForm::Json),
            words: future(|piece| piece.form == TextForm::Plain),
        }
    }

    /// Measures the help of `context`.
    pub(super) fn help(&self, context: &str) -> Help {
        let (acts_near, acts_far) = self.acts.help(context);
        let (words_near, words_far) = self.words.help(context);
        Help { acts_near, acts_far, words_near, words_far }
    }
}

impl Future {
    fn help(&self, context: &str) -> (Share, Share) {
        let with = self.bytes_after(context);
        let share = |alone: i64, whole: i64, with: i64| Share {
            of: (alone - whole).max(0),
            kept: if alone > whole { alone - with } else { 0 },
        };
        (share(self.alone.near, self.whole.near, with.near), share(self.alone.far, self.whole.far, with.far))
    }

    fn bytes_after(&self, context: &str) -> Bytes {
        let bytes = sizes([context, &self.near, &self.far]);
        Bytes { near: bytes[1] - bytes[0], far: bytes[2] - bytes[0] }
    }
}

/// Returns the compressed sizes after each of three consecutive texts. O(length).
#[allow(clippy::cast_possible_truncation)] // The largest model is far below 2^32 bytes.
fn sizes(texts: [&str; 3]) -> [i64; 3] {
    // OK because order and memory are in the compressor's ranges, and writing to a `Vec` cannot fail.
    let length: usize = texts.iter().map(|text| text.len()).sum();
    let memory = (length * MEMORY).clamp(MODEL.0, MODEL.1) as u32;
    let mut encoder = Ppmd7Encoder::new(Vec::new(), ORDER, memory).expect("the parameters are valid");
    texts.map(|text| {
        encoder.write_all(text.as_bytes()).expect("a vector can be written to");
        i64::try_from(encoder.get_ref().len()).unwrap_or(i64::MAX)
    })
}

/// Returns the agent's actions or words in some messages, one on each line.
fn text<T: Text>(messages: &[Message<T>], is: fn(&Piece<'_>) -> bool) -> String {
    let mut out = String::new();
    for piece in messages.iter().flat_map(pieces).filter(|piece| piece.voice == Voice::Used && is(piece)) {
        plain(piece, &mut out);
    }
    out
}
