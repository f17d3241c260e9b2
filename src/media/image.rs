//! Reads the dimensions of an image from its header.
//!
//! The existing crates need a seekable reader, so base64 would have to be decoded up to the header. In a photograph
//! that is after the preview and the colour profile. Here a jump costs nothing.

use super::content::Content;

/// Maximum number of segments of a JPEG before its frame. Previews and colour profiles have segments of up to 64 KB, so
/// these hold 16 MB. A file of empty segments ends the search soon.
const MOST_SEGMENTS: usize = 256;

/// Number of fields of a TIFF directory that are checked. They are sorted, and only two may precede the dimensions.
const MOST_FIELDS: usize = 4;

/// Returns the width and height in pixels of a PNG, JPEG, GIF, WebP, BMP or TIFF. `None` for any other content, for
/// content that is damaged before the dimensions, and for an image without area.
pub(super) fn dimensions(content: &dyn Content) -> Option<(u32, u32)> {
    let start: [u8; 4] = content.exactly(0)?;
    let (width, height) = match &start {
        [0x89, b'P', b'N', b'G'] => png(content),
        [0xFF, 0xD8, 0xFF, _] => jpeg(content),
        b"GIF8" => pair(content, 6, u16::from_le_bytes),
        b"RIFF" => webp(content),
        [b'B', b'M', ..] => bmp(content),
        b"II*\0" => tiff(content, Endian::Little),
        b"MM\0*" => tiff(content, Endian::Big),
        _ => None,
    }?;
    (width > 0 && height > 0).then_some((width, height))
}

/// Reads two consecutive 16-bit numbers.
fn pair(content: &dyn Content, at: usize, number: fn([u8; 2]) -> u16) -> Option<(u32, u32)> {
    let [a, b, c, d] = content.exactly(at)?;
    Some((number([a, b]).into(), number([c, d]).into()))
}

/// Reads a PNG: <https://www.w3.org/TR/png-3/#11IHDR>
fn png(content: &dyn Content) -> Option<(u32, u32)> {
    let name: [u8; 4] = content.exactly(12)?;
    if &name != b"IHDR" {
        return None;
    }
    Some((u32::from_be_bytes(content.exactly(16)?), u32::from_be_bytes(content.exactly(20)?)))
}

/// Reads a JPEG. The dimensions are in the frame header, the first segment with one of the markers SOF0 to SOF15
/// (<https://www.w3.org/Graphics/JPEG/itu-t81.pdf>, B.1 and B.2.2).
fn jpeg(content: &dyn Content) -> Option<(u32, u32)> {
    /// Markers in the same range that are not frames: two kinds of tables, and an extension.
    const NO_FRAME: [u8; 3] = [0xC4, 0xC8, 0xCC];
    let mut at = 2;
    for _ in 0..MOST_SEGMENTS {
        let [mark, marker, high, low] = content.exactly(at)?;
        match (mark, marker) {
            // Any number of fill bytes may precede a marker.
            (0xFF, 0xFF) => at += 1,
            (0xFF, 0xC0..=0xCF) if !NO_FRAME.contains(&marker) => {
                return pair(content, at + 5, u16::from_be_bytes).map(|(height, width)| (width, height));
            }
            // The image data, or its end, without a frame before it.
            (0xFF, 0xDA | 0xD9) => return None,
            // These markers have no segment.
            (0xFF, 0x01 | 0xD0..=0xD8) => at += 2,
            (0xFF, _) => at += 2 + usize::from(u16::from_be_bytes([high, low])),
            _ => return None,
        }
    }
    None
}

/// Reads a WebP: <https://developers.google.com/speed/webp/docs/riff_container>
fn webp(content: &dyn Content) -> Option<(u32, u32)> {
    /// Mask of a dimension in the lossy and lossless formats.
    const DIMENSION: u32 = 0x3FFF;
    let [b'W', b'E', b'B', b'P', b'V', b'P', b'8', form] = content.exactly(8)? else { return None };
    match form {
        b' ' => pair(content, 26, u16::from_le_bytes).map(|(width, height)| (width & DIMENSION, height & DIMENSION)),
        b'L' => {
            let bits = u32::from_le_bytes(content.exactly(21)?);
            Some(((bits & DIMENSION) + 1, (bits >> 14 & DIMENSION) + 1))
        }
        b'X' => {
            let number = |at| content.exactly(at).map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]));
            Some((number(24)? + 1, number(27)? + 1))
        }
        _ => None,
    }
}

/// Reads a BMP: <https://learn.microsoft.com/en-us/windows/win32/gdi/bitmap-storage>
fn bmp(content: &dyn Content) -> Option<(u32, u32)> {
    /// Length of the oldest header, which has 16-bit numbers.
    const CORE_HEADER: u32 = 12;
    if u32::from_le_bytes(content.exactly(14)?) == CORE_HEADER {
        return pair(content, 18, u16::from_le_bytes);
    }
    let number = |at| Some(i32::from_le_bytes(content.exactly(at)?).unsigned_abs());
    // The height is negative if the rows are stored from top to bottom.
    Some((number(18)?, number(22)?))
}

#[derive(Clone, Copy)]
enum Endian {
    Little,
    Big,
}

impl Endian {
    fn short(self, bytes: [u8; 2]) -> u32 {
        match self {
            Endian::Little => u16::from_le_bytes(bytes).into(),
            Endian::Big => u16::from_be_bytes(bytes).into(),
        }
    }

    fn long(self, bytes: [u8; 4]) -> u32 {
        match self {
            Endian::Little => u32::from_le_bytes(bytes),
            Endian::Big => u32::from_be_bytes(bytes),
        }
    }
}

/// Reads a TIFF. The dimensions are fields of the first directory, which may be anywhere
/// (<https://www.itu.int/itudoc/itu-t/com16/tiff-fx/docs/tiff6.pdf>, section 2).
fn tiff(content: &dyn Content, endian: Endian) -> Option<(u32, u32)> {
    const WIDTH: u32 = 0x100;
    const HEIGHT: u32 = 0x101;
    const SHORT: u32 = 3;
    const FIELD: usize = 12;
    let directory = usize::try_from(endian.long(content.exactly(4)?)).ok()?;
    let mut width = None;
    for field in 0..MOST_FIELDS {
        let field: [u8; FIELD] = content.exactly(directory.checked_add(2 + field * FIELD)?)?;
        let [tag, kind] = [0, 2].map(|at| endian.short([field[at], field[at + 1]]));
        let value = match kind {
            SHORT => endian.short([field[8], field[9]]),
            _ => endian.long([field[8], field[9], field[10], field[11]]),
        };
        match (tag, width) {
            (WIDTH, _) => width = Some(value),
            (HEIGHT, Some(width)) => return Some((width, value)),
            _ => {}
        }
    }
    None
}
