//! A store in a folder: one file for each reference.
//!
//! A file appears whole or not at all: it is written under a temporary name, flushed to the disk and renamed. So a
//! crash or a full disk at any moment leaves every file that is there readable, and two processes may share a folder.
#![allow(clippy::disallowed_methods)] // This is the one door to the file system.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Deletion, Reference, Store, collision, unknown};
use crate::error::{Error, Result};

/// What the name of a stored file ends with.
const SUFFIX: &str = ".log";

/// Keeps content in a folder, which is made at the first write.
#[derive(Debug)]
pub struct FileStore {
    folder: PathBuf,
}

impl FileStore {
    /// A store in `folder`. Touches nothing yet.
    pub fn new(folder: impl Into<PathBuf>) -> FileStore {
        FileStore { folder: folder.into() }
    }

    fn path(&self, reference: &Reference) -> PathBuf {
        self.folder.join(format!("{reference}{SUFFIX}"))
    }

    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let (temporary, mut file) = temporary_file(&self.folder)?;
        let outcome = file.write_all(content).and_then(|()| file.sync_all());
        drop(file);
        let outcome = outcome.and_then(|()| publish(&temporary, path));
        // After a failure there is nothing to publish, and the failure is what the caller hears of; after a success the
        // file has its second name.
        let _ = fs::remove_file(&temporary);
        outcome?;
        // The new name must reach the disk too. A folder that cannot be opened for that (Windows) sees to it itself.
        match File::open(&self.folder) {
            Ok(folder) => folder.sync_all(),
            Err(_) => Ok(()),
        }
    }
}

/// Gives a finished file its name, unless that is taken: another process may have been first.
fn publish(temporary: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(temporary, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // A file system without hard links: a rename is as whole, and only does not see who was first.
        Err(_) => fs::rename(temporary, path),
    }
}

/// A file that is nobody else's. The counter tells the threads of this process apart and the process id the processes of
/// this machine; where two machines share the folder, the one that comes second takes the next name.
fn temporary_file(folder: &Path) -> io::Result<(PathBuf, File)> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    loop {
        let turn = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".{}-{turn}.tmp", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // Outputs hold whatever a tool printed; they are their owner's business.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            outcome => return outcome.map(|file| (path, file)),
        }
    }
}

impl Store for FileStore {
    fn put(&self, reference: &Reference, content: &[u8]) -> Result<()> {
        let path = self.path(reference);
        if is_known(&path, reference, content)? {
            return Ok(());
        }
        match self.write(&path, content) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                is_known(&path, reference, content).map(|_| ())
            }
            outcome => outcome.map_err(|error| failed("write", &path, &error)),
        }
    }

    fn get(&self, reference: &Reference) -> Result<Vec<u8>> {
        let path = self.path(reference);
        fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => unknown(reference),
            _ => failed("read", &path, &error),
        })
    }

    fn list(&self) -> Result<Vec<Reference>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("list", &self.folder, &error)),
        };
        let mut references = Vec::new();
        for entry in entries {
            let name = entry.map_err(|error| failed("list", &self.folder, &error))?.file_name();
            // Other files in the folder are somebody else's, or half written: no mistake, and not ours to show.
            let stem = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
            references.extend(stem.and_then(|stem| Reference::parse(stem).ok()));
        }
        references.sort();
        Ok(references)
    }

    fn delete(&self, reference: &Reference) -> Result<Deletion> {
        let path = self.path(reference);
        match fs::remove_file(&path) {
            Ok(()) => Ok(Deletion::Deleted),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Deletion::NotFound),
            Err(error) => Err(failed("delete", &path, &error)),
        }
    }
}

/// Whether the file is there with this content; other content is an error.
fn is_known(path: &Path, reference: &Reference, content: &[u8]) -> Result<bool> {
    match fs::read(path) {
        Ok(known) if known == content => Ok(true),
        Ok(_) => Err(collision(reference)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed("read", path, &error)),
    }
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Error {
    Error::Store {
        problem: format!("cannot {what} {}: {error}", path.display()),
        remedy: "check that the folder exists, is writable and has space left".to_owned(),
    }
}
