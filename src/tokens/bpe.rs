//! Exact counts by the published byte-pair encodings.

use super::encoding::Encoding;
use super::memo::{LONGEST_WORD, Memo};
use super::split::Splitter;
use super::vocabulary::{LONGEST_TOKEN, Vocabulary};
use super::{CountTokens, MediaRule, Overhead, Precision, TextKind};
use super::{cuts, merge};

/// Tokens around a message. OpenAI's cookbook counts three for its frame and one for its role.
const MESSAGE_OVERHEAD: usize = 4;
/// Tokens around a content block: its type, and the names and ids that providers write out. They publish no number
/// for it; four is what a frame like a message's costs.
const BLOCK_OVERHEAD: usize = 4;

/// Counts by a published encoding, token for token.
///
/// Text that looks like a special token, such as `<|endoftext|>`, is ordinary text. The cost is linear in the text,
/// whatever it holds. The first count builds the table of the encoding, for the whole process; each thread
/// remembers 1 MB of pieces.
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
    /// A counter for `encoding`.
    pub const fn new(encoding: Encoding) -> Self {
        Self { encoding }
    }

    /// The encoding that this counts by.
    pub const fn encoding(self) -> Encoding {
        self.encoding
    }

    /// The pieces of `text`, each with its number of tokens.
    pub fn pieces(self, text: &str) -> impl Iterator<Item = (&str, usize)> {
        let vocabulary = Vocabulary::of(self.encoding);
        (self.encoding.pieces(text)).map(move |piece| (piece, merge::count(vocabulary, piece.as_bytes(), usize::MAX)))
    }

    /// Number of tokens in `text`, or of those up to the first piece that takes them over `limit`.
    fn count_until(self, text: &str, limit: usize) -> usize {
        let text = text.as_bytes();
        let vocabulary = Vocabulary::of(self.encoding);
        Memo::with(self.encoding, |memo| {
            let mut counted = 0;
            let mut at = 0;
            let mut splitter = Splitter::new();
            while at < text.len() && counted <= limit {
                let end = splitter.piece_end(self.encoding, text, at);
                let rest = limit - counted;
                counted += if end - at > LONGEST_WORD && cuts::seem_worthwhile(&text[at..end]) {
                    cuts::count(vocabulary, text, at, end, rest, |start, end| {
                        memo.count(text, start, end, |part| merge::count(vocabulary, part, rest))
                    })
                } else {
                    memo.count(text, at, end, |piece| merge::count(vocabulary, piece, rest))
                };
                at = end;
            }
            counted
        })
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
        // A token has at least one byte and at most so many: often that is the answer.
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
