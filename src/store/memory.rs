//! A store that lives as long as the process.

use std::collections::BTreeMap;

use parking_lot::RwLock;

use super::{Deletion, Reference, Store, collision, unknown};
use crate::error::Result;

/// Keeps content in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    contents: RwLock<BTreeMap<Reference, Vec<u8>>>,
}

impl Store for MemoryStore {
    fn put(&self, reference: &Reference, content: &[u8]) -> Result<()> {
        let mut contents = self.contents.write();
        match contents.get(reference) {
            Some(known) if known == content => Ok(()),
            Some(_) => Err(collision(reference)),
            None => {
                contents.insert(reference.clone(), content.to_vec());
                Ok(())
            }
        }
    }

    fn get(&self, reference: &Reference) -> Result<Vec<u8>> {
        self.contents.read().get(reference).cloned().ok_or_else(|| unknown(reference))
    }

    fn list(&self) -> Result<Vec<Reference>> {
        Ok(self.contents.read().keys().cloned().collect())
    }

    fn delete(&self, reference: &Reference) -> Result<Deletion> {
        match self.contents.write().remove(reference) {
            Some(_) => Ok(Deletion::Deleted),
            None => Ok(Deletion::NotFound),
        }
    }
}
