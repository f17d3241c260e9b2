//! Parses one line of `ls -l` or `find -ls`.

/// An entry of a long list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) mode: &'a str,
    pub(super) owner: &'a str,
    pub(super) group: &'a str,
    pub(super) size: &'a str,
    pub(super) name: &'a str,
}

impl<'a> Entry<'a> {
    pub(super) fn is_file(&self) -> bool {
        self.mode.starts_with('-')
    }

    pub(super) fn bytes(&self) -> u64 {
        self.size.parse().unwrap_or(0)
    }

    /// True if the mode is a usual one for files, programs, folders and links.
    pub(super) fn has_usual_mode(&self) -> bool {
        matches!(
            self.mode,
            "-rw-r--r--"
                | "-rw-rw-r--"
                | "-rwxr-xr-x"
                | "-rwxrwxr-x"
                | "drwxr-xr-x"
                | "drwxrwxr-x"
                | "lrwxrwxrwx"
                | "lrwxr-xr-x"
        )
    }

    /// Splits a path into the folder with its slash, and the name. The folder is empty for a plain name.
    pub(super) fn split(&self) -> (&'a str, &'a str) {
        if !self.name.contains('/') {
            return ("", self.name);
        }
        // The name of a link includes its target.
        let path = self.name.split(" -> ").next().unwrap_or(self.name).trim_end_matches('/');
        self.name.split_at(path.rfind('/').map_or(0, |at| at + 1))
    }
}

/// Parses `-rw-r--r-- 1 root root 1234 Mar  5  2024 name`, with or without the inode and block count that `find` and
/// `ls -is` print first.
pub(super) fn entry(line: &str) -> Option<Entry<'_>> {
    // Most lines begin with the mode, and have no inode.
    let line = if line.starts_with(['-', 'd', 'l']) { line } else { without_inode(line) };
    let mode = line.get(..10)?;
    let is_mode = mode.starts_with(['-', 'd', 'l', 'c', 'b', 'p', 's'])
        && mode.bytes().skip(1).all(|byte| matches!(byte, b'r' | b'w' | b'x' | b'-' | b's' | b'S' | b't' | b'T'));
    if !is_mode {
        return None;
    }
    let mut rest = line[10..].trim_start_matches(['.', '+', '@']);
    let mut word = || {
        rest = rest.trim_start_matches(' ');
        let (word, behind) = rest.split_once(' ')?;
        rest = behind;
        Some(word)
    };
    let (_links, owner, group) = (word()?, word()?, word()?);
    let mut size = word()?;
    if size.ends_with(',') {
        // A device has two numbers instead of a size.
        size = word()?;
    }
    // Month, day, and time or year; or date, time and zone.
    let (_, _, _) = (word()?, word()?, word()?);
    Some(Entry { mode, owner, group, size, name: rest.trim_start_matches(' ') }).filter(|entry| !entry.name.is_empty())
}

/// Returns the line without the inode and block count, if it has them.
fn without_inode(line: &str) -> &str {
    let number = |line: &str| {
        let (word, rest) = line.trim_start_matches(' ').split_once(' ')?;
        (!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest.len())
    };
    let behind = number(line).and_then(|rest| number(&line[line.len() - rest..]));
    behind.map_or(line, |rest| &line[line.len() - rest..])
}
