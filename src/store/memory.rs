//! A store that lives as long as its process.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Content, Deletion, Reference, Store, collision, unknown};
use crate::error::Result;
use crate::shared::Locked;

/// Keeps content in memory. Equal bytes are kept once.
#[derive(Debug, Default)]
pub struct MemoryStore {
    contents: Locked<Contents>,
}

#[derive(Debug, Default)]
struct Contents {
    by_reference: BTreeMap<Reference, Content>,
    /// The content of one reference with this hash. Another reference with the hash nearly always has the same.
    by_hash: BTreeMap<String, Content>,
}

impl Store for MemoryStore {
    fn put(&self, reference: &Reference, content: &[u8]) -> Result<()> {
        let mut contents = self.contents.lock();
        match contents.by_reference.get(reference) {
            Some(known) if **known == content => return Ok(()),
            Some(_) => return Err(collision(reference)),
            None => {}
        }
        let shared = contents.by_hash.get(reference.hash()).filter(|same| ***same == content);
        let content = shared.map_or_else(|| Arc::new(content.to_vec()), Arc::clone);
        contents.by_hash.entry(reference.hash().to_owned()).or_insert_with(|| Arc::clone(&content));
        contents.by_reference.insert(reference.clone(), content);
        Ok(())
    }

    fn get(&self, reference: &Reference) -> Result<Content> {
        let contents = self.contents.lock();
        let known = contents.by_reference.get(reference).map(Arc::clone);
        known.ok_or_else(|| unknown(reference, contents.by_reference.keys().map(Reference::as_str)))
    }

    fn list(&self) -> Result<Vec<Reference>> {
        Ok(self.contents.lock().by_reference.keys().cloned().collect())
    }

    fn delete(&self, reference: &Reference) -> Result<Deletion> {
        let mut contents = self.contents.lock();
        if contents.by_reference.remove(reference).is_none() {
            return Ok(Deletion::NotFound);
        }
        let hash = reference.hash();
        let left = contents.by_reference.iter().find(|(other, _)| other.hash() == hash);
        match left.map(|(_, content)| Arc::clone(content)) {
            Some(content) => contents.by_hash.insert(hash.to_owned(), content),
            None => contents.by_hash.remove(hash),
        };
        Ok(Deletion::Deleted)
    }
}
