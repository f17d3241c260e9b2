//! Recognizes the content of a document: text, pages, or neither.

use super::content::Content;
use super::pdf::{HEAD, is_pdf, pages};
use super::{Media, MediaKind, Size};

/// The content of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentContent {
    /// Text, which is counted like any text.
    Text(String),
    /// Content that is counted by its size.
    Sized(Media),
}

/// Recognizes a document by its first bytes. A PDF has pages, an office file has bytes, and anything else that can be
/// read as text is text. Some hosts send the text itself in place of base64, which counts as text too. O(1) for PDF and
/// office files, O(length) for text.
pub fn open_document(content: &dyn Content) -> DocumentContent {
    let head = content.some(0, HEAD);
    let unencoded = |read: usize, of: usize| content.as_text().filter(|_| read < of).map(str::to_owned);
    if let Some(text) = unencoded(head.len(), HEAD.min(content.length())) {
        return DocumentContent::Text(text);
    }
    let size = if is_pdf(&head) {
        Size::Pages(pages(content, &head))
    } else if is_office(&head) {
        Size::Bytes(content.length() as u64)
    } else {
        let all = (!head.contains(&0)).then(|| content.some(0, content.length()));
        if let Some(text) = all.and_then(|all| unencoded(all.len(), content.length()).or_else(|| text(all))) {
            return DocumentContent::Text(text);
        }
        Size::Bytes(content.length() as u64)
    };
    DocumentContent::Sized(Media { kind: MediaKind::Document, size })
}

/// True if these are the first bytes of a ZIP archive (docx, xlsx), or of the container of doc and xls.
fn is_office(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"\xD0\xCF\x11\xE0")
}

/// Returns the text in any encoding that includes ASCII; invalid UTF-8 is replaced. Binary data contains zeros.
fn text(bytes: Vec<u8>) -> Option<String> {
    if bytes.contains(&0) {
        return None;
    }
    Some(String::from_utf8(bytes).unwrap_or_else(|damaged| String::from_utf8_lossy(damaged.as_bytes()).into_owned()))
}
