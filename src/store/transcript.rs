//! The log of a conversation: a file with one line for each record, which is only ever appended to.
//!
//! A record is one write, so a process that dies leaves it whole or torn, and only the last one can be torn. A torn line
//! stays in the file: the next record begins on a line of its own, and who opens the log is told.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::de::IgnoredAny;

use super::disk::{self, Draft, failed};
use crate::error::{Error, Result};

/// When records are flushed to the disk, so that they survive a loss of power. A crash of the process they survive anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// With each record, before it counts as written.
    Always,
    /// When the log is closed.
    OnClose,
    /// When the system likes to.
    Never,
}

/// Whether other processes are kept out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// One may have the log open at a time.
    Exclusive,
    /// Any number may, on a file system that knows no locks; then nothing keeps their records apart but their writes.
    None,
}

/// A log, and what was in it.
#[derive(Debug)]
pub struct Opened {
    /// The log.
    pub transcript: Transcript,
    /// Its records, in order.
    pub records: Vec<String>,
    /// What is said of lines that are no records.
    pub skipped: Vec<String>,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    flush: Flush,
    open: Mutex<Option<Writing>>,
}

#[derive(Debug)]
struct Writing {
    file: File,
    /// Bytes of the file.
    end: u64,
    /// Whether its last line has no end.
    is_torn: bool,
}

impl Transcript {
    /// The log at `path`, which is made if there is none. Reads all of it, once.
    ///
    /// # Errors
    /// `Store` if it cannot be opened, or another process has it open.
    pub fn open(path: &Path, flush: Flush, locking: Locking) -> Result<Opened> {
        let failed = |error: &io::Error| failed("open", path, error);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            disk::make_folder(folder).map_err(|error| failed(&error))?;
        }
        let mut file = disk::open_to_append(path).map_err(|error| failed(&error))?;
        if locking == Locking::Exclusive {
            lock(&file, path)?;
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(|error| failed(&error))?;
        if content.is_empty() && flush == Flush::Always {
            path.parent().map_or(Ok(()), disk::sync_folder).map_err(|error| failed(&error))?;
        }
        let is_torn = content.last().is_some_and(|last| *last != b'\n');
        let (records, skipped) = records(&content);
        let writing = Writing { file, end: content.len() as u64, is_torn };
        let transcript = Transcript { path: path.to_owned(), flush, open: Mutex::new(Some(writing)) };
        Ok(Opened { transcript, records, skipped })
    }

    /// Writes a record: JSON on one line. When this returns it is in the file, whole; after an error it is not.
    ///
    /// # Errors
    /// `Store` if it cannot be written, or the log is closed.
    pub fn append(&self, record: &str) -> Result<()> {
        let mut open = self.open.lock();
        let writing = self.writing(&mut open)?;
        let mut line = String::with_capacity(record.len() + 2);
        if writing.is_torn {
            line.push('\n');
        }
        line.push_str(record);
        line.push('\n');
        let mut outcome = writing.file.write_all(line.as_bytes());
        if self.flush == Flush::Always {
            outcome = outcome.and_then(|()| writing.file.sync_data());
        }
        match outcome {
            Ok(()) => {
                writing.end += line.len() as u64;
                writing.is_torn = false;
                Ok(())
            }
            Err(error) => {
                // Half a record on a full disk; where it cannot be taken back, the next one begins on its own line.
                writing.is_torn |= writing.file.set_len(writing.end).is_err();
                Err(failed("write", &self.path, &error))
            }
        }
    }

    /// Copies the log as it is to `to`, whole or not at all.
    ///
    /// # Errors
    /// `Store` if that is there already or cannot be written.
    pub fn export(&self, to: &Path) -> Result<()> {
        // Nobody appends meanwhile.
        let _open = self.open.lock();
        let content = disk::read(&self.path).map_err(|error| failed("read", &self.path, &error))?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let written = disk::make_folder(folder)
            .and_then(|()| Draft::write(folder, &content)?.publish(to))
            .and_then(|()| disk::sync_folder(folder));
        written.map_err(|error| failed("write", to, &error))
    }

    /// Ends the work on the log, and lets others open it. Closing it again is no mistake.
    ///
    /// # Errors
    /// `Store` if it cannot be flushed; it is closed all the same.
    pub fn close(&self) -> Result<()> {
        match self.open.lock().take() {
            Some(writing) if self.flush != Flush::Never => {
                writing.file.sync_all().map_err(|error| failed("flush", &self.path, &error))
            }
            _ => Ok(()),
        }
    }

    fn writing<'a>(&self, open: &'a mut Option<Writing>) -> Result<&'a mut Writing> {
        open.as_mut().ok_or_else(|| Error::Store {
            problem: format!("{} is closed", self.path.display()),
            remedy: "open it again".to_owned(),
        })
    }
}

fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Error::Store {
            problem: format!("{} is open already, here or in another process", path.display()),
            remedy: "close it there first, or keep a log for each".to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(Error::Store {
            problem: format!("{} cannot be locked: {error}", path.display()),
            remedy: "keep it on a file system with locks, or open it without one".to_owned(),
        }),
    }
}

/// The lines that are records, and what is said of the others. O(length).
fn records(content: &[u8]) -> (Vec<String>, Vec<String>) {
    let (mut records, mut skipped) = (Vec::new(), Vec::new());
    let lines = content.split(|byte| *byte == b'\n').enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
        match std::str::from_utf8(line) {
            Ok(text) if serde_json::from_str::<IgnoredAny>(text).is_ok() => records.push(text.to_owned()),
            _ => skipped.push(format!("line {} of {} bytes is torn, and was skipped", index + 1, line.len())),
        }
    }
    (records, skipped)
}
