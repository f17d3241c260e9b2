//! Encoded data: lines of base64, or a hexadecimal dump. Its first bytes name the kind of data.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::outline::{Outline, Rank, Unit, lines};
use super::sample::Sample;
use crate::numbers::thousands;

/// Fewer lines are kept as they are.
const FEWEST: usize = 5;

/// Minimum length of a line of base64. PEM and MIME have 64 and 76 characters.
const NARROWEST: usize = 48;

/// Minimum number of bytes in a line of a dump. Columns of numbers have fewer.
const WIDTH: usize = 8;

/// The least percentage of lines with data. The last line is shorter, and PEM has a line before and one after the data.
const DATA: usize = 90;

/// Number of lines that are shown.
const SHOWN: usize = 2;

/// Number of bytes that identify the kind of data.
const MAGIC: usize = 16;

/// The encoding of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DataEncoding {
    Base64,
    /// A dump: the offset, the bytes, and often the bytes as text.
    Dump,
}

/// True if nearly all lines are data.
pub(super) fn claims(sample: &Sample<'_>) -> bool {
    form(sample).is_some()
}

/// Describes the data and keeps its first lines. `None` if the text is not encoded data. O(length).
pub(super) fn outline(text: &str) -> Option<Outline<'_>> {
    let form = form(&Sample::of(text, ""))?;
    let is_data = |line: &str| match form {
        DataEncoding::Base64 => is_base64(line, 1),
        DataEncoding::Dump => dumped(line).is_some(),
    };
    let all: Vec<Range<usize>> = lines(text).collect();
    let body = |line: &Range<usize>| text[line.clone()].trim_end();
    let (mut first, mut bytes) = (Vec::new(), 0);
    for line in all.iter().map(body).filter(|line| is_data(line)) {
        match form {
            DataEncoding::Base64 => {
                bytes += line.trim_end_matches('=').len() * 3 / 4;
                if first.is_empty() {
                    first = decoded(line);
                }
            }
            DataEncoding::Dump => {
                let dumped = dumped(line).unwrap_or_default();
                bytes += dumped.len();
                if first.is_empty() {
                    first = dumped;
                }
            }
        }
    }
    let how = match form {
        DataEncoding::Base64 => "base64",
        DataEncoding::Dump => "a hexadecimal dump",
    };
    let mut outline = Outline::of(Unit::Lines);
    let named = format!("[{} as {how}, about {} bytes]\n", kind(&first), thousands(bytes));
    // This line describes all of the data.
    outline.push_made(0..0, named, Rank::Alarm, false);
    let mut turn = 0;
    for line in all {
        let is_data = is_data(body(&line));
        turn += usize::from(is_data);
        let rank = match () {
            () if !is_data => Rank::Key,
            () if turn <= SHOWN => Rank::Sample,
            () => Rank::Bulk,
        };
        outline.push_line(text, line, rank, &[]);
    }
    Some(outline)
}

fn form(sample: &Sample<'_>) -> Option<DataEncoding> {
    if sample.lines.len() < FEWEST {
        return None;
    }
    let is_width = |line: &str| is_base64(line, NARROWEST) && line.len() == sample.lines[1].len();
    // Words and paths have the same letters as base64, but not all kinds of them in each line.
    let is_mixed = |line: &str| {
        let has = |is: fn(&u8) -> bool| line.as_bytes().iter().any(is);
        is_width(line) && has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
    };
    match () {
        () if sample.share(is_mixed) >= DATA => Some(DataEncoding::Base64),
        () if sample.share(|line| dumped(line).is_some_and(|bytes| bytes.len() >= WIDTH)) >= DATA => {
            Some(DataEncoding::Dump)
        }
        () => None,
    }
}

/// Decodes the first bytes of a line of base64.
fn decoded(line: &str) -> Vec<u8> {
    // Four digits make three bytes.
    let digits = &line[..(line.len() / 4 * 4).min(MAGIC / 2 * 3)];
    let mut bytes = [0; MAGIC * 2];
    STANDARD.decode_slice(digits, &mut bytes).map_or_else(|_| Vec::new(), |length| bytes[..length].to_vec())
}

fn is_base64(line: &str, least: usize) -> bool {
    let digits = line.trim_end_matches('=');
    line.len() >= least
        && line.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_'))
}

/// Decodes the bytes of a line of `xxd`, `hexdump -C` or `od -t x1`.
fn dumped(line: &str) -> Option<Vec<u8>> {
    let (offset, rest) = line.split_once([' ', ':'])?;
    let is_hex = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !(6..=16).contains(&offset.len()) || !is_hex(offset) {
        return None;
    }
    let rest = rest.trim_start_matches([':', ' ']);
    // The text follows two spaces, or stands between bars.
    let rest = rest.split('|').next().unwrap_or(rest);
    let mut bytes = Vec::new();
    for word in rest.split(' ').take_while(|word| word.is_empty() || matches!(word.len(), 2 | 4) && is_hex(word)) {
        if word.is_empty() && rest.contains("  ") && bytes.len() >= MAGIC {
            break;
        }
        let digits = word.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok());
        bytes.extend(digits.filter_map(|pair| u8::from_str_radix(pair, 16).ok()));
    }
    (bytes.len() >= 2).then_some(bytes)
}

/// Names the file format that begins with these bytes.
fn kind(first: &[u8]) -> &'static str {
    /// First bytes of file formats: <https://en.wikipedia.org/wiki/List_of_file_signatures>.
    const MARKS: [(&[u8], &str); 16] = [
        (b"\x89PNG", "PNG image"),
        (b"\xff\xd8\xff", "JPEG image"),
        (b"GIF8", "GIF image"),
        (b"RIFF", "RIFF media"),
        (b"%PDF", "PDF document"),
        (b"PK\x03\x04", "ZIP archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"BZh", "bzip2 data"),
        (b"\xfd7zXZ", "xz data"),
        (b"\x28\xb5\x2f\xfd", "Zstandard data"),
        (b"\x7fELF", "ELF program"),
        (b"MZ", "Windows program"),
        (b"\xca\xfe\xba\xbe", "Java class"),
        (b"\x00asm", "WebAssembly module"),
        (b"SQLite format 3", "SQLite database"),
        // Every DER certificate and key begins with these bytes.
        (b"\x30\x82", "certificate or key"),
    ];
    let found = MARKS.iter().find(|(mark, _)| first.starts_with(mark));
    match found {
        Some((_, name)) => name,
        None if !first.is_empty() && first.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')) => {
            "text"
        }
        None => "binary data",
    }
}
