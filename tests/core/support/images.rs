//! Images of every format, and blocks of every wire format that hold a file.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use serde_json::{Value, json};
use ullage::ledger::Ledger;
use ullage::media::{Media, MediaKind, Raw, Size};
use ullage::tokens::CountTokens;
use ullage::wire::{Format, read};

pub const MAKERS: [fn(u32, u32) -> Vec<u8>; 10] = [
    png,
    jpeg,
    gif,
    webp_lossy,
    webp_lossless,
    webp_extended,
    bmp,
    bmp_core,
    |width, height| tiff(width, height, *b"II*\0", u32::to_le_bytes, u16::to_le_bytes),
    |width, height| tiff(width, height, *b"MM\0*", u32::to_be_bytes, u16::to_be_bytes),
];
/// Those whose sides have 14 bits.
pub const SMALL: std::ops::Range<usize> = 3..5;
/// Those that the oracle reads wrongly: it knows neither their first header nor rows from the top down.
pub const BMP: std::ops::Range<usize> = 6..8;

pub fn png(width: u32, height: u32) -> Vec<u8> {
    let dimensions = [width.to_be_bytes(), height.to_be_bytes()].concat();
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &*dimensions, b"\x08\x02\0\0\0", &[0; 40]].concat()
}

/// With a preview in EXIF, itself a JPEG with other dimensions, and tables.
pub fn jpeg(width: u32, height: u32) -> Vec<u8> {
    let segment = |marker: u8, content: &[u8]| {
        let length = u16::try_from(content.len() + 2).unwrap().to_be_bytes();
        [&[0xFF, marker], &length[..], content].concat()
    };
    let frame = |width: u32, height: u32| {
        let side = |side: u32| u16::try_from(side).unwrap().to_be_bytes();
        segment(0xC2, &[&[8], &side(height)[..], &side(width), &[3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]].concat())
    };
    let preview = [b"Exif\0\0\xFF\xD8", &*frame(16, 12), &vec![7; 60_000]].concat();
    let parts = [segment(0xE1, &preview), segment(0xC4, &[0; 30]), frame(width, height), vec![0xFF, 0xDA]];
    [b"\xFF\xD8".to_vec(), parts.concat(), vec![9; 50]].concat()
}

pub fn sides_16(width: u32, height: u32) -> [u8; 4] {
    let [[a, b], [c, d]] = [width, height].map(|side| u16::try_from(side).unwrap().to_le_bytes());
    [a, b, c, d]
}

pub fn gif(width: u32, height: u32) -> Vec<u8> {
    [b"GIF89a", &sides_16(width, height)[..], &[0; 30]].concat()
}

pub fn webp(form: u8, content: &[u8]) -> Vec<u8> {
    [b"RIFF\x40\0\0\0WEBPVP8", &[form][..], b"\x30\0\0\0", content, &[0; 30]].concat()
}

pub fn webp_lossy(width: u32, height: u32) -> Vec<u8> {
    webp(b' ', &[&[0, 0, 0, 0x9D, 0x01, 0x2A][..], &sides_16(width, height)].concat())
}

pub fn webp_lossless(width: u32, height: u32) -> Vec<u8> {
    webp(b'L', &[&[0x2F][..], &((width - 1) | (height - 1) << 14).to_le_bytes()].concat())
}

pub fn webp_extended(width: u32, height: u32) -> Vec<u8> {
    let side = |side: u32| (side - 1).to_le_bytes()[..3].to_vec();
    webp(b'X', &[vec![0; 4], side(width), side(height)].concat())
}

pub fn bmp(width: u32, height: u32) -> Vec<u8> {
    // From the top down, as most screens are written.
    let height = (-i32::try_from(height).unwrap()).to_le_bytes();
    [b"BM", &[0; 12][..], &40_u32.to_le_bytes(), &width.to_le_bytes(), &height, &[0; 30]].concat()
}

pub fn bmp_core(width: u32, height: u32) -> Vec<u8> {
    [b"BM", &[0; 12][..], &12_u32.to_le_bytes(), &sides_16(width, height), &[0; 30]].concat()
}

/// Its directory lies at the end; the width is a long number and the height a short one where that is enough.
pub fn tiff(width: u32, height: u32, mark: [u8; 4], long: fn(u32) -> [u8; 4], short: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let field = |tag: u16, kind: u16, value: &[u8]| {
        let value = [value, &[0; 4]].concat();
        [&short(tag)[..], &short(kind), &long(1), &value[..4]].concat()
    };
    let height = match u16::try_from(height) {
        Ok(height) => field(0x101, 3, &short(height)),
        Err(_) => field(0x101, 4, &long(height)),
    };
    let fields = [field(0xFE, 4, &long(0)), field(0x100, 4, &long(width)), height, field(0x102, 3, &short(8))];
    [&mark[..], &long(5_008), &[1; 5_000], &short(4), &fields.concat(), &[0; 4]].concat()
}

pub fn image(width: u32, height: u32) -> Media {
    Media { kind: MediaKind::Image, size: Size::Pixels { width, height } }
}

pub fn size(bytes: &[u8]) -> Size {
    Media::of(MediaKind::Image, &Raw(bytes)).size
}

/// The same file, as every holder of it in each format.
pub fn held(kind: &str, media_type: &str, bytes: &[u8]) -> Vec<(Format, Value)> {
    let padded = STANDARD.encode(bytes);
    let url = format!("data:{media_type};base64,{padded}");
    let anthropic = [
        json!({ "type": "base64", "media_type": media_type, "data": padded }),
        json!({ "type": "base64", "media_type": media_type, "data": STANDARD_NO_PAD.encode(bytes) }),
        json!({ "type": "base64", "media_type": media_type, "data": URL_SAFE.encode(bytes) }),
        json!({ "type": "base64", "media_type": media_type, "data": url }),
        json!({ "type": "url", "url": url }),
    ];
    let bedrock = [
        json!({ "bytes": padded }),
        json!({ "bytes": url }),
        json!({ "bytes": { "__bytes_encoded__": true, "data": padded } }),
    ];
    let anthropic = anthropic.map(|source| (Format::Anthropic, json!({ "type": kind, "source": source })));
    let bedrock = bedrock.map(|source| (Format::Bedrock, json!({ kind: { "format": "x", "source": source } })));
    anthropic.into_iter().chain(bedrock).collect()
}

pub fn message(blocks: &[Value]) -> Value {
    json!([{ "role": "user", "content": blocks }])
}

pub fn in_result(format: Format, item: &Value) -> Value {
    match format {
        Format::Bedrock => json!({ "toolResult": { "toolUseId": "a", "content": [item] } }),
        _ => json!({ "type": "tool_result", "tool_use_id": "a", "content": [item] }),
    }
}

pub fn count(counter: &Arc<dyn CountTokens>, format: Format, block: &Value) -> usize {
    Ledger::new(counter.clone()).measure(&read(&&message(std::slice::from_ref(block)), format).unwrap()).total()
}
