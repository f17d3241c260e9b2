//! Shrinking a tool result as it arrives, before it enters the history: the cheapest compaction there is, since no cached
//! prefix changes.

use std::ops::Deref;

use super::Engine;
use crate::compress::Compressor;
use crate::error::Result;
use crate::parallel;
use crate::planner::{Referring, ShortText, marked_short, shorten};
use crate::store::{Reference, marked};
use crate::tokens::{CountTokens, TextKind};
use crate::wire::{Build, Bytes, Key, Kind, MAX_DEPTH, only_text};

/// From so many bytes on, a text is counted on a thread of its own: about a millisecond of work.
const WORTH_A_THREAD: usize = 128 * 1024;

/// What became of a tool result.
#[derive(Debug, Clone)]
pub struct Shrunk<O, T> {
    /// The result as it enters the history; `None` where all of it may stay as it is.
    pub result: Option<O>,
    /// What must be stored first: the reference and the content.
    pub artifacts: Vec<(Reference, Content<T>)>,
    /// Tokens saved.
    pub saved: usize,
    /// References in texts that were believed to be marks of ullage, and so left alone.
    pub relied_on: Vec<Reference>,
}

/// Content to be stored.
#[derive(Debug, Clone)]
pub enum Content<T> {
    /// A text of the host.
    Text(T),
    /// A string that is no text, as its bytes.
    Raw(Vec<u8>),
}

impl<T: Deref<Target = str>> Content<T> {
    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Content::Text(text) => text.as_bytes(),
            Content::Raw(bytes) => bytes,
        }
    }
}

/// What was taken out of a result so far.
struct Taking<'a, T> {
    tool: &'a str,
    referring: Referring<'a>,
    artifacts: Vec<(Reference, Content<T>)>,
    saved: usize,
    relied_on: Vec<Reference>,
}

impl Engine {
    /// The result of `tool`, shrunk where the policy's compressor finds a text in it too large. What ullage has shortened or
    /// retrieved before stays. `salt` and `distrusted` are those of [`super::Ask`].
    ///
    /// A result is a string, a tool-result block of a wire format, a list of its items, or any other JSON-like value.
    /// Text items are shortened by what they are. A JSON value that is too large becomes a text; outside of a block, where a
    /// host wants a map, it becomes `{"result": text}`. Pictures and files beside the text stay. Nothing is changed in
    /// place. O(length).
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
        let mut taking = Taking { tool, referring, artifacts: Vec::new(), saved: 0, relied_on: Vec::new() };
        let shrunk = match result.kind() {
            Kind::Text => self.shrink_node(result, TextKind::ToolOutput, &mut taking)?.map(|text| result.string(&text)),
            Kind::List => self.shrink_items(result, &mut taking)?,
            Kind::Map => self.shrink_map(result, &mut taking)?,
            Kind::Null | Kind::Scalar | Kind::Bytes => None,
        };
        let Taking { artifacts, saved, relied_on, .. } = taking;
        Ok(Shrunk { result: shrunk, artifacts, saved, relied_on })
    }

    fn shrink_map<N: Build>(&self, map: &N, taking: &mut Taking<'_, N::Text>) -> Result<Option<N::Out>> {
        let is_block = map.present(Key::ToolUseIdCamel).is_some() || map.present(Key::ToolUseId).is_some();
        if let Some(content) = map.present(Key::Content).filter(|_| is_block) {
            let shrunk = match content.kind() {
                Kind::List => self.shrink_items(&content, taking)?,
                _ => self.shrink_node(&content, TextKind::ToolOutput, taking)?.map(|text| content.string(&text)),
            };
            return shrunk.map(|content| map.with(Key::Content, content)).transpose();
        }
        if let Some((wrapper, text)) = only_text(map) {
            let shrunk = self.shrink_node(&text, TextKind::ToolOutput, taking)?;
            return shrunk.map(|short| map.with(wrapper, map.string(&short))).transpose();
        }
        match self.shrink_node(map, TextKind::Json, taking)? {
            Some(text) => map.map(vec![(Key::Result, map.string(&text))]).map(Some),
            None => Ok(None),
        }
    }

    fn shrink_items<N: Build>(&self, list: &N, taking: &mut Taking<'_, N::Text>) -> Result<Option<N::Out>> {
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

    fn shrink_item<N: Build>(&self, item: &N, taking: &mut Taking<'_, N::Text>) -> Result<Option<N::Out>> {
        if item.kind() != Kind::Map {
            return Ok(None);
        }
        if let Some(text) = item.get(Key::Text).filter(|text| text.kind() == Kind::Text) {
            let shrunk = self.shrink_node(&text, TextKind::ToolOutput, taking)?;
            return shrunk.map(|short| item.with(Key::Text, item.string(&short))).transpose();
        }
        // Bedrock: a JSON item whose text form is shorter becomes a text item.
        let Some(json) = item.present(Key::Json) else { return Ok(None) };
        let shrunk = self.shrink_node(&json, TextKind::Json, taking)?;
        shrunk.map(|short| item.map(vec![(Key::Text, item.string(&short))])).transpose()
    }

    /// The text of a node, shrunk: of a string as it is, of anything else as JSON.
    fn shrink_node<N: Build>(
        &self,
        node: &N,
        kind: TextKind,
        taking: &mut Taking<'_, N::Text>,
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

    /// The text shrunk, and the tokens saved; `None` if it is small, or would get no shorter.
    fn shrink_text(
        &self,
        tool: &str,
        text: &str,
        kind: TextKind,
        referring: Referring<'_>,
    ) -> Option<(ShortText, usize)> {
        let counter = &self.ledger.now();
        let way = self.policy.compressor;
        if way.counts_tokens() && counter.fits(text, kind, self.policy.shrink_above) {
            return None;
        }
        let short = || match way {
            Compressor::Content => shorten(tool, text, self.policy.shrink_to, counter, referring),
            plain => Some(marked_short(tool, text, &plain.plain(text)?.text, referring)),
        };
        let (before, short) = parallel::both(text.len(), WORTH_A_THREAD, || counter.count(text, kind), short);
        let short = short?;
        let after = counter.count(&short.text, TextKind::ToolOutput);
        (after < before).then_some((short, before - after))
    }
}
