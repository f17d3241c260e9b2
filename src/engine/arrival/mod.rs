//! Shortens a tool result as it arrives, before it enters the history. This is the cheapest compaction, because no
//! cached prefix changes.

mod shape;

use std::ops::Deref;

use super::Engine;
use crate::compress::Compressor;
use crate::error::Result;
use crate::parallel;
use crate::planner::{References, ShortText, marked_short, shorten};
use crate::store::{Reference, marked};
use crate::tokens::{CountTokens, TextKind};
use crate::wire::{Build, Bytes, Key, Kind, MAX_DEPTH};
use crate::working_copy::Bounds;
use shape::{OutputPlace, find_output, is_content};

/// A text of at least this many bytes is counted on its own thread: about a millisecond of work.
const WORTH_A_THREAD: usize = 128 * 1024;

/// Maximum depth at which blocks are searched: a list of blocks whose items are blocks, in a wrapper, and a few more.
const DEEPEST: usize = 8;

/// The result of shrinking a tool result.
#[derive(Debug, Clone)]
pub struct Shrunk<O, T> {
    /// The result to append to the history; `None` if the whole result may stay unchanged.
    pub result: Option<O>,
    /// Content that must be stored first, with its reference.
    pub artifacts: Vec<(Reference, Content<T>)>,
    /// Tokens saved.
    pub saved: usize,
    /// References in texts that were accepted as ullage's own, and so left unchanged.
    pub relied_on: Vec<Reference>,
}

/// Content to be stored.
#[derive(Debug, Clone)]
pub enum Content<T> {
    /// Text of the host.
    Text(T),
    /// Bytes of a string that is not valid text.
    Raw(Vec<u8>),
}

impl<T: Deref<Target = str>> Content<T> {
    /// Returns the bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Content::Text(text) => text.as_bytes(),
            Content::Raw(bytes) => bytes,
        }
    }
}

/// Returns the kind of text as which a value is counted.
fn kind_of<N: Build>(value: &N) -> TextKind {
    match value.kind() {
        Kind::Text => TextKind::ToolOutput,
        _ => TextKind::Json,
    }
}

/// The parts extracted from a result so far.
struct Extraction<'a, T> {
    tool: &'a str,
    /// Number of blocks around the present value.
    depth: usize,
    referring: References<'a>,
    artifacts: Vec<(Reference, Content<T>)>,
    saved: usize,
    relied_on: Vec<Reference>,
}

impl Engine {
    /// Returns the result of `tool`, shrunk if the policy's compressor finds a text in it too large. Text that ullage
    /// shortened or retrieved before stays unchanged. `salt` and `distrusted` are those of [`super::Ask`].
    ///
    /// A result is a string, a tool-result block of a wire format, a list of blocks or items, or any other JSON-like
    /// value. Text items are shortened by content type. A JSON value that is too large becomes a text. Outside a block,
    /// where a host expects a map, it becomes `{"result": text}`. Pictures and files beside the text stay unchanged.
    /// Nothing is changed in place. O(length).
    ///
    /// # Errors
    /// `Conversation` if a value is nested too deeply.
    pub fn shrink_result<N: Build>(
        &self,
        tool: &str,
        result: &N,
        salt: u64,
        distrusted: &[Reference],
    ) -> Result<Shrunk<N::Out, N::Text>> {
        let referring = self.referring(salt, distrusted);
        let mut taking =
            Extraction { tool, depth: 0, referring, artifacts: Vec::new(), saved: 0, relied_on: Vec::new() };
        let shrunk = match result.kind() {
            Kind::Text => self.shrink_node(result, TextKind::ToolOutput, &mut taking)?.map(|text| result.string(&text)),
            Kind::List => self.shrink_list(result, &mut taking)?,
            Kind::Map => self.shrink_map(result, &mut taking)?,
            Kind::Null | Kind::Scalar | Kind::Bytes => None,
        };
        let Extraction { artifacts, saved, relied_on, .. } = taking;
        Ok(Shrunk { result: shrunk, artifacts, saved, relied_on })
    }

    fn shrink_map<N: Build>(&self, map: &N, taking: &mut Extraction<'_, N::Text>) -> Result<Option<N::Out>> {
        taking.depth += 1;
        let shrunk = if taking.depth <= DEEPEST { self.shrink_block(map, taking) } else { Ok(None) };
        taking.depth -= 1;
        shrunk
    }

    fn shrink_block<N: Build>(&self, map: &N, taking: &mut Extraction<'_, N::Text>) -> Result<Option<N::Out>> {
        match find_output(map) {
            Some(OutputPlace::Block(key, block)) => {
                let shrunk = self.shrink_map(&block, taking)?;
                shrunk.map(|block| map.with(key, block)).transpose()
            }
            Some(OutputPlace::Field(key, content)) => {
                let shrunk = match content.kind() {
                    Kind::List => self.shrink_list(&content, taking)?,
                    // A map that the format requires stays a map.
                    Kind::Map if key == Key::Response => self.shrink_map(&content, taking)?,
                    _ => self.shrink_node(&content, kind_of(&content), taking)?.map(|text| content.string(&text)),
                };
                shrunk.map(|content| map.with(key, content)).transpose()
            }
            Some(OutputPlace::Typed(output)) => self.shrink_typed(map, &output, taking),
            None => match self.shrink_node(map, TextKind::Json, taking)? {
                Some(text) => map.map(vec![(Key::Result, map.string(&text))]).map(Some),
                None => Ok(None),
            },
        }
    }

