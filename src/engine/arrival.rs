//! Shrinking a tool result as it arrives, before it enters the history: the cheapest compaction there is, since no cached
//! prefix changes.

use super::Engine;
use crate::error::Result;
use crate::planner::ShortText;
use crate::store::Reference;
use crate::tokens::TextKind;
use crate::wire::{Build, Bytes, Key, Kind, MAX_DEPTH};

/// A tool result that was shrunk.
#[derive(Debug, Clone)]
pub struct Shrunk<O> {
    /// The result as it enters the history.
    pub result: O,
    /// What must be stored first: the reference and the content.
    pub artifacts: Vec<(Reference, String)>,
    /// Tokens saved.
    pub saved: usize,
}

impl Engine {
    /// The result of `tool`, shrunk where a text in it is above the policy's `shrink_above`; `None` if all of it may stay.
    ///
    /// A result is a string, a tool-result block of a wire format, a list of its items, or any other JSON-like value.
    /// Text items are cut to head and tail. A JSON value that is too large becomes a text; outside of a block, where a
    /// host wants a map, it becomes `{"result": text}`. Pictures and files beside the text stay. Nothing is changed in
    /// place. O(length).
    ///
    /// # Errors
    /// `Conversation` if a value is nested too deeply.
    pub fn shrink_result<N: Build>(&self, tool: &str, result: &N) -> Result<Option<Shrunk<N::Out>>> {
        let mut taken = Taken::default();
        let shrunk = match result.kind() {
            Kind::Text => self.shrink_node(tool, result, TextKind::ToolOutput, &mut taken)?.map(|t| result.string(&t)),
            Kind::List => self.shrink_items(tool, result, &mut taken)?,
            Kind::Map => self.shrink_map(tool, result, &mut taken)?,
            Kind::Null | Kind::Scalar | Kind::Bytes => None,
        };
        Ok(shrunk.map(|result| Shrunk { result, artifacts: taken.artifacts, saved: taken.saved }))
    }

    fn shrink_map<N: Build>(&self, tool: &str, map: &N, taken: &mut Taken) -> Result<Option<N::Out>> {
        let is_block = map.present(Key::ToolUseIdCamel).is_some() || map.present(Key::ToolUseId).is_some();
        if let Some(content) = map.present(Key::Content).filter(|_| is_block) {
            let shrunk = match content.kind() {
                Kind::List => self.shrink_items(tool, &content, taken)?,
                _ => self.shrink_node(tool, &content, TextKind::ToolOutput, taken)?.map(|text| content.string(&text)),
            };
            return shrunk.map(|content| map.with(Key::Content, content)).transpose();
        }
        match self.shrink_node(tool, map, TextKind::Json, taken)? {
            Some(text) => map.map(vec![(Key::Result, map.string(&text))]).map(Some),
            None => Ok(None),
        }
    }

    fn shrink_items<N: Build>(&self, tool: &str, list: &N, taken: &mut Taken) -> Result<Option<N::Out>> {
        let items = list.items().unwrap_or_default();
        let mut changed = false;
        let mut rebuilt = Vec::with_capacity(items.len());
        for item in &items {
            let shrunk = self.shrink_item(tool, item, taken)?;
            changed |= shrunk.is_some();
            rebuilt.push(shrunk.unwrap_or_else(|| item.keep()));
        }
        if changed { list.list(rebuilt).map(Some) } else { Ok(None) }
    }

    fn shrink_item<N: Build>(&self, tool: &str, item: &N, taken: &mut Taken) -> Result<Option<N::Out>> {
        if item.kind() != Kind::Map {
            return Ok(None);
        }
        if let Some(text) = item.get(Key::Text).filter(|text| text.kind() == Kind::Text) {
            let shrunk = self.shrink_node(tool, &text, TextKind::ToolOutput, taken)?;
            return shrunk.map(|short| item.with(Key::Text, item.string(&short))).transpose();
        }
        // Bedrock: a JSON item whose text form is shorter becomes a text item.
        let Some(json) = item.present(Key::Json) else {
            return Ok(None);
        };
        let shrunk = self.shrink_node(tool, &json, TextKind::Json, taken)?;
        shrunk.map(|short| item.map(vec![(Key::Text, item.string(&short))])).transpose()
    }

    /// The text of a node, shrunk: of a string as it is, of anything else as JSON.
    fn shrink_node<N: Build>(&self, tool: &str, node: &N, kind: TextKind, taken: &mut Taken) -> Result<Option<String>> {
        let text = if let Some(text) = node.text() {
            text
        } else {
            let mut json = String::new();
            node.render(&mut json, Bytes::Whole, MAX_DEPTH)?;
            json.into()
        };
        let Some((ShortText { text: short, to_store, .. }, saved)) = node.aside(|| self.shrink(tool, &text, kind))
        else {
            return Ok(None);
        };
        taken.saved += saved;
        taken.artifacts.extend(to_store.map(|reference| (reference, text.to_string())));
        Ok(Some(short))
    }
}

/// What was taken out of a result so far.
#[derive(Default)]
struct Taken {
    artifacts: Vec<(Reference, String)>,
    saved: usize,
}
