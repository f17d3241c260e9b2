//! Stores content, even if the reference, the name or the bytes already exist.

use std::io;
use std::path::Path;

use super::{FileStore, Index, TRIES, name};
use crate::error::Result;
use crate::store::disk::{self, TemporaryFile, failed};
use crate::store::{ContentKind, Reference, collision};

impl FileStore {
    /// Ensures that `content` is in the folder, whole and on the disk, under a name of `reference`.
    pub(super) fn write(&self, reference: &Reference, content: &[u8]) -> Result<()> {
        let directory = self.checked_directory()?;
        let kind = ContentKind::of(content);
        let mut temporary = None;
        for _ in 0..TRIES {
            if self.is_known(&directory, reference, content)? {
                return Ok(());
            }
            let same = self.state.lock().index.of_same_hash(reference);
            let promised = self.state.lock().promised.remove(reference);
            let name = promised.unwrap_or_else(|| name::file_name(reference, disk::now(), kind));
            let path = directory.join(&name);
            let outcome = self
                .prepare(&directory)
                .and_then(|()| publish(&directory, &path, &same, content, &mut temporary))
                .and_then(|()| disk::sync_folder(&directory));
            match outcome {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.looked_for(&directory, reference)?;
                    continue;
                }
                outcome => outcome.map_err(|error| failed("write", &path, &error))?,
            }
            if !self.settle(&directory, reference, &name, content)? {
                return Ok(());
            }
            // Without hard links its file was renamed, and then removed.
            temporary = None;
        }
        Err(failed("write", &directory, &io::Error::other("others keep writing the same file")))
    }

    /// True if `content` is stored. If the cached file is gone, the cache forgets it.
    fn is_known(&self, directory: &Path, reference: &Reference, content: &[u8]) -> Result<bool> {
        let Some(name) = self.find(directory, reference)? else { return Ok(false) };
        let path = directory.join(name);
        match disk::is_same(&path, content) {
            Ok(true) => Ok(true),
            Ok(false) => Err(collision(reference)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.state.lock().forget(reference);
                Ok(false)
            }
            Err(error) => Err(failed("read", &path, &error)),
        }
    }

    /// Resolves a conflict with another process that stored under the same reference in another second, and so under
    /// another name. Returns true if the reference must be looked up again, because the existing file may have other
    /// content. If both processes see each other, both remove their file, and the next name decides.
    fn settle(&self, directory: &Path, reference: &Reference, name: &str, content: &[u8]) -> Result<bool> {
        let index = self.looked_for(directory, reference)?;
        for other in index.names(reference).iter().filter(|other| *other != name) {
            let path = directory.join(other);
            let same = match disk::is_same(&path, content) {
                Ok(same) => same,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed("read", &path, &error)),
            };
            if !same || other.as_str() < name {
                let own = directory.join(name);
                disk::remove(&own).map_err(|error| failed("delete", &own, &error))?;
                self.state.lock().forget(reference);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Creates the folder. Before its first write, a store lists the whole folder, to remove leftovers of crashes and
    /// to count the artifacts.
    fn prepare(&self, directory: &Path) -> io::Result<()> {
        disk::make_folder(directory)?;
        let first = !std::mem::replace(&mut self.state.lock().swept, true);
        if first {
            disk::sweep(directory);
            self.state.lock().index = Index::of(directory)?.into();
        }
        Ok(())
    }
}

/// Gives the content its final name. If the same bytes from another tool are stored, their file gets a second name.
/// Otherwise the bytes are written, once, even if several names must be tried.
fn publish(
    directory: &Path,
    path: &Path,
    same: &[String],
    content: &[u8],
    temporary: &mut Option<TemporaryFile>,
) -> io::Result<()> {
    for other in same.iter().map(|name| directory.join(name)) {
        if disk::is_same(&other, content).unwrap_or(false) {
            match disk::link(&other, path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
                outcome => return outcome,
            }
        }
    }
    let temporary = match temporary {
        Some(temporary) => temporary,
        None => temporary.insert(TemporaryFile::write(directory, content)?),
    };
    temporary.publish(path)
}
