//! A store in a folder, with one file for each reference. The file's name has all its metadata.
//!
//! A file appears whole or not at all: it is written under a temporary name, flushed to the disk and then linked to its
//! final name. The listing of the folder is the index. So after a crash or with a full disk every existing file is
//! readable, nothing else can be inconsistent, and processes may share a folder.
#![allow(clippy::disallowed_methods)] // This is the one door to the file system, and dates its files.

mod held;
mod index;
mod name;
mod newest;
mod retention;
mod writing;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(in crate::store) use name::reference_of as reference_of_file;
pub use retention::{Retention, Sparing};

use super::disk::{self, failed};
use super::{Content, ContentKind, Deletion, Places, Reference, Store, unknown};
use crate::error::Result;
use crate::shared::Locked;
use held::Held;
use index::Index;
use newest::Newest;

/// Number of times a file is searched for while other processes create and remove names.
const TRIES: usize = 8;

/// Keeps content in a folder, which is created at the first write.
#[derive(Debug)]
pub struct FileStore {
    folder: PathBuf,
    /// The folder of the session below `folder`, if the store belongs to a session.
    session: Option<String>,
    retention: Option<Retention>,
    state: Locked<State>,
}

/// A cache of the folder's state. All of it can be read again.
#[derive(Debug, Default)]
struct State {
    index: Arc<Index>,
    /// True if leftovers of crashed processes were removed.
    swept: bool,
    /// References that conversations may use.
    held: Held,
    /// References that threads are putting or returning now, with the number of threads.
    busy: BTreeMap<Reference, usize>,
    /// File names that were announced before the file exists.
    promised: Newest<String>,
    /// The hashes in stored content, which never changes.
    named: BTreeMap<Reference, Vec<String>>,
}

impl State {
    /// Removes a reference whose files are gone from the index.
    fn forget(&mut self, reference: &Reference) {
        Arc::make_mut(&mut self.index).remove(reference);
    }

    /// Removes everything about a deleted reference, because other content may be stored under it.
    fn forget_all(&mut self, reference: &Reference) {
        self.forget(reference);
        self.held.forget(reference);
        self.named.remove(reference);
    }

    /// True if a cleaning must keep `reference`, whether or not it was reached.
    fn is_spared(&self, reference: &Reference, sparing: Sparing) -> bool {
        self.busy.contains_key(reference) || (sparing == Sparing::Own && self.held.has(reference))
    }
}

/// A reference that a thread is putting or returning. No cleaning of this store removes its files until this is
/// dropped.
#[derive(Debug)]
struct Busy<'a> {
    store: &'a FileStore,
    reference: &'a Reference,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = self.store.state.lock();
        match state.busy.get_mut(self.reference) {
            Some(threads) if *threads > 1 => *threads -= 1,
            _ => drop(state.busy.remove(self.reference)),
        }
    }
}

/// A running cleaning.
#[derive(Debug)]
struct Cleaning<'a> {
    store: &'a FileStore,
    number: u64,
}

impl Drop for Cleaning<'_> {
    fn drop(&mut self) {
        self.store.state.lock().held.end_cleaning(self.number);
    }
}

impl FileStore {
    /// Returns a store in `folder`, with the default retention. Does not touch the disk yet.
    pub fn new(folder: impl Into<PathBuf>) -> FileStore {
        let retention = Some(Retention::default());
        FileStore { folder: folder.into(), session: None, retention, state: Locked::default() }
    }

    /// Returns the store for one session: its files are in a folder of their own below `folder`. An id may have any
    /// bytes. Two ids never share a folder, and no id leads out of `folder`.
    #[must_use]
    pub fn of_session(self, id: impl AsRef<[u8]>) -> FileStore {
        FileStore { session: Some(name::session_folder(id.as_ref())), ..self }
    }

    /// Returns the store with another retention; `None` keeps everything.
    #[must_use]
    pub fn retaining(self, retention: Option<Retention>) -> FileStore {
        FileStore { retention, ..self }
    }

    /// Returns the folder of the files.
    pub fn directory(&self) -> PathBuf {
        self.session.as_ref().map_or_else(|| self.folder.clone(), |session| self.folder.join(session))
    }

    /// Returns the file of `reference`, if there is one.
    ///
    /// # Errors
    /// `Store` if the folder cannot be listed.
    pub fn path(&self, reference: &Reference) -> Result<Option<PathBuf>> {
        let directory = self.checked_directory()?;
        Ok(self.find(&directory, reference)?.map(|name| directory.join(name)))
    }

    /// Returns the name of the file of `reference`. If there is no file yet, the store will use this name later.
    fn promised_name(&self, reference: &Reference) -> Option<String> {
        let directory = self.checked_directory().ok()?;
        if let Some(name) = self.find(&directory, reference).ok()? {
            return Some(name);
        }
        let mut state = self.state.lock();
        if let Some(name) = state.promised.get(reference) {
            return Some(name.clone());
        }
        let name = name::file_name(reference, disk::now(), ContentKind::Text);
        state.promised.note(reference, name.clone());
        Some(name)
    }

