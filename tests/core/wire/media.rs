//! Media count by their size, whatever holds their bytes, and nothing in them can do harm.

use crate::support::images::{BMP, MAKERS, SMALL, count, held, image, in_result, jpeg, message, png, size};
use crate::support::{cases, exact};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::ledger::{Ledger, fingerprint};
use ullage::media::{Base64, Content, Media, MediaKind, Raw, Size, open_document};
use ullage::message::{Item, Part};
use ullage::tokens::MediaRule;
use ullage::wire::{Format, read};

/// Broken into lines of so many characters, with a break at the end too.
fn wrapped(text: &str, length: usize, line_break: &str) -> String {
    let lines = text.as_bytes().chunks(length).map(|line| format!("{}{line_break}", String::from_utf8_lossy(line)));
    lines.collect()
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn the_dimensions_of_every_format_are_read(maker in 0..MAKERS.len(), width in 1_u32..=65_535, height in 1_u32..=65_535) {
        let most = if SMALL.contains(&maker) { 0x3FFF } else { u32::MAX };
        let (width, height) = (width.min(most), height.min(most));
        let file = MAKERS[maker](width, height);
        prop_assert_eq!(size(&file), Size::Pixels { width, height });
        if !BMP.contains(&maker) {
            let oracle = imagesize::blob_size(&file).unwrap();
            prop_assert_eq!((oracle.width, oracle.height), (width as usize, height as usize), "maker {}", maker);
        }
    }

    #[test]
    fn a_header_that_is_cut_off_gives_its_dimensions_or_none(maker in 0..MAKERS.len(), cut in any::<prop::sample::Index>()) {
        let file = MAKERS[maker](1_000, 700);
        let cut = &file[..cut.index(file.len())];
        let whole = Size::Pixels { width: 1_000, height: 700 };
        prop_assert!([Size::Unknown, whole].contains(&size(cut)), "{:?}", size(cut));
        prop_assert_eq!(Media::of(MediaKind::Image, &Base64::new(&STANDARD.encode(cut))).size, size(cut));
    }

    #[test]
    fn garbage_does_no_harm(
        maker in 0..MAKERS.len(),
        garbage in vec(any::<u8>(), 0..400),
        keep in 0_usize..40,
        start in prop::sample::select(vec![&b"%PDF-1.7 /Type /Pages /Count 999999999999"[..], b"PK\x03\x04", b"RIFF____WAVEfmt ", b""]),
    ) {
        let mut file = MAKERS[maker](3, 5);
        file.truncate(keep);
        for bytes in [[&file[..], &garbage].concat(), [start, &garbage].concat()] {
            let text = STANDARD.encode(&bytes);
            for kind in [MediaKind::Image, MediaKind::Audio, MediaKind::Video] {
                prop_assert_eq!(Media::of(kind, &Raw(&bytes)), Media::of(kind, &Base64::new(&text)));
            }
            prop_assert_eq!(open_document(&Raw(&bytes)), open_document(&Base64::new(&text)));
            let lossy = String::from_utf8_lossy(&bytes);
            for (format, source) in [
                (Format::Anthropic, json!({ "type": "base64", "data": lossy })),
                (Format::Anthropic, json!({ "type": "url", "url": format!("data:{lossy}") })),
                (Format::Bedrock, json!({ "bytes": lossy })),
            ] {
                for kind in ["image", "document", "audio", "video"] {
                    let block = json!({ "type": kind, "source": source, kind: { "source": source } });
                    prop_assert!(read(&&message(&[block]), format).is_ok());
                }
            }
        }
    }

    #[test]
    fn base64_reads_like_the_bytes(bytes in vec(any::<u8>(), 0..3_000), at in 0_usize..3_100, length in 0_usize..3_100) {
        let (padded, bare) = (STANDARD.encode(&bytes), STANDARD_NO_PAD.encode(&bytes));
        let (url, mail, pem) = (URL_SAFE.encode(&bytes), wrapped(&padded, 76, "\r\n"), wrapped(&padded, 64, "\n"));
        let (mut expected, raw) = (vec![0; length], Raw(&bytes));
        let read = raw.read(at, &mut expected);
        for content in [&padded, &bare, &url, &mail, &pem].map(|text| Base64::new(text)) {
            let mut into = vec![0; length];
            prop_assert_eq!((content.length(), content.read(at, &mut into)), (bytes.len(), read));
            prop_assert_eq!(&into, &expected);
        }
    }

    #[test]
    fn base64_that_ends_early_reads_up_to_there(text in "[A-Za-z0-9+/_\\- \n]{0,200}", at in 0_usize..200) {
        let content = Base64::new(&text);
        let mut into = vec![0; content.length() + 9];
        let read = content.read(at, &mut into);
        prop_assert!(read <= content.length().saturating_sub(at));
    }

    #[test]
    fn a_count_depends_on_the_size_and_not_on_who_holds_it(maker in 0..MAKERS.len(), width in 1_u32..9_000, height in 1_u32..9_000) {
        let file = MAKERS[maker](width, height);
        let expected = MediaRule::Tiles.tokens(image(width, height)) + 8;
        for (format, block) in held("image", "image/png", &file) {
            prop_assert_eq!(count(&exact(), format, &block), expected, "{}", block);
            let own = count(&exact(), format, &in_result(format, &block));
            prop_assert_eq!(own - count(&exact(), format, &in_result(format, &json!({ "text": "", "type": "text" }))), expected - 8);
        }
    }
}

