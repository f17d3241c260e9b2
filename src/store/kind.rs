//! Distinguishes stored text from binary content.

use infer::MatcherType;

/// Number of bytes that are checked. Headers of files are shorter, and the rest of a text is like its beginning.
const LOOKED_AT: usize = 8_192;

/// The type of stored content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    /// Text of any kind, even if a few bytes are not UTF-8.
    Text,
    /// A picture, a document, an archive or the like.
    Binary {
        /// Its media type.
        mime: &'static str,
        /// The suffix of its file name.
        suffix: &'static str,
    },
}

impl ContentKind {
    /// Returns the type of `content` by its first bytes. O(1).
    ///
    /// A signature alone proves little: every text that begins with `BM` has that of a bitmap. So some bytes must also
    /// be unusual in text. Without a known signature, many must be.
    pub fn of(content: &[u8]) -> ContentKind {
        /// The least percentage of unusual bytes in content with a signature. Real files have tens of percent.
        const SIGNED: usize = 5;
        /// The least percentage without a signature. Text in another encoding than UTF-8 may exceed it, but nobody can
        /// read that.
        const UNSIGNED: usize = 30;
        /// Shorter content without a signature is shown as text, because it is too short to judge.
        const SHORTEST: usize = 64;

        let head = &content[..content.len().min(LOOKED_AT)];
        let odd = odd_bytes(head) * 100;
        let signature = infer::get(head).filter(|found| found.matcher_type() != MatcherType::Text);
        match signature {
            // A PDF may be nearly all text, but its signature is long.
            Some(found) if odd > SIGNED * head.len() || found.mime_type() == "application/pdf" => {
                ContentKind::Binary { mime: found.mime_type(), suffix: found.extension() }
            }
            _ if head.len() >= SHORTEST && odd > UNSIGNED * head.len() => {
                ContentKind::Binary { mime: "application/octet-stream", suffix: TEXT_SUFFIX }
            }
            _ => ContentKind::Text,
        }
    }

    /// Returns the suffix of the file name for this type.
    pub fn suffix(self) -> &'static str {
        match self {
            ContentKind::Text => TEXT_SUFFIX,
            ContentKind::Binary { suffix, .. } => suffix,
        }
    }

    /// True if the name of a stored file may have this suffix.
    pub(super) fn is_suffix(suffix: &str) -> bool {
        suffix == TEXT_SUFFIX || infer::is_supported(suffix)
    }
}

/// The suffix for all text, and for content without a known signature.
const TEXT_SUFFIX: &str = "log";

/// Counts bytes that are not UTF-8, and control characters that are neither layout nor colour.
fn odd_bytes(head: &[u8]) -> usize {
    let controls = |text: &str| {
        text.bytes().filter(|byte| byte.is_ascii_control() && !matches!(byte, b'\t'..=b'\r' | 0x08 | 0x1b)).count()
    };
    head.utf8_chunks().map(|chunk| controls(chunk.valid()) + chunk.invalid().len()).sum()
}