    /// Returns the directory, after a check that no link leads out of the folder.
    fn checked_directory(&self) -> Result<PathBuf> {
        let directory = self.directory();
        if self.session.is_some() && disk::is_link(&directory) {
            return Err(failed("use", &directory, &io::Error::other("it is a symbolic link")));
        }
        Ok(directory)
    }

    /// Returns the name of the file of `reference`, from the cache or else from the folder.
    fn find(&self, directory: &Path, reference: &Reference) -> Result<Option<String>> {
        if let Some(name) = self.state.lock().index.name(reference) {
            return Ok(Some(name.to_owned()));
        }
        Ok(self.looked_for(directory, reference)?.name(reference).map(str::to_owned))
    }

    /// Keeps cleanings of this store from removing `reference`, from the search for its file until it is stored or
    /// returned.
    fn busy<'a>(&'a self, reference: &'a Reference) -> Busy<'a> {
        *self.state.lock().busy.entry(reference.clone()).or_default() += 1;
        Busy { store: self, reference }
    }

    /// Begins a cleaning, and returns the hashes in use.
    fn cleaning(&self) -> (Cleaning<'_>, Vec<String>) {
        let mut state = self.state.lock();
        let number = state.held.begin_cleaning();
        (Cleaning { store: self, number }, state.held.hashes().map(str::to_owned).collect())
    }

    /// Searches for the files of `reference` and of others with its hash, and caches them.
    fn looked_for(&self, directory: &Path, reference: &Reference) -> Result<Index> {
        let found = Index::of_hash(directory, reference.hash()).map_err(|error| failed("list", directory, &error))?;
        let mut state = self.state.lock();
        state.forget(reference);
        Arc::make_mut(&mut state.index).merge(found.clone());
        Ok(found)
    }

    /// Lists the folder, and caches the listing.
    fn listed(&self, directory: &Path) -> Result<Arc<Index>> {
        let index = Arc::new(Index::of(directory).map_err(|error| failed("list", directory, &error))?);
        self.state.lock().index = Arc::clone(&index);
        Ok(index)
    }

    /// Returns the content if it is stored, even if another process renames the file meanwhile.
    fn read_stored(&self, reference: &Reference) -> Result<Option<Vec<u8>>> {
        let directory = self.checked_directory()?;
        for _ in 0..TRIES {
            let Some(name) = self.find(&directory, reference)? else { break };
            let path = directory.join(name);
            match disk::read(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => self.state.lock().forget(reference),
                outcome => return outcome.map(Some).map_err(|error| failed("read", &path, &error)),
            }
        }
        Ok(None)
    }

    fn read(&self, reference: &Reference) -> Result<Vec<u8>> {
        if let Some(content) = self.read_stored(reference)? {
            return Ok(content);
        }
        let listed = self.listed(&self.checked_directory()?)?;
        Err(unknown(reference, listed.iter().map(|(known, _)| known.as_str())))
    }
}

impl Places for FileStore {
    /// Returns the path relative to the current folder, if the file is below it. A shell of the same program can open
    /// that.
    fn place(&self, reference: &Reference) -> Option<String> {
        let path = self.directory().join(self.promised_name(reference)?);
        let here = std::env::current_dir().ok();
        let relative = here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(&path);
        Some(relative.display().to_string())
    }
}

impl Store for FileStore {
    fn put(&self, reference: &Reference, content: &[u8]) -> Result<()> {
        let _busy = self.busy(reference);
        self.write(reference, content)?;
        self.state.lock().held.note(reference);
        Ok(())
    }

    fn get(&self, reference: &Reference) -> Result<Content> {
        let _busy = self.busy(reference);
        let content = self.read(reference)?;
        self.state.lock().held.note(reference);
        Ok(Arc::new(content))
    }

    fn peek(&self, reference: &Reference) -> Result<Content> {
        self.read(reference).map(Arc::new)
    }

    fn list(&self) -> Result<Vec<Reference>> {
        let directory = self.checked_directory()?;
        Ok(self.listed(&directory)?.iter().map(|(reference, _)| reference.clone()).collect())
    }

    fn delete(&self, reference: &Reference) -> Result<Deletion> {
        let directory = self.checked_directory()?;
        let index = self.listed(&directory)?;
        let mut found = Deletion::NotFound;
        for path in index.names(reference).iter().map(|name| directory.join(name)) {
            match disk::remove(&path) {
                Ok(()) => found = Deletion::Deleted,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("delete", &path, &error)),
            }
        }
        self.state.lock().forget_all(reference);
        Ok(found)
    }
}
