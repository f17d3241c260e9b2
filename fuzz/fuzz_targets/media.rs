//! Any bytes, as a picture, a document, a sound or a film, as they are and in base64: both are the same, and a size is one
//! that can be counted with.

#![no_main]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use ullage::media::{Base64, Media, MediaKind, Raw, Size, open_document};

fuzz_target!(|bytes: &[u8]| {
    let encoded = STANDARD.encode(bytes);
    for kind in [MediaKind::Image, MediaKind::Audio, MediaKind::Video] {
        let media = Media::of(kind, &Raw(bytes));
        assert_eq!(media, Media::of(kind, &Base64::new(&encoded)));
        if let Size::Pixels { width, height } = media.size {
            assert!(width > 0 && height > 0);
        }
    }
    let _ = (open_document(&Raw(bytes)), open_document(&Base64::new(&encoded)));
    if let Ok(text) = std::str::from_utf8(bytes) {
        // Text that only claims to be base64.
        let _ = (Media::of(MediaKind::Image, &Base64::new(text)), open_document(&Base64::new(text)));
    }
});
