//! The log of a conversation: a file with one line for each record, which is only ever appended to.
//!
//! A record is one write, so a process that dies leaves it whole or torn, and only the last one can be torn. A torn line
//! stays in the file: who writes next ends it with a blank, which tells it from a line that was whole and was damaged
//! later. Nobody was told that a torn record was written, so it has no place among the others; a damaged one keeps its.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::de::IgnoredAny;

use super::disk::{self, TemporaryFile, failed};
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

/// True if other processes are kept out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// One may have the log open at a time.
    Exclusive,
    /// Any number may, on a file system that knows no locks. Then nothing is ever taken back, since what is last in the
    /// file may be another's.
    None,
}

/// A log, and what was in it.
#[derive(Debug)]
pub struct OpenedTranscript {
    /// The log.
    pub transcript: Transcript,
    /// Its lines, in order, without torn ones.
    pub lines: Vec<Line>,
    /// Descriptions of lines that are not records.
    pub skipped: Vec<String>,
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A record as it was written.
    Record(String),
    /// A damaged record, as far as it is text.
    Damaged(String),
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    flush: Flush,
    locking: Locking,
    open: Mutex<Option<Writer>>,
}

#[derive(Debug)]
struct Writer {
    file: File,
    /// Bytes of the file, if no other process writes.
    end: u64,
    /// True if its last line has no end, likewise.
    is_torn: bool,
}

/// Ends a torn line. A blank after JSON changes nothing, should the line be whole after all.
const TORN_END: &str = " \n";

impl Transcript {
    /// Opens the log at `path`, or creates it. Reads the whole file once.
    ///
    /// # Errors
    /// `Store` if it cannot be opened, or another process has it open.
    pub fn open(path: &Path, flush: Flush, locking: Locking) -> Result<OpenedTranscript> {
        let failed = |error: &io::Error| {
            if disk::is_link(path) {
                return Error::Store {
                    problem: format!("{} is a symbolic link", path.display()),
                    remedy: "open the file that it leads to".to_owned(),
                };
            }
            failed("open", path, error)
        };
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
        let (lines, skipped) = lines(&content);
        let writing = Writer { file, end: content.len() as u64, is_torn };
        let transcript = Transcript { path: path.to_owned(), flush, locking, open: Mutex::new(Some(writing)) };
        Ok(OpenedTranscript { transcript, lines, skipped })
    }

    /// Writes a record: JSON on one line. When this returns it is in the file, whole; after an error it is not,
    /// except that without a lock nothing can be taken back: what was written of it stays.
    ///
    /// # Errors
    /// `Store` if it cannot be written, or the log is closed.
    pub fn append(&self, record: &str) -> Result<()> {
        let mut open = self.open.lock();
        let writing = self.writing(&mut open)?;
        let is_torn = match self.locking {
            Locking::Exclusive => writing.is_torn,
            Locking::None => is_torn(&mut writing.file).map_err(|error| failed("read", &self.path, &error))?,
        };
        let mut line = String::with_capacity(record.len() + TORN_END.len() + 1);
        if is_torn {
            line.push_str(TORN_END);
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
                if self.locking == Locking::Exclusive {
                    // Half a record on a full disk; where it cannot be taken back, the next one begins on its own line.
                    writing.is_torn |= writing.file.set_len(writing.end).is_err();
                }
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
            .and_then(|()| TemporaryFile::write(folder, &content)?.publish(to))
            .and_then(|()| disk::sync_folder(folder));
        written.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Store {
                problem: format!("{} already exists", to.display()),
                remedy: "export to a new file".to_owned(),
            },
            _ => failed("write", to, &error),
        })
    }

    /// Closes the log, so that others can open it. Closing it again is allowed.
    ///
    /// # Errors
    /// `Store` if it cannot be flushed; it is closed anyway.
    pub fn close(&self) -> Result<()> {
        let Some(writing) = self.open.lock().take() else { return Ok(()) };
        let flushed = if self.flush == Flush::Never { Ok(()) } else { writing.file.sync_all() };
        if self.locking == Locking::Exclusive {
            // A child that was forked off has the file open still, and would keep the lock. Where this fails, the end
            // of the file's last owner unlocks it.
            let _ = writing.file.unlock();
        }
        flushed.map_err(|error| failed("flush", &self.path, &error))
    }

    fn writing<'a>(&self, open: &'a mut Option<Writer>) -> Result<&'a mut Writer> {
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
            remedy: "close it there first, or use a separate file for each".to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(Error::Store {
            problem: format!("{} cannot be locked: {error}", path.display()),
            remedy: "keep it on a file system with locks, or open it without one".to_owned(),
        }),
    }
}

/// True if the last line of a file has no end.
fn is_torn(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// The lines that are or were records, and what is said of those that are none. O(length).
fn lines(content: &[u8]) -> (Vec<Line>, Vec<String>) {
    let (mut lines, mut skipped) = (Vec::new(), Vec::new());
    for (index, line) in content.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match std::str::from_utf8(text) {
            Ok(text) if serde_json::from_str::<IgnoredAny>(text).is_ok() => lines.push(Line::Record(text.to_owned())),
            _ => {
                let is_torn = line.ends_with(TORN_END.as_bytes()) || !line.ends_with(b"\n");
                let what = if is_torn { "torn" } else { "damaged" };
                skipped.push(format!("line {} of {} bytes is {what}, and was skipped", index + 1, text.len()));
                if !is_torn {
                    lines.push(Line::Damaged(String::from_utf8_lossy(text).into_owned()));
                }
            }
        }
    }
    (lines, skipped)
}
