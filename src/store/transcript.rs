//! The log of a conversation: a file with a line for each record, which is only appended to.
//!
//! A record is one write. If a process dies, a record is whole or torn, and only the last one can be torn. A torn line
//! stays in the file. The next writer ends it with a blank, which distinguishes it from a whole line that was damaged
//! later. A torn record was never reported as written, so it has no place among the others. A damaged record keeps its
//! place.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::de::IgnoredAny;

use super::disk::{self, TemporaryFile, failed};
use crate::error::{Error, Result};

/// When records are flushed to the disk, so that they survive a power failure. They survive a crash of the process
/// anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// At each record, before it counts as written.
    Always,
    /// When the log is closed.
    OnClose,
    /// When the operating system decides.
    Never,
}

/// The exclusion of other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// Only one process may have the log open.
    Exclusive,
    /// Any number of processes may, on a file system without locks. Then nothing is ever undone, because the end of the
    /// file may belong to another process.
    None,
}

/// An opened log, and its contents.
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
    /// A record as written.
    Record(String),
    /// The readable text of a damaged record.
    Damaged(String),
}

/// A log; see the module's documentation.
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
    /// Length of the file in bytes, if no other process writes.
    end: u64,
    /// True if its last line has no line end, if no other process writes.
    is_torn: bool,
}

/// Ends a torn line. If the line is whole JSON after all, a blank at its end changes nothing.
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

    /// Writes a record: JSON on one line. When this returns, the whole record is in the file. After an error it is not,
    /// but without a lock nothing can be undone, so the written part stays.
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
                    // A full disk leaves half a record. If it cannot be undone, the next record begins on its own line.
                    writing.is_torn |= writing.file.set_len(writing.end).is_err();
                }
                Err(failed("write", &self.path, &error))
            }
        }
    }

    /// Copies the log in its present state to `to`, whole or not at all.
    ///
    /// # Errors
    /// `Store` if `to` exists or cannot be written.
    pub fn export(&self, to: &Path) -> Result<()> {
        // Held so that no thread appends meanwhile.
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
    /// `Store` if it cannot be flushed. It is closed anyway.
    pub fn close(&self) -> Result<()> {
        let Some(writing) = self.open.lock().take() else { return Ok(()) };
        let flushed = if self.flush == Flush::Never { Ok(()) } else { writing.file.sync_all() };
        if self.locking == Locking::Exclusive {
            // A forked child still has the file open, and would keep the lock. If this fails, the lock ends with the
            // last owner of the file.
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

/// True if the last line of a file has no line end.
fn is_torn(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Returns the lines that are or were records, and descriptions of the others. O(length).
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
