//! A store in a folder: one file for each reference, whose name says all there is to know of it.
//!
//! A file appears whole or not at all: it is written under a temporary name, flushed to the disk and then linked to its
//! own. The listing of the folder is the index. So a crash or a full disk at any moment leaves every file that is there
//! readable, there is nothing else that could be wrong, and processes may share a folder.
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

/// Times that a name is looked for while other processes take and leave them.
const TRIES: usize = 8;

/// Keeps content in a folder, which is made at the first write.
#[derive(Debug)]
pub struct FileStore {
    folder: PathBuf,
    /// Below `folder`, where the store is that of a session.
    session: Option<String>,
    retention: Option<Retention>,
    state: Locked<State>,
}

/// A cache of the folder's state. Everything in it can be read again.
#[derive(Debug, Default)]
struct State {
    index: Arc<Index>,
    /// True if files of crashed processes were looked for.
    swept: bool,
    /// References that conversations may hold.
    held: Held,
    /// References that threads are putting or returning now, with the number of threads.
    busy: BTreeMap<Reference, usize>,
    /// Names that were given out before the file is there.
    promised: Newest<String>,
    /// The hashes that are in stored content, which never changes.
    named: BTreeMap<Reference, Vec<String>>,
}

impl State {
    /// Takes what turned out to be gone out of the index.
    fn forget(&mut self, reference: &Reference) {
        Arc::make_mut(&mut self.index).remove(reference);
    }

    /// Forgets all about what was deleted: other content may be stored under its reference.
    fn forget_all(&mut self, reference: &Reference) {
        self.forget(reference);
        self.held.forget(reference);
        self.named.remove(reference);
    }

    /// True if a cleaning must leave `reference` alone, whatever it found to be reachable.
    fn is_spared(&self, reference: &Reference, sparing: Sparing) -> bool {
        self.busy.contains_key(reference) || (sparing == Sparing::Own && self.held.has(reference))
    }
}

/// A reference that a thread is putting or giving back. No cleaning of this store removes its files until this is dropped.
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

/// A cleaning that runs.
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
    /// A store in `folder`, with the default retention. Touches nothing yet.
    pub fn new(folder: impl Into<PathBuf>) -> FileStore {
        let retention = Some(Retention::default());
        FileStore { folder: folder.into(), session: None, retention, state: Locked::default() }
    }

    /// The same for one session: its files are in a folder of their own below `folder`. Any bytes are an id; two of them
    /// never share a folder, and none leads out of `folder`.
    #[must_use]
    pub fn of_session(self, id: impl AsRef<[u8]>) -> FileStore {
        FileStore { session: Some(name::session_folder(id.as_ref())), ..self }
    }

    /// The same with another retention; `None` keeps all.
    #[must_use]
    pub fn retaining(self, retention: Option<Retention>) -> FileStore {
        FileStore { retention, ..self }
    }

    /// The folder that the files are in.
    pub fn directory(&self) -> PathBuf {
        self.session.as_ref().map_or_else(|| self.folder.clone(), |session| self.folder.join(session))
    }

    /// The file of `reference`, if there is one.
    ///
    /// # Errors
    /// `Store` if the folder cannot be listed.
    pub fn path(&self, reference: &Reference) -> Result<Option<PathBuf>> {
        let directory = self.checked_directory()?;
        Ok(self.find(&directory, reference)?.map(|name| directory.join(name)))
    }

    /// The name of the file of `reference`, or the one that it will have: a promise that this store keeps.
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

    /// The directory, which is below the folder and not somewhere else by a link.
    fn checked_directory(&self) -> Result<PathBuf> {
        let directory = self.directory();
        if self.session.is_some() && disk::is_link(&directory) {
            return Err(failed("use", &directory, &io::Error::other("it is a symbolic link")));
        }
        Ok(directory)
    }

    /// The name of the file of `reference`: from memory, and from the folder where that does not know it.
    fn find(&self, directory: &Path, reference: &Reference) -> Result<Option<String>> {
        if let Some(name) = self.state.lock().index.name(reference) {
            return Ok(Some(name.to_owned()));
        }
        Ok(self.looked_for(directory, reference)?.name(reference).map(str::to_owned))
    }

    /// Keeps cleanings of this store away from `reference`, from before its file is looked for until it is acknowledged.
    fn busy<'a>(&'a self, reference: &'a Reference) -> Busy<'a> {
        *self.state.lock().busy.entry(reference.clone()).or_default() += 1;
        Busy { store: self, reference }
    }

    /// Begins a cleaning, and gives the hashes that are held so far.
    fn cleaning(&self) -> (Cleaning<'_>, Vec<String>) {
        let mut state = self.state.lock();
        let number = state.held.begin_cleaning();
        (Cleaning { store: self, number }, state.held.hashes().map(str::to_owned).collect())
    }

    /// Looks for the files of `reference` and of others with its hash, and remembers them.
    fn looked_for(&self, directory: &Path, reference: &Reference) -> Result<Index> {
        let found = Index::of_hash(directory, reference.hash()).map_err(|error| failed("list", directory, &error))?;
        let mut state = self.state.lock();
        state.forget(reference);
        Arc::make_mut(&mut state.index).merge(found.clone());
        Ok(found)
    }

    /// Lists the folder, and remembers it.
    fn listed(&self, directory: &Path) -> Result<Arc<Index>> {
        let index = Arc::new(Index::of(directory).map_err(|error| failed("list", directory, &error))?);
        self.state.lock().index = Arc::clone(&index);
        Ok(index)
    }

    /// The content if it is stored, however often another process moves it.
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
    /// The path from the current folder where the file is below it: what a shell that the same program starts can open.
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
