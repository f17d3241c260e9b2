//! Chooses the files to delete when there are too many.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::{FileStore, Index};
use crate::error::Result;
use crate::store::Reference;
use crate::store::disk::{self, failed};
use crate::store::mentions::hashes;

/// The number of artifacts that a folder keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    keep: usize,
    clean_above: usize,
}

impl Retention {
    /// The default number of kept artifacts. This number and the next come from an agent that has long worked with a
    /// folder of outputs.
    pub const KEEP: usize = 100;

    /// The default number of artifacts above which the folder is cleaned.
    pub const CLEAN_ABOVE: usize = 150;

    /// Keeps the newest `keep` once there are more than `clean_above`, which is at least `keep`.
    pub fn new(keep: usize, clean_above: usize) -> Retention {
        Retention { keep, clean_above: clean_above.max(keep) }
    }
}

impl Default for Retention {
    fn default() -> Retention {
        Retention::new(Retention::KEEP, Retention::CLEAN_ABOVE)
    }
}

/// The artifacts that a cleaning keeps beside those in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sparing {
    /// References of other conversations of this store: see [`FileStore::clean`].
    Own,
    /// Nothing, because the caller names all references in use.
    Nothing,
}

impl FileStore {
    /// True if a cleaning is due, as far as the number of artifacts is known. O(1).
    pub fn is_above_limit(&self) -> bool {
        self.retention.is_some_and(|retention| self.state.lock().index.len() > retention.clean_above)
    }

    /// Removes all artifacts except the newest `keep`, if there are more than `clean_above`, and returns the removed
    /// ones. An artifact that is stored again becomes new.
    ///
    /// Never removes artifacts that can be reached from `live`, the texts of one conversation: the references in them,
    /// and those in stored content behind them. [`Sparing::Own`] also spares artifacts of other conversations: the 256
    /// that were cleaned last, and the 4,096 references that were put or returned last and that no cleaning has seen in
    /// a conversation. A store knows only its own calls, so if several processes write to one folder, give each
    /// conversation a session.
    ///
    /// Reads each reachable artifact once in the life of the store.
    ///
    /// # Errors
    /// `Store` if the folder cannot be listed, or a file cannot be read or deleted.
    pub fn clean<'a>(&self, live: impl IntoIterator<Item = &'a [u8]>, sparing: Sparing) -> Result<Vec<Reference>> {
        let Some(Retention { keep, clean_above }) = self.retention else { return Ok(Vec::new()) };
        let directory = self.checked_directory()?;
        // Before the folder is listed, because another conversation that is cleaned meanwhile may use only an artifact
        // that the listing lacks.
        let (_cleaning, held) = self.cleaning();
        let index = self.listed(&directory)?;
        if index.len() <= clean_above {
            return Ok(Vec::new());
        }
        let mut aged: Vec<(SystemTime, &Reference, &[String])> =
            index.iter().map(|(reference, names)| (newest(&directory, names), reference, names)).collect();
        // Newest first. Artifacts of the same time are sorted by name, so that the order is always the same.
        aged.sort_by(|one, two| two.cmp(one));
        let used = self.reachable(live, held, sparing, &index)?;
        let mut removed = Vec::new();
        for (age, reference, names) in aged.into_iter().skip(keep) {
            if used.contains(reference) {
                continue;
            }
            // Under the lock, so that no thread of this process puts or reads it between the check and the removal.
            let mut state = self.state.lock();
            // Another process may have stored it again meanwhile.
            if state.is_spared(reference, sparing) || newest(&directory, names) != age {
                continue;
            }
            for path in names.iter().map(|name| directory.join(name)) {
                match disk::remove(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(failed("delete", &path, &error));
                    }
                    _ => {}
                }
            }
            state.forget_all(reference);
            removed.push(reference.clone());
        }
        removed.sort();
        Ok(removed)
    }

    /// Returns the `stored` references in use: those reached from `live`, or from the `held` references of others. If
    /// others are spared, `live` is remembered.
    fn reachable<'a, 's>(
        &self,
        live: impl IntoIterator<Item = &'a [u8]>,
        held: Vec<String>,
        sparing: Sparing,
        stored: &'s Index,
    ) -> Result<BTreeSet<&'s Reference>> {
        let mut unseen: BTreeMap<&str, Vec<&Reference>> = BTreeMap::new();
        for (reference, _) in stored.iter() {
            unseen.entry(reference.hash()).or_default().push(reference);
        }
        let live = live.into_iter().flat_map(hashes).filter(|hash| unseen.contains_key(hash));
        let live: BTreeSet<String> = live.map(str::to_owned).collect();
        let mut used = BTreeSet::new();
        self.follow(live.iter().cloned().collect(), &mut unseen, &mut used)?;
        {
            let mut state = self.state.lock();
            if sparing == Sparing::Own {
                let reached: BTreeSet<&str> = used.iter().map(|reference| reference.hash()).collect();
                state.held.claim(live, |hash| reached.contains(hash));
            }
            state.named.retain(|reference, _| !stored.names(reference).is_empty());
        }
        if sparing == Sparing::Own {
            self.follow(held, &mut unseen, &mut used)?;
        }
        Ok(used)
    }

    /// Moves the artifacts reached from the `wanted` hashes from `unseen` to `used`.
    fn follow<'s>(
        &self,
        mut wanted: Vec<String>,
        unseen: &mut BTreeMap<&str, Vec<&'s Reference>>,
        used: &mut BTreeSet<&'s Reference>,
    ) -> Result<()> {
        while let Some(hash) = wanted.pop() {
            // Removed from the map, so that each is visited once.
            for reference in unseen.remove(hash.as_str()).unwrap_or_default() {
                used.insert(reference);
                wanted.extend(self.named_in(reference)?);
            }
        }
        Ok(())
    }

    /// Returns the hashes in a stored artifact.
    fn named_in(&self, reference: &Reference) -> Result<Vec<String>> {
        if let Some(named) = self.state.lock().named.get(reference) {
            return Ok(named.clone());
        }
        // Another cleaning may have removed it after it was listed.
        let Some(content) = self.read_stored(reference)? else { return Ok(Vec::new()) };
        let named: BTreeSet<String> = hashes(&content).map(str::to_owned).collect();
        let named: Vec<String> = named.into_iter().collect();
        self.state.lock().named.insert(reference.clone(), named.clone());
        Ok(named)
    }
}

/// Returns the time of the newest of these files. A file of unknown age is new, and stays.
fn newest(directory: &Path, names: &[String]) -> SystemTime {
    let ages = names.iter().map(|name| disk::modified(&directory.join(name)));
    ages.map(|age| age.unwrap_or_else(|_| disk::now())).max().unwrap_or_else(disk::now)
}