#[test]
fn another_image_in_the_same_place_is_noticed() {
    for (format, before) in held("image", "image/png", &png(100, 100)) {
        let after = &held("image", "image/png", &png(1_000, 100));
        let after = after.iter().find(|(other, _)| *other == format).unwrap().1.clone();
        let ledger = Ledger::new(exact());
        for wrap in [|_: Format, block: &Value| block.clone(), in_result] {
            let [before, after] = [&before, &after].map(|block| message(&[wrap(format, block)]));
            let [before, after] = [&before, &after].map(|messages| read(&messages, format).unwrap());
            let [was, is] = [&before, &after].map(|conversation| ledger.measure(conversation));
            assert!(was.total() < is.total());
            assert_ne!(fingerprint(&before), fingerprint(&after));
            assert_ne!(was.digest(0..1), is.digest(0..1));
            assert_eq!(ledger.measure(&before), was);
        }
    }
}

#[test]
fn sound_counts_by_its_duration() {
    let wav = |rate: u32, bytes: usize| {
        [b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0", &[0; 4][..], &rate.to_le_bytes(), &vec![0; bytes]].concat()
    };
    for (kind, bytes, seconds) in [
        (MediaKind::Audio, wav(176_400, 1_764_000 - 32), 10),
        (MediaKind::Audio, wav(0, 80_000 - 32), 10),
        (MediaKind::Audio, wav(1, 80_000 - 32), 10),
        (MediaKind::Audio, vec![1; 80_001], 11),
        (MediaKind::Video, vec![1; 1_000_000], 8),
    ] {
        assert_eq!(Media::of(kind, &Raw(&bytes)).size, Size::Seconds(seconds));
    }
    assert_eq!(Media::of(MediaKind::Audio, &Raw(&[])).size, Size::Unknown);
}

/// Otherwise a file that is made for it would be walked from end to end.
#[test]
fn the_search_for_a_frame_is_bounded() {
    let empty_segments = [b"\xFF\xD8".to_vec(), b"\xFF\xE0\0\x02".repeat(1_000_000), jpeg(5, 5)].concat();
    assert_eq!(size(&empty_segments), Size::Unknown);
    assert_eq!(size(&[b"\xFF\xD8".to_vec(), vec![0xFF; 4_000_000]].concat()), Size::Unknown);
    let fill_bytes = [b"\xFF\xD8\xFF\xFF\xFF", &jpeg(5, 7)[3..]].concat();
    assert_eq!(size(&fill_bytes), Size::Pixels { width: 5, height: 7 });
}

#[test]
fn parts_and_items_carry_what_is_known() {
    let expected = image(8, 9);
    for (format, block) in held("image", "image/png", &png(8, 9)) {
        let messages = message(&[block.clone(), in_result(format, &block)]);
        let conversation = read(&&messages, format).unwrap();
        assert_eq!(conversation.messages[0].parts[0], Part::Media(expected));
        assert!(
            matches!(&conversation.messages[0].parts[1], Part::Result { items, .. } if items[0] == Item::Media(expected))
        );
    }
}