    /// Shrinks the output of an AI SDK result. An output that becomes a text gets the type of a text.
    fn shrink_typed<N: Build>(
        &self,
        map: &N,
        output: &N,
        taking: &mut Extraction<'_, N::Text>,
    ) -> Result<Option<N::Out>> {
        let Some(value) = output.present(Key::Value) else { return Ok(None) };
        if value.kind() == Kind::List && is_content(&value) {
            let Some(items) = self.shrink_items(&value, taking)? else { return Ok(None) };
            return map.with(Key::Output, output.with(Key::Value, items)?).map(Some);
        }
        let Some(text) = self.shrink_node(&value, kind_of(&value), taking)? else { return Ok(None) };
        let kind = if value.kind() == Kind::Text { output.get(Key::Type) } else { None };
        let kind = kind.map_or_else(|| output.string("text"), |kind| kind.keep());
        let fields = vec![(Key::Type, Some(kind)), (Key::Value, Some(output.string(&text)))];
        map.with(Key::Output, output.with_all(fields)?).map(Some)
    }

    /// Shrinks each item of a list of content items; any other list becomes a text.
    fn shrink_list<N: Build>(&self, list: &N, taking: &mut Extraction<'_, N::Text>) -> Result<Option<N::Out>> {
        if is_content(list) {
            return self.shrink_items(list, taking);
        }
        Ok(self.shrink_node(list, TextKind::Json, taking)?.map(|text| list.string(&text)))
    }

    fn shrink_items<N: Build>(&self, list: &N, taking: &mut Extraction<'_, N::Text>) -> Result<Option<N::Out>> {
        let items = list.items().unwrap_or_default();
        let mut changed = false;
        let mut rebuilt = Vec::with_capacity(items.len());
        for item in &items {
            let shrunk = self.shrink_item(item, taking)?;
            changed |= shrunk.is_some();
            rebuilt.push(shrunk.unwrap_or_else(|| item.keep()));
        }
        if changed { list.list(rebuilt).map(Some) } else { Ok(None) }
    }

    fn shrink_item<N: Build>(&self, item: &N, taking: &mut Extraction<'_, N::Text>) -> Result<Option<N::Out>> {
        if item.kind() != Kind::Map {
            return Ok(None);
        }
        if let Some(text) = item.get(Key::Text).filter(|text| text.kind() == Kind::Text) {
            let shrunk = self.shrink_node(&text, TextKind::ToolOutput, taking)?;
            return shrunk.map(|short| item.with(Key::Text, item.string(&short))).transpose();
        }
        if find_output(item).is_some() {
            return self.shrink_map(item, taking);
        }
        // Bedrock: a JSON item becomes a text item if its text is shorter.
        let Some(json) = item.present(Key::Json) else { return Ok(None) };
        let shrunk = self.shrink_node(&json, TextKind::Json, taking)?;
        shrunk.map(|short| item.map(vec![(Key::Text, item.string(&short))])).transpose()
    }

    /// Returns the shrunk text of a node: the text of a string, or any other value as JSON.
    fn shrink_node<N: Build>(
        &self,
        node: &N,
        kind: TextKind,
        taking: &mut Extraction<'_, N::Text>,
    ) -> Result<Option<String>> {
        let text = if let Some(text) = node.text() {
            text
        } else {
            let mut json = String::new();
            node.render(&mut json, Bytes::Whole, MAX_DEPTH)?;
            json.into()
        };
        if let Some(mark) = marked(&text, taking.referring.storing, taking.referring.distrusted) {
            taking.relied_on.extend(mark.reference);
            return Ok(None);
        }
        let (tool, referring) = (taking.tool, taking.referring);
        let Some((ShortText { text: short, to_store, .. }, saved)) =
            node.aside(|| self.shrink_text(tool, &text, kind, referring))
        else {
            return Ok(None);
        };
        taking.saved += saved;
        taking.artifacts.extend(to_store.map(|reference| {
            let content = node.raw().map_or(Content::Text(text), Content::Raw);
            (reference, content)
        }));
        Ok(Some(short))
    }

    /// Returns the shrunk text and the tokens saved; `None` if the text is small, or would not get shorter.
    fn shrink_text(
        &self,
        tool: &str,
        text: &str,
        kind: TextKind,
        referring: References<'_>,
    ) -> Option<(ShortText, usize)> {
        let counter = &self.ledger.now();
        let way = self.policy.compressor;
        if way.counts_tokens() && counter.fits(text, kind, self.policy.shrink_above) {
            return None;
        }
        let short = || match way {
            Compressor::Content => {
                // The mark is part of the allowed tokens, unless they are hardly more than the mark.
                let mark = Bounds::of(counter, self.policy.marks).mark;
                let keep = self.policy.shrink_to.saturating_sub(mark).max(self.policy.shrink_to / 2);
                shorten(tool, text, keep, counter, referring)
            }
            plain => Some(marked_short(tool, text, &plain.plain(text)?.text, referring)),
        };
        let (before, short) = parallel::both(text.len(), WORTH_A_THREAD, || counter.count(text, kind), short);
        let short = short?;
        let after = counter.count(&short.text, TextKind::ToolOutput);
        (after < before).then_some((short, before - after))
    }
}
