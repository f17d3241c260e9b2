//! The content of a media block, read a few bytes at a time in any encoding.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Accepts base64 with and without padding, because hosts differ.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Four characters of base64 encode three bytes.
const CHARACTERS: usize = 4;
const BYTES: usize = 3;
/// Number of groups that are decoded at once. They fit on the stack, and suffice for full speed on a long text.
const GROUPS: usize = 256;

/// Bytes with random access.
pub trait Content {
    /// The number of bytes.
    fn length(&self) -> usize;

    /// Copies the bytes from `at` on into `into`, and returns their number. It is lower at the end, or where the
    /// content is damaged.
    fn read(&self, at: usize, into: &mut [u8]) -> usize;

    /// Returns the text that encodes the bytes, if there is one.
    fn as_text(&self) -> Option<&str> {
        None
    }
}

impl dyn Content + '_ {
    /// Returns `N` bytes from `at` on; `None` if there are fewer.
    pub(super) fn exactly<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        (self.read(at, &mut bytes) == N).then_some(bytes)
    }

    /// Returns at most `most` bytes from `at` on.
    pub(super) fn some(&self, at: usize, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most.min(self.length().saturating_sub(at))];
        let read = self.read(at, &mut bytes);
        bytes.truncate(read);
        bytes
    }
}

/// Unencoded bytes.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a>(pub &'a [u8]);

impl Content for Raw<'_> {
    fn length(&self) -> usize {
        self.0.len()
    }

    fn read(&self, at: usize, into: &mut [u8]) -> usize {
        let rest = self.0.get(at..).unwrap_or_default();
        let length = rest.len().min(into.len());
        into[..length].copy_from_slice(&rest[..length]);
        length
    }
}

/// The longest line of a text with line breaks: the limit of mail (RFC 5322, 2.1.1), which usually has 76.
const LONGEST_LINE: usize = 998;

/// Bytes in base64, with or without padding, in the standard alphabet or in the one for URLs, which Google's libraries
/// write. Random access needs no decoding of earlier bytes. The text may have line breaks if its lines have the same
/// length.
#[derive(Debug, Clone, Copy)]
pub struct Base64<'a> {
    written: &'a str,
    characters: &'a [u8],
    /// Number of characters of a line, and of the line break after it.
    line: usize,
    line_break: usize,
}

impl<'a> Base64<'a> {
    /// Returns the bytes that `text` encodes.
    pub fn new(text: &'a str) -> Base64<'a> {
        let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let characters = text.trim_ascii().trim_end_matches(['=', '\n', '\r', ' ']).as_bytes();
        let line = characters.iter().take(LONGEST_LINE).position(is_break);
        let line_break = line.map_or(0, |line| characters[line..].iter().take_while(|byte| is_break(byte)).count());
        Base64 { written: text, characters, line: line.unwrap_or(characters.len()).max(1), line_break }
    }

    /// Returns the number of characters that encode bytes.
    fn count(&self) -> usize {
        let (lines, rest) = (
            self.characters.len() / (self.line + self.line_break),
            self.characters.len() % (self.line + self.line_break),
        );
        lines * self.line + rest.min(self.line)
    }

    /// Copies the characters from `at` on, without line breaks and in the standard alphabet. Returns their number.
    fn copy(&self, at: usize, into: &mut [u8]) -> usize {
        let mut copied = 0;
        while copied < into.len() {
            let (line, column) = ((at + copied) / self.line, (at + copied) % self.line);
            let start = line.saturating_mul(self.line + self.line_break).saturating_add(column);
            let rest = self.characters.get(start..).unwrap_or_default();
            let run = &rest[..rest.len().min(self.line - column).min(into.len() - copied)];
            if run.is_empty() {
                break;
            }
            for (to, from) in into[copied..].iter_mut().zip(run) {
                *to = match from {
                    b'-' => b'+',
                    b'_' => b'/',
                    other => *other,
                };
            }
            copied += run.len();
        }
        copied
    }
}

impl Content for Base64<'_> {
    fn length(&self) -> usize {
        self.count() / CHARACTERS * BYTES + (self.count() % CHARACTERS).saturating_sub(1)
    }

    fn read(&self, at: usize, into: &mut [u8]) -> usize {
        let (mut group, mut skip) = (at / BYTES, at % BYTES);
        let mut read = 0;
        while read < into.len() {
            let groups = (skip + into.len() - read).div_ceil(BYTES).min(GROUPS);
            let mut characters = [0; GROUPS * CHARACTERS];
            let copied = self.copy(group.saturating_mul(CHARACTERS), &mut characters[..groups * CHARACTERS]);
            let characters = &characters[..copied];
            let mut bytes = [0; GROUPS * BYTES];
            // A damaged group ends the content. The groups before it still count.
            let decoded =
                LENIENT.decode_slice(characters, &mut bytes).unwrap_or_else(|_| undamaged(characters, &mut bytes));
            let wanted = bytes[..decoded].get(skip..).unwrap_or_default();
            let length = wanted.len().min(into.len() - read);
            into[read..read + length].copy_from_slice(&wanted[..length]);
            read += length;
            if decoded < groups * BYTES {
                break;
            }
            (group, skip) = (group + groups, 0);
        }
        read
    }

    fn as_text(&self) -> Option<&str> {
        Some(self.written)
    }
}

/// Decodes up to the first invalid group.
fn undamaged(characters: &[u8], bytes: &mut [u8]) -> usize {
    let decode = |(group, into): (&[u8], &mut [u8])| LENIENT.decode_slice(group, into).ok();
    characters.chunks(CHARACTERS).zip(bytes.chunks_mut(BYTES)).map_while(decode).sum()
}

/// Returns the data of a URL such as `data:image/png;base64,...`; `None` for any other text.
pub fn data_of_url(text: &str) -> Option<&str> {
    /// Longer than any media type with its parameters. A comma further on belongs to something else.
    const LONGEST_HEAD: usize = 256;
    let scheme = text.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:"))?;
    let head_end = text.bytes().take(LONGEST_HEAD).position(|byte| byte == b',')?;
    let head = &text[scheme.len()..head_end];
    head.ends_with(";base64").then(|| &text[head_end + 1..])
}
