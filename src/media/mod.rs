//! The kind and size of a picture, a file, a sound or a video.
//!
//! The size is read from the first bytes of the content, whether raw or base64: some hundred bytes of an image, some
//! thousand of a PDF, however large it is. Only a text file is decoded and copied whole, because its words are counted.

mod content;
mod document;
mod image;
mod pdf;
mod sound;

pub use content::{Base64, Content, Raw, data_of_url};
pub use document::{DocumentContent, open_document};

/// The kind of a media block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A file such as a PDF.
    Document,
    /// Sound.
    Audio,
    /// Video.
    Video,
}

/// The size of a media block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Size {
    /// Unknown size: the content is elsewhere (a URL, a file id, a bucket), or its header cannot be read.
    Unknown,
    /// The size of an image.
    Pixels {
        /// Width, at least 1.
        width: u32,
        /// Height, at least 1.
        height: u32,
    },
    /// The pages of a document, read or estimated.
    Pages(u32),
    /// The bytes of a document that is not text and whose pages cannot be counted.
    Bytes(u64),
    /// The length of a sound or video, read or estimated, rounded up.
    Seconds(u32),
}

/// A block of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Media {
    /// The kind.
    pub kind: MediaKind,
    /// The size.
    pub size: Size,
}

impl Media {
    /// Returns a block of which only the kind is known.
    pub fn unknown(kind: MediaKind) -> Media {
        Media { kind, size: Size::Unknown }
    }

    /// Reads the header of an image, sound or video, O(1). For a document use [`open_document`].
    pub fn of(kind: MediaKind, content: &dyn Content) -> Media {
        let size = match kind {
            MediaKind::Image => image::dimensions(content).map(|(width, height)| Size::Pixels { width, height }),
            MediaKind::Audio => sound::seconds(content, sound::AUDIO_BYTES_A_SECOND),
            MediaKind::Video => sound::seconds(content, sound::VIDEO_BYTES_A_SECOND),
            MediaKind::Document => None,
        };
        Media { kind, size: size.unwrap_or(Size::Unknown) }
    }

    /// Returns a number that differs for every kind and size.
    pub fn key(self) -> u128 {
        const KIND_AT: u32 = 64;
        const SIZE_AT: u32 = 72;
        let (which, size) = match self.size {
            Size::Unknown => (0, 0),
            Size::Pixels { width, height } => (1, u64::from(width) << u32::BITS | u64::from(height)),
            Size::Pages(pages) => (2, u64::from(pages)),
            Size::Bytes(bytes) => (3, bytes),
            Size::Seconds(seconds) => (4, u64::from(seconds)),
        };
        u128::from(size) | (self.kind as u128) << KIND_AT | which << SIZE_AT
    }
}
