//! Reads and writes single files: whole or not at all, and never through a link.
#![allow(clippy::disallowed_methods)] // This is the one door to the file system, and dates its files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::error::Error;

/// A temporary file of this age belongs to a process that died. Writing the largest output takes minutes at most.
const LEFT_OVER: Duration = Duration::from_hours(1);

/// The suffix of temporary files.
const TEMPORARY: &str = ".tmp";

/// Number of bytes that are compared at a time.
const PIECE: usize = 1 << 16;

/// Returns the time, for the names and ages of files.
pub(super) fn now() -> SystemTime {
    SystemTime::now()
}

/// Opens an ordinary file for reading. It never waits, as it would for a pipe, and never follows a link, which might
/// lead out of the folder.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open_as(options.read(true), path)
}

/// Opens a file for reading and appending, and creates it if necessary.
pub(super) fn open_to_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    // Conversations are private to their owner.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    open_as(&mut options, path)
}

fn open_as(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    #[cfg(not(unix))]
    if path.exists() {
        require_file(&fs::symlink_metadata(path)?)?;
    }
    let file = match options.open(path) {
        #[cfg(unix)]
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => Err(io::Error::other("it is a symbolic link")),
        outcome => outcome,
    }?;
    require_file(&file.metadata()?)?;
    Ok(file)
}

fn require_file(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_file() { Ok(()) } else { Err(io::Error::other("it is not an ordinary file")) }
}

/// Returns the whole content of a file.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content)
}

/// True if a file holds exactly `content`. If it does, its time is set to now. Reads no more than necessary.
pub(super) fn is_same(path: &Path, content: &[u8]) -> io::Result<bool> {
    let mut file = open(path)?;
    if usize::try_from(file.metadata()?.len()) != Ok(content.len()) {
        return Ok(false);
    }
    let mut buffer = vec![0; PIECE];
    for piece in content.chunks(PIECE) {
        let buffer = &mut buffer[..piece.len()];
        file.read_exact(buffer)?;
        if buffer != piece {
            return Ok(false);
        }
    }
    // A file of another user keeps its age, and so does a file on a file system without times.
    let _ = file.set_modified(now());
    Ok(true)
}

/// Returns the time at which a file was last stored.
pub(super) fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::symlink_metadata(path)?.modified()
}

/// A complete file on the disk that has no final name yet. It is removed when this is dropped.
#[derive(Debug)]
pub(super) struct TemporaryFile {
    path: PathBuf,
}

impl TemporaryFile {
    pub(super) fn write(folder: &Path, content: &[u8]) -> io::Result<TemporaryFile> {
        let (temporary, mut file) = TemporaryFile::create(folder)?;
        file.write_all(content)?;
        file.sync_all()?;
        Ok(temporary)
    }

    /// Creates a file of our own. The counter distinguishes the threads of this process, and the process id
    /// distinguishes the processes of this machine. If two machines share the folder, the second one takes the next
    /// name.
    fn create(folder: &Path) -> io::Result<(TemporaryFile, File)> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        loop {
            let turn = WRITTEN.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".{}-{turn}{TEMPORARY}", std::process::id()));
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            // Only the owner may read the files, because outputs may have any content.
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                outcome => return outcome.map(|file| (TemporaryFile { path }, file)),
            }
        }
    }

    /// Gives the file its final name, unless that name exists.
    pub(super) fn publish(&self, path: &Path) -> io::Result<()> {
        match fs::hard_link(&self.path, path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // A file system without hard links. A rename is atomic too, but does not show which process was first.
            Err(_) => fs::rename(&self.path, path),
        }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // It has its final name or was moved there, or the caller gets the earlier error.
        let _ = fs::remove_file(&self.path);
    }
}

/// Adds a second name to an existing file.
pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)
}

/// Removes a name.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Creates a folder and its parents, and flushes them to the disk.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    folder.parent().map_or(Ok(()), sync_folder)
}

/// Flushes the names in a folder to the disk. A system that cannot open folders (Windows) does this itself.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder).map_or(Ok(()), |folder| folder.sync_all())
}

/// True if `path` is a symbolic link.
pub(super) fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_symlink())
}

/// Removes the temporary files of processes that died while writing. A file that cannot be removed does no harm.
pub(super) fn sweep(folder: &Path) {
    let oldest = now().checked_sub(LEFT_OVER);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(middle) = name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(TEMPORARY)) else {
            continue;
        };
        let numbers = middle.split_once('-').is_some_and(|(process, turn)| {
            [process, turn].iter().all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        });
        let is_old =
            || entry.metadata().ok().filter(fs::Metadata::is_file)?.modified().ok().map(|at| Some(at) < oldest);
        if numbers && is_old() == Some(true) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns the error about an action on `path` that failed.
pub(super) fn failed(what: &str, path: &Path, error: &io::Error) -> Error {
    Error::Store {
        problem: format!("cannot {what} {}: {error}", path.display()),
        remedy: "check that the folder exists, is writable and has space left".to_owned(),
    }
}
