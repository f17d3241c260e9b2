//! What a document is: text, pages, or neither.

use super::content::Content;
use super::{Media, MediaKind, Size};

/// A PDF says what it is in its first kilobyte, and a linearized one how many pages it has.
const HEAD: usize = 1024;
/// Where the root of the page tree is looked for: some writers put it first, most of them last, before the table of
/// objects.
const FIRST: usize = 16 * 1024;
const LAST: usize = 64 * 1024;

/// Bytes a page of a PDF whose pages cannot be counted, because its objects are compressed: a page of text takes some
/// ten thousand, one with pictures hundreds of thousands.
const PDF_BYTES_A_PAGE: u64 = 50_000;
/// Estimated pages are at most as many as a provider takes
/// (<https://docs.anthropic.com/en/docs/build-with-claude/pdf-support>): beyond that a file is large by its pictures.
const MOST_ESTIMATED_PAGES: u32 = 100;

/// What was found in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// Its words, which count as any text does.
    Text(String),
    /// What is counted by its size.
    Sized(Media),
}

/// What a document holds, by its first bytes: a PDF has pages, an office file bytes, and what is none of them and reads
/// as text is text. O(1) for the first two, O(length) for text.
pub fn open_document(content: &dyn Content) -> Opened {
    let head = content.some(0, HEAD);
    let size = if find(&head, b"%PDF-").is_some() {
        Size::Pages(pages(content, &head))
    } else if is_office(&head) || content.length() == 0 {
        Size::Bytes(content.length() as u64)
    } else {
        match text(content) {
            Some(text) => return Opened::Text(text),
            None => Size::Bytes(content.length() as u64),
        }
    };
    Opened::Sized(Media { kind: MediaKind::Document, size })
}

/// Whether these are the first bytes of a ZIP archive, as docx and xlsx are, or of the container of doc and xls.
fn is_office(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"\xD0\xCF\x11\xE0")
}

/// The text in any encoding that keeps ASCII; what is no UTF-8 is replaced. Data of no encoding has zeros in it.
fn text(content: &dyn Content) -> Option<String> {
    if content.some(0, HEAD).contains(&0) {
        return None;
    }
    match String::from_utf8(content.some(0, content.length())) {
        Ok(text) => Some(text),
        Err(damaged) if damaged.as_bytes().contains(&0) => None,
        Err(damaged) => Some(String::from_utf8_lossy(damaged.as_bytes()).into_owned()),
    }
}

/// Pages of a PDF: those it states in plain sight, else an estimate by its length.
fn pages(content: &dyn Content, head: &[u8]) -> u32 {
    let stated = linearized(head)
        .or_else(|| root_count(&content.some(content.length().saturating_sub(LAST), LAST)))
        .or_else(|| root_count(&content.some(0, FIRST)));
    stated.unwrap_or_else(|| {
        let estimated = (content.length() as u64).div_ceil(PDF_BYTES_A_PAGE);
        u32::try_from(estimated).unwrap_or(u32::MAX).min(MOST_ESTIMATED_PAGES)
    })
}

/// The number of pages in the first object of a linearized file (ISO 32000-1, annex F).
fn linearized(head: &[u8]) -> Option<u32> {
    let object = &head[find(head, b"/Linearized")?..];
    let object = &object[..find(object, b">>")?];
    number_behind(object, b"/N").filter(|pages| *pages > 0)
}

/// The number of leaves below the root of the page tree, which is the node without a parent (ISO 32000-1, 7.7.3.2). The
/// last one counts: a changed file has its new root behind the old.
fn root_count(bytes: &[u8]) -> Option<u32> {
    let mut rest = bytes;
    let mut count = None;
    while let Some(at) = find(rest, b"/Pages") {
        let behind = &rest[at + b"/Pages".len()..];
        if rest[..at].trim_ascii_end().ends_with(b"/Type") {
            let start = rfind(&rest[..at], b"obj").unwrap_or(0);
            let end = find(behind, b"endobj").map_or(rest.len(), |end| rest.len() - behind.len() + end);
            let node = &rest[start..end];
            if find(node, b"/Parent").is_none() {
                count = number_behind(node, b"/Count").filter(|pages| *pages > 0).or(count);
            }
        }
        rest = behind;
    }
    count
}

fn number_behind(bytes: &[u8], name: &[u8]) -> Option<u32> {
    let mut rest = bytes;
    loop {
        rest = &rest[find(rest, name)? + name.len()..];
        let digits = rest.trim_ascii_start();
        let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // A longer name begins alike, such as /Next.
        if length > 0 {
            return std::str::from_utf8(&digits[..length]).ok()?.parse().ok();
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn rfind(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).rposition(|window| window == what)
}
