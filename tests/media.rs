//! Media count by their size, whatever holds their bytes, and nothing in them can do harm.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test")]

mod support;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{cases, exact};
use ullage::ledger::{Ledger, fingerprint};
use ullage::media::{Base64, Content, Media, MediaKind, Opened, Raw, Size, open_document};
use ullage::message::{Item, Part};
use ullage::tokens::{CountTokens, Encoding, Exact, MediaRule, counter_for_model};
use ullage::wire::{Format, read};

const MAKERS: [fn(u32, u32) -> Vec<u8>; 10] = [
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
const SMALL: std::ops::Range<usize> = 3..5;
/// Those that the oracle reads wrongly: it knows neither their first header nor rows from the top down.
const BMP: std::ops::Range<usize> = 6..8;

fn png(width: u32, height: u32) -> Vec<u8> {
    let dimensions = [width.to_be_bytes(), height.to_be_bytes()].concat();
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &*dimensions, b"\x08\x02\0\0\0", &[0; 40]].concat()
}

/// With a preview in EXIF, itself a JPEG with other dimensions, and tables.
fn jpeg(width: u32, height: u32) -> Vec<u8> {
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

fn sides_16(width: u32, height: u32) -> [u8; 4] {
    let [[a, b], [c, d]] = [width, height].map(|side| u16::try_from(side).unwrap().to_le_bytes());
    [a, b, c, d]
}

fn gif(width: u32, height: u32) -> Vec<u8> {
    [b"GIF89a", &sides_16(width, height)[..], &[0; 30]].concat()
}

fn webp(form: u8, content: &[u8]) -> Vec<u8> {
    [b"RIFF\x40\0\0\0WEBPVP8", &[form][..], b"\x30\0\0\0", content, &[0; 30]].concat()
}

fn webp_lossy(width: u32, height: u32) -> Vec<u8> {
    webp(b' ', &[&[0, 0, 0, 0x9D, 0x01, 0x2A][..], &sides_16(width, height)].concat())
}

fn webp_lossless(width: u32, height: u32) -> Vec<u8> {
    webp(b'L', &[&[0x2F][..], &((width - 1) | (height - 1) << 14).to_le_bytes()].concat())
}

fn webp_extended(width: u32, height: u32) -> Vec<u8> {
    let side = |side: u32| (side - 1).to_le_bytes()[..3].to_vec();
    webp(b'X', &[vec![0; 4], side(width), side(height)].concat())
}

fn bmp(width: u32, height: u32) -> Vec<u8> {
    // From the top down, as most screens are written.
    let height = (-i32::try_from(height).unwrap()).to_le_bytes();
    [b"BM", &[0; 12][..], &40_u32.to_le_bytes(), &width.to_le_bytes(), &height, &[0; 30]].concat()
}

fn bmp_core(width: u32, height: u32) -> Vec<u8> {
    [b"BM", &[0; 12][..], &12_u32.to_le_bytes(), &sides_16(width, height), &[0; 30]].concat()
}

/// Its directory lies at the end; the width is a long number and the height a short one where that is enough.
fn tiff(width: u32, height: u32, mark: [u8; 4], long: fn(u32) -> [u8; 4], short: fn(u16) -> [u8; 2]) -> Vec<u8> {
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

fn image(width: u32, height: u32) -> Media {
    Media { kind: MediaKind::Image, size: Size::Pixels { width, height } }
}

fn size(bytes: &[u8]) -> Size {
    Media::of(MediaKind::Image, &Raw(bytes)).size
}

/// The same file, as every holder of it in each format.
fn held(kind: &str, media_type: &str, bytes: &[u8]) -> Vec<(Format, Value)> {
    let padded = STANDARD.encode(bytes);
    let url = format!("data:{media_type};base64,{padded}");
    let anthropic = [
        json!({ "type": "base64", "media_type": media_type, "data": padded }),
        json!({ "type": "base64", "media_type": media_type, "data": STANDARD_NO_PAD.encode(bytes) }),
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

fn message(blocks: &[Value]) -> Value {
    json!([{ "role": "user", "content": blocks }])
}

fn in_result(format: Format, item: &Value) -> Value {
    match format {
        Format::Bedrock => json!({ "toolResult": { "toolUseId": "a", "content": [item] } }),
        Format::Anthropic => json!({ "type": "tool_result", "tool_use_id": "a", "content": [item] }),
    }
}

fn count(counter: &std::sync::Arc<dyn CountTokens>, format: Format, block: &Value) -> usize {
    Ledger::new(counter.clone()).measure(&read(&&message(std::slice::from_ref(block)), format).unwrap()).total()
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
    fn a_damaged_pdf_has_pages_all_the_same(at in any::<prop::sample::Index>(), with in vec(any::<u8>(), 0..30), cut in any::<prop::sample::Index>()) {
        let mut file = pdf(&[CATALOG, "<</Type/Pages/Count 3/Kids[3 0 R]>>", "<</Type/Page/Parent 2 0 R>>"]);
        let at = at.index(file.len());
        file.splice(at..(at + with.len()).min(file.len()), with);
        file.truncate(file.len() - cut.index(file.len()).min(file.len() - 10));
        if file.starts_with(b"%PDF-") {
            prop_assert!(matches!(pages(&file), Size::Pages(1..)));
        }
    }

    #[test]
    fn base64_reads_like_the_bytes(bytes in vec(any::<u8>(), 0..3_000), at in 0_usize..3_100, length in 0_usize..3_100) {
        let (padded, bare) = (STANDARD.encode(&bytes), STANDARD_NO_PAD.encode(&bytes));
        let (mut expected, raw) = (vec![0; length], Raw(&bytes));
        let read = raw.read(at, &mut expected);
        for content in [Base64::new(&padded), Base64::new(&bare)] {
            let mut into = vec![0; length];
            prop_assert_eq!((content.length(), content.read(at, &mut into)), (bytes.len(), read));
            prop_assert_eq!(&into, &expected);
        }
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

    #[test]
    fn no_rule_is_dearer_than_the_dearest_and_each_is_symmetric(width in 1_u32..20_000, height in 1_u32..20_000) {
        for rule in [MediaRule::CLAUDE, MediaRule::CLAUDE_FINE, MediaRule::Tiles, MediaRule::Crops, MediaRule::Dearest] {
            let tokens = |width, height| rule.tokens(image(width, height));
            prop_assert!(tokens(width, height) > 0);
            prop_assert_eq!(tokens(width, height), tokens(height, width));
            let dearest = MediaRule::Dearest.tokens(image(width, height));
            prop_assert!(tokens(width, height) <= dearest);
        }
    }
}

#[test]
fn the_rules_give_what_the_providers_state() {
    let tokens = |rule: MediaRule, width, height| rule.tokens(image(width, height));
    for (rule, width, height, expected) in [
        (MediaRule::CLAUDE, 1_000, 1_000, 1_296),
        (MediaRule::CLAUDE, 200, 200, 64),
        (MediaRule::CLAUDE, 1, 1, 1),
        (MediaRule::CLAUDE, 8_000, 8_000, 1_568),
        (MediaRule::CLAUDE_FINE, 1_920, 1_080, 2_691),
        (MediaRule::CLAUDE_FINE, 3_840, 2_160, 4_784),
        (MediaRule::Tiles, 1_024, 1_024, 765),
        (MediaRule::Tiles, 2_048, 4_096, 1_105),
        (MediaRule::Tiles, 65_535, 1, 85 + 4 * 170),
        (MediaRule::of_model("gpt-4.1-mini"), 1_024, 1_024, 1_659),
        (MediaRule::of_model("gpt-4.1-mini"), 4_000, 1_474, 2_489),
        (MediaRule::Crops, 384, 384, 258),
        (MediaRule::Crops, 385, 384, 258),
        (MediaRule::Crops, 1_920, 1_080, 6 * 258),
        (MediaRule::Crops, u32::MAX, u32::MAX, 11 * 11 * 258),
        (MediaRule::of_model("gemini-3-pro-preview"), 1_920, 1_080, 1_120),
        (MediaRule::Dearest, 100, 100, 258),
        (MediaRule::Dearest, 1_920, 1_080, 2_691),
    ] {
        assert_eq!(tokens(rule, width, height), expected, "{rule:?} {width}x{height}");
    }
}

#[test]
fn the_rule_follows_from_the_model() {
    for (id, rule) in [
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", MediaRule::CLAUDE),
        ("anthropic/claude-3.5-sonnet", MediaRule::CLAUDE),
        ("claude-opus-4-6", MediaRule::CLAUDE),
        ("claude-opus-4-7-20260416", MediaRule::CLAUDE_FINE),
        ("claude-of-the-future", MediaRule::CLAUDE_FINE),
        ("openai/gpt-4o-mini", MediaRule::Tiles),
        ("gpt-5-2025-08-07", MediaRule::Tiles),
        ("gpt-5.9", MediaRule::Dearest),
        ("gpt-5-1", MediaRule::Dearest),
        ("gpt-50", MediaRule::Dearest),
        ("gpt-4-1", MediaRule::Tiles),
        ("gpt-4-1-mini", MediaRule::of_model("gpt-4.1-mini")),
        ("claude-opus-4_7", MediaRule::CLAUDE_FINE),
        ("o1ive", MediaRule::Dearest),
        ("gemini-2.5-pro", MediaRule::Crops),
        ("llama-pro1", MediaRule::Dearest),
        ("", MediaRule::Dearest),
    ] {
        assert_eq!(counter_for_model(id).media_rule(), rule, "{id}");
    }
    assert_eq!(Exact::new(Encoding::Cl100kBase).media_rule(), MediaRule::Tiles);
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
fn what_lies_elsewhere_counts_as_the_constant_of_its_kind() {
    let s3 = json!({ "s3Location": { "uri": "s3://bucket/key" } });
    for (format, block, expected) in [
        (
            Format::Anthropic,
            json!({ "type": "image", "source": { "type": "url", "url": "https://example.org/a.png" } }),
            1_600,
        ),
        (Format::Anthropic, json!({ "type": "image", "source": { "type": "file", "file_id": "f" } }), 1_600),
        (
            Format::Anthropic,
            json!({ "type": "document", "source": { "type": "url", "url": "https://example.org/a.pdf" } }),
            3_000,
        ),
        (Format::Anthropic, json!({ "type": "image" }), 1_600),
        (Format::Bedrock, json!({ "image": { "source": s3 } }), 1_600),
        (Format::Bedrock, json!({ "document": { "source": s3 } }), 3_000),
        (Format::Bedrock, json!({ "audio": { "source": s3 } }), 1_920),
        (Format::Bedrock, json!({ "video": { "source": s3 } }), 2_580),
        (Format::Bedrock, json!({ "image": { "source": { "bytes": "" } } }), 1_600),
    ] {
        assert_eq!(count(&exact(), format, &block), expected + 8, "{block}");
    }
}

#[test]
fn the_words_of_a_document_count_as_words() {
    let words = "name,size\nalpha,1\nbeta,2\n".repeat(40);
    let expected = exact().count(&words, ullage::tokens::TextKind::ToolOutput);
    for (format, block) in held("document", "text/csv", words.as_bytes()) {
        assert_eq!(count(&exact(), format, &block), expected + 8, "{block}");
    }
    for (format, source) in [
        (Format::Bedrock, json!({ "text": words })),
        (Format::Bedrock, json!({ "content": [{ "text": words }] })),
        (Format::Anthropic, json!({ "type": "text", "media_type": "text/plain", "data": words })),
        (Format::Anthropic, json!({ "type": "content", "content": words })),
        (Format::Anthropic, json!({ "type": "content", "content": [{ "type": "text", "text": words }] })),
    ] {
        let block = json!({ "type": "document", "source": source, "document": { "source": source, "name": "hello" } });
        let name = usize::from(format == Format::Bedrock);
        assert_eq!(count(&exact(), format, &block), expected + name + 8, "{block}");
    }
    let block = json!({ "type": "document", "title": "hello", "context": "hello", "source": { "type": "content", "content": [
        { "type": "text", "text": words },
        { "type": "image", "source": { "type": "base64", "data": STANDARD.encode(png(100, 100)) } },
    ] } });
    assert_eq!(count(&exact(), Format::Anthropic, &block), expected + 2 + 255 + 8);
}

/// A file of these objects, numbered from 1, with the table that leads to them.
fn pdf(objects: &[&str]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    append(&mut file, objects, "/Root 1 0 R");
    file
}

/// Objects from 1 on with their table; those that there were under these numbers count no more.
fn append(file: &mut Vec<u8>, objects: &[&str], trailer: &str) {
    let mut table = vec![format!("xref\n0 1\n0000000000 65535 f \n1 {}\n", objects.len())];
    for (index, object) in objects.iter().enumerate() {
        table.push(format!("{:010} 00000 n \n", file.len()));
        file.extend(format!("{} 0 obj\n{object}\nendobj\n", index + 1).bytes());
    }
    let at = file.len();
    file.extend(format!("{}trailer\n<< {trailer} >>\nstartxref\n{at}\n%%EOF\n", table.concat()).bytes());
}

fn pages(file: &[u8]) -> Size {
    let text = STANDARD.encode(file);
    assert_eq!(open_document(&Raw(file)), open_document(&Base64::new(&text)));
    let Opened::Sized(Media { kind: MediaKind::Document, size }) = open_document(&Raw(file)) else {
        panic!("a PDF is no text")
    };
    size
}

const CATALOG: &str = "<< /PageMode /None /Type /Catalog /Pages 2 0 R >>";

#[test]
fn the_pages_of_a_pdf_are_those_that_its_root_states() {
    let large = format!("<< >> stream\n{}\nendstream", "/Type /Pages /Count 99 ".repeat(20_000));
    let kids = format!("<</Count 300/Kids[{}]/Type/Pages>>", "3 0 R ".repeat(300));
    let late = format!("<< /Type /Pages /Kids [{}] /Count 300 >>", "3 0 R ".repeat(300));
    for root in [&*kids, &late] {
        for filled in [&[CATALOG, root][..], &[CATALOG, root, &large], &[CATALOG, root, &large, &large]] {
            assert_eq!(pages(&pdf(filled)), Size::Pages(300));
        }
    }
    let mut changed = pdf(&[CATALOG, "<</Type/Pages/Count 3>>", &large]);
    let first = changed.len() - b"\n%%EOF\n".len();
    let first: usize = std::str::from_utf8(&changed[first - 6..first]).unwrap().trim().parse().unwrap();
    append(&mut changed, &[], &format!("/Prev {first} /Root 1 0 R"));
    assert_eq!(pages(&changed), Size::Pages(3));
    append(&mut changed, &[CATALOG, "<</Type/Pages/Count 4>>"], &format!("/Root 1 0 R /Prev {first}"));
    assert_eq!(pages(&changed), Size::Pages(4));
}

#[test]
fn pages_that_a_pdf_does_not_state_are_estimated_by_its_length() {
    let circle = b"%PDF-1.4\nxref\n0 0\ntrailer <</Prev 9>> startxref 9".to_vec();
    let compressed = |length| [b"%PDF-1.5\n".to_vec(), vec![b'x'; length], b"startxref\n9\n%%EOF".to_vec()].concat();
    for (file, expected) in [
        (circle, 1),
        (pdf(&[CATALOG]), 1),
        (pdf(&[CATALOG, "<< /Type /Pages /Count /Next 0 >>"]), 1),
        (pdf(&[CATALOG, "<< /Type /Pages /Count 99999999999 >>"]), 1),
        (pdf(&[CATALOG, "<< /Type /Pages /Count 4000000000 >>"]), 1),
        (pdf(&["<< /Pages 18446744073709551615 0 R >>"]), 1),
        (b"%PDF-1.4 startxref 18446744073709551615".to_vec(), 1),
        (b"%PDF-1.4 xref 1 9999999999999999999 trailer startxref 9".to_vec(), 1),
        (compressed(120_000), 5),
        (compressed(20_000_000), 100),
    ] {
        assert_eq!(pages(&file), Size::Pages(expected), "{}", String::from_utf8_lossy(&file[..60.min(file.len())]));
    }
    let linearized =
        [&b"%PDF-1.6\n9 0 obj<</Linearized 1/L 9/H[1 2]/O 3/E 4/N 88/T 5>>endobj"[..], &vec![b'x'; 90_000]].concat();
    assert_eq!(pages(&linearized), Size::Pages(88));
    for (format, block) in held("document", "application/pdf", &linearized) {
        assert_eq!(count(&exact(), format, &block), 88 * 3_000 + 8);
    }
}

#[test]
fn a_pdf_says_what_it_is_at_the_beginning_of_a_line() {
    let file = pdf(&[CATALOG, "<</Type/Pages/Count 3/Kids[3 0 R]>>"]);
    for before in [&b""[..], b"\r", b"From a mail:\r\n\r\n", b"@PJL ENTER LANGUAGE=PDF\n"] {
        assert!(matches!(pages(&[before, &file].concat()), Size::Pages(1..)));
    }
    for text in ["A file that begins with %PDF-1.4 is a PDF.", " %PDF-1.4", &format!("{}\n%PDF-1.4", "x".repeat(1_100))]
    {
        assert_eq!(open_document(&Raw(text.as_bytes())), Opened::Text(text.to_owned()));
    }
}

#[test]
fn office_files_count_by_their_bytes() {
    for (bytes, tokens) in [(14_000, 700), (20_000_000, 70_000)] {
        let file = [&b"PK\x03\x04"[..], &vec![1; bytes - 4]].concat();
        let Opened::Sized(media) = open_document(&Raw(&file)) else { panic!("an archive is no text") };
        assert_eq!(MediaRule::Tiles.tokens(media), tokens);
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
