//! The dimensions of an image, from its header.
//!
//! Read here rather than by a crate: those that there are want a seekable reader, so base64 would have to be decoded up
//! to the place, which in a photograph lies after its preview and colour profile. Here a jump costs nothing.

use super::content::Content;

/// The most segments of a JPEG before its frame. Previews and colour profiles have segments of up to 64 KB, so these
/// hold 16 MB. A file of empty segments is given up soon.
const MOST_SEGMENTS: usize = 256;

/// Fields of a TIFF directory that are looked at. They are sorted, and only two may come before the dimensions.
const MOST_FIELDS: usize = 4;

/// Width and height in pixels of a PNG, JPEG, GIF, WebP, BMP or TIFF. `None` for anything else, for what is damaged
/// before the dimensions, and for an image without area.
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

/// Two numbers of 16 bits, one after the other.
fn pair(content: &dyn Content, at: usize, number: fn([u8; 2]) -> u16) -> Option<(u32, u32)> {
    let [a, b, c, d] = content.exactly(at)?;
    Some((number([a, b]).into(), number([c, d]).into()))
}

/// <https://www.w3.org/TR/png-3/#11IHDR>
fn png(content: &dyn Content) -> Option<(u32, u32)> {
    let name: [u8; 4] = content.exactly(12)?;
    if &name != b"IHDR" {
        return None;
    }
    Some((u32::from_be_bytes(content.exactly(16)?), u32::from_be_bytes(content.exactly(20)?)))
}

/// The dimensions are in the frame header, the first segment whose marker is one of SOF0 to SOF15
/// (<https://www.w3.org/Graphics/JPEG/itu-t81.pdf>, B.1 and B.2.2).
fn jpeg(content: &dyn Content) -> Option<(u32, u32)> {
    /// In the range of the frame markers but none: tables of two kinds, and an extension.
    const NO_FRAME: [u8; 3] = [0xC4, 0xC8, 0xCC];
    let mut at = 2;
    for _ in 0..MOST_SEGMENTS {
        let [mark, marker, high, low] = content.exactly(at)?;
        match (mark, marker) {
            // Any number of fill bytes may be before a marker.
            (0xFF, 0xFF) => at += 1,
            (0xFF, 0xC0..=0xCF) if !NO_FRAME.contains(&marker) => {
                return pair(content, at + 5, u16::from_be_bytes).map(|(height, width)| (width, height));
            }
            // The picture itself, or its end, with no frame before it.
            (0xFF, 0xDA | 0xD9) => return None,
            // These stand alone.
            (0xFF, 0x01 | 0xD0..=0xD8) => at += 2,
            (0xFF, _) => at += 2 + usize::from(u16::from_be_bytes([high, low])),
            _ => return None,
        }
    }
    None
}

/// <https://developers.google.com/speed/webp/docs/riff_container>
fn webp(content: &dyn Content) -> Option<(u32, u32)> {
    /// For the lossy and the lossless format.
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

/// <https://learn.microsoft.com/en-us/windows/win32/gdi/bitmap-storage>
fn bmp(content: &dyn Content) -> Option<(u32, u32)> {
    /// Length of the oldest header, with numbers of 16 bits.
    const CORE_HEADER: u32 = 12;
    if u32::from_le_bytes(content.exactly(14)?) == CORE_HEADER {
        return pair(content, 18, u16::from_le_bytes);
    }
    let number = |at| Some(i32::from_le_bytes(content.exactly(at)?).unsigned_abs());
    // The height is negative where the rows go from the top down.
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

/// The dimensions are fields of the first directory, which may lie anywhere
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
