//! Exact counts by the published byte-pair encodings.

mod class;
mod classes;
mod crossing;
mod cuts;
mod encoding;
mod linked;
mod long;
mod memo;
mod merge;
mod piece;
mod runs;
mod split;
mod vocabulary;
mod window;

pub use encoding::Encoding;
pub use split::Pieces;

use super::{CountTokens, MediaRule, Overhead, Precision, TextKind};
use memo::{LONGEST_WORD, Memo};
use split::{Splitter, piece_end};
use vocabulary::{LONGEST_TOKEN, NO_TOKEN, Vocabulary};

/// Tokens around a message. OpenAI's cookbook counts three for its frame and one for its role.
const MESSAGE_OVERHEAD: usize = 4;
/// Tokens around a content block: its type, and the names and ids that providers write. No provider publishes this
/// number; four is the cost of a frame like a message's.
const BLOCK_OVERHEAD: usize = 4;

/// Counts by a published encoding, token for token.
///
/// Text that looks like a special token, such as `<|endoftext|>`, is ordinary text. The cost is linear in any text. The
/// first count in a process builds the table of the encoding. Each thread caches 1 MB of pieces.
///
///
/// ```
/// use ullage::tokens::{CountTokens, Encoding, Exact, TextKind};
///
/// let counter = Exact::new(Encoding::O200kBase);
/// assert_eq!(counter.count("hello world", TextKind::Prose), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exact {
    encoding: Encoding,
}

impl Exact {
    /// Returns a counter for `encoding`.
    pub const fn new(encoding: Encoding) -> Self {
        Self { encoding }
    }

    /// Returns the encoding.
    pub const fn encoding(self) -> Encoding {
        self.encoding
    }

    /// Returns the pieces of `text`, each with its number of tokens.
    pub fn pieces(self, text: &str) -> impl Iterator<Item = (&str, usize)> {
        let vocabulary = Vocabulary::of(self.encoding);
        (self.encoding.pieces(text)).map(move |piece| (piece, piece::count(vocabulary, piece.as_bytes(), usize::MAX)))
    }

    /// Returns the number of tokens in `text`, or any number above `limit` if there are more. Stops counting soon after
    /// the limit, even inside one long piece.
    pub fn count_until(self, text: &str, limit: usize) -> usize {
        let text = text.as_bytes();
        Memo::with(self.encoding, |memo| {
            let mut pieces = Counting { vocabulary: Vocabulary::of(self.encoding), memo, text };
            let mut splitter = Splitter::new();
            let mut counted = 0;
            let mut at = 0;
            while at < text.len() && counted <= limit {
                let rest = limit - counted;
                let ends = splitter.ends_after(self.encoding, text, at);
                if ends == 0 {
                    let end = piece_end(self.encoding, text, at);
                    counted += pieces.count(at, end, rest);
                    at = end;
                } else {
                    counted += pieces.count_all(at, ends, rest);
                    at += ends.ilog2() as usize;
                }
            }
            counted
        })
    }
}

/// Counts the pieces of one text.
struct Counting<'a> {
    vocabulary: &'a Vocabulary,
    memo: &'a mut Memo,
    text: &'a [u8],
}

impl Counting<'_> {
    /// Returns the number of tokens in the piece from `start` to `end`, or any number above `limit` if there are more.
    #[inline]
    fn count(&mut self, start: usize, end: usize, limit: usize) -> usize {
        let &mut Self { vocabulary, ref mut memo, text } = self;
        if end - start > LONGEST_WORD && cuts::seem_worthwhile(&text[start..end]) {
            return cuts::count(vocabulary, text, start, end, limit, |start, end| {
                memo.count(text, start, end, |part| piece::count(vocabulary, part, limit))
            });
        }
        memo.count(text, start, end, |piece| piece::count(vocabulary, piece, limit))
    }

    /// Returns the same for all pieces from `base` on that end at a bit of `ends`.
    ///
    /// Pieces of up to three bytes are found by their ends alone and counted separately. So the processor need not
    /// guess the length of the next piece, and the memo keeps its room for words. In base64 they are five in six
    /// pieces.
    #[inline]
    fn count_all(&mut self, base: usize, ends: u64, limit: usize) -> usize {
        let borders = ends | 1;
        let ones = ends & borders << 1;
        let mut counted = ones.count_ones() as usize;
        let mut twos = ends & borders << 2 & !ones;
        let mut threes = ends & borders << 3 & !(ones | twos);
        let mut longer = ends & !(ones | twos | threes);
        while twos != 0 {
            let end = base + twos.trailing_zeros() as usize;
            counted += 1 + usize::from(self.vocabulary.of_bytes(self.text[end - 2], self.text[end - 1]) == NO_TOKEN);
            twos &= twos - 1;
        }
        while threes != 0 {
            let end = base + threes.trailing_zeros() as usize;
            counted += merge::count_three(self.vocabulary, self.text[end - 3], self.text[end - 2], self.text[end - 1]);
            threes &= threes - 1;
        }
        while longer != 0 {
            let end = longer.trailing_zeros();
            let start = (borders & ((1 << end) - 1)).ilog2();
            counted += self.count(base + start as usize, base + end as usize, limit);
            longer &= longer - 1;
        }
        counted
    }
}

impl CountTokens for Exact {
    fn name(&self) -> &str {
        self.encoding.name()
    }

    fn count(&self, text: &str, _: TextKind) -> usize {
        self.count_until(text, usize::MAX)
    }

    fn fits(&self, text: &str, _: TextKind, limit: usize) -> bool {
        // A token has at least one byte and at most this many, which often decides the answer.
        if text.len() <= limit {
            return true;
        }
        if text.len() / LONGEST_TOKEN > limit {
            return false;
        }
        self.count_until(text, limit) <= limit
    }

    fn precision(&self) -> Precision {
        Precision::Exact
    }

    fn overhead(&self) -> Overhead {
        Overhead::even(MESSAGE_OVERHEAD, BLOCK_OVERHEAD)
    }

    fn media_rule(&self) -> MediaRule {
        MediaRule::Tiles
    }
}
