//! Adds up the counts of a conversation.

use crate::message::{Conversation, Document, Item, Part, Text};
use crate::tokens::{CountTokens, MediaRule, Overhead, Scale, TextKind};

use super::digest::{Beginning, digest, key, text_digest};
use super::measured::{Measured, MeasuredMessage, MeasuredPart};

/// Adds up the counts of the texts of a conversation.
pub(super) fn add_up<T: Text>(
    conversation: &Conversation<T>,
    texts: &Texts<'_>,
    counts: &[usize],
    counter: &dyn CountTokens,
    scale: Scale,
) -> Measured {
    let unscaled_overhead = counter.overhead();
    let mut measuring = Measuring {
        counts: counts.iter(),
        scale,
        rule: counter.media_rule(),
        overhead: unscaled_overhead.map(|tokens| scale.of(tokens)),
        unscaled_overhead,
        unscaled: 0,
    };
    let mut measured = Measured { beginning: Beginning::of(conversation), ..Measured::default() };
    let mut digested = 0;
    for message in &conversation.messages {
        let first_part = measured.parts.len();
        let unscaled_before = measuring.unscaled;
        let mut total = measuring.frame(|overhead| overhead.message);
        for part in &message.parts {
            let first_item = measured.items.len();
            let part = measuring.part(part, &mut measured.items);
            measured.parts.push(MeasuredPart { total: part, first_item });
            total += part;
        }
        let seen = counts.len() - measuring.counts.len();
        let keys = &texts.keys[digested..seen];
        let digest = digest(message, keys);
        let text_digest = text_digest(message, keys, digest);
        digested = seen;
        let unscaled = measuring.unscaled - unscaled_before;
        measured.messages.push(MeasuredMessage { total, unscaled, first_part, digest, text_digest });
    }
    measured
}

/// Adds up the counts of a conversation, with and without the scale.
struct Measuring<'a> {
    /// The counts of its texts, in order.
    counts: std::slice::Iter<'a, usize>,
    scale: Scale,
    rule: MediaRule,
    overhead: Overhead,
    unscaled_overhead: Overhead,
    unscaled: usize,
}

impl Measuring<'_> {
    fn frame(&mut self, which: impl Fn(&Overhead) -> usize) -> usize {
        self.unscaled += which(&self.unscaled_overhead);
        which(&self.overhead)
    }

    fn text(&mut self) -> usize {
        let count = self.counts.next().copied().unwrap_or_default(); // OK because each text has its count.
        self.unscaled += count;
        self.scale.of(count)
    }

    fn document<T>(&mut self, document: &Document<T>) -> usize {
        let media: usize = document.media.iter().map(|media| self.rule.tokens(*media)).sum();
        self.unscaled += media;
        self.scale.of(media) + document.texts.iter().map(|_| self.text()).sum::<usize>()
    }

    fn part<T>(&mut self, part: &Part<T>, items: &mut Vec<usize>) -> usize {
        match part {
            Part::CachePoint => 0,
            Part::Media(media) => self.media(self.rule.tokens(*media)) + self.frame(|overhead| overhead.block),
            Part::Document(document) => self.document(document) + self.frame(|overhead| overhead.block),
            Part::Text(_) | Part::Opaque(_) => self.text() + self.frame(|overhead| overhead.block),
            Part::Reasoning { .. } => self.text() + self.frame(|overhead| overhead.reasoning),
            Part::Call { .. } => self.text() + self.text() + self.text() + self.frame(|overhead| overhead.call),
            Part::Result { items: pieces, .. } => {
                let mut total = self.text() + self.frame(|overhead| overhead.result);
                for piece in pieces {
                    let tokens = match piece {
                        Item::Media(media) => self.media(self.rule.tokens(*media)),
                        Item::Document(document) => self.document(document),
                        Item::Text(_) | Item::Json(_) | Item::Opaque(_) => self.text(),
                    };
                    items.push(tokens);
                    total += tokens;
                }
                total
            }
        }
    }

    fn media(&mut self, tokens: usize) -> usize {
        self.unscaled += tokens;
        self.scale.of(tokens)
    }
}

/// The counted texts of a conversation, in order, with their cache keys.
#[derive(Default)]
pub(super) struct Texts<'a> {
    pub texts: Vec<(&'a str, TextKind)>,
    pub keys: Vec<u128>,
}

impl<'a> Texts<'a> {
    pub fn of<T: Text>(conversation: &'a Conversation<T>) -> Texts<'a> {
        /// Usual number of texts in a message. Most messages have a call or a result, with its id.
        const TEXTS_A_MESSAGE: usize = 4;
        let expected = conversation.messages.len() * TEXTS_A_MESSAGE;
        let mut texts = Texts { texts: Vec::with_capacity(expected), keys: Vec::with_capacity(expected) };
        for message in &conversation.messages {
            message.texts(|text, kind| {
                texts.texts.push((text, kind));
                texts.keys.push(key(text, kind));
            });
        }
        texts
    }
}
