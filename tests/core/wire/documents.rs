//! Documents count by their words, their pages or their bytes.

use crate::support::images::{count, held, png};
use crate::support::{cases, exact};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use ullage::media::{Base64, DocumentContent, Media, MediaKind, Raw, Size, open_document};
use ullage::tokens::{MediaRule, TextKind};
use ullage::wire::Format;

proptest! {
    #![proptest_config(cases(200))]

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
}

#[test]
fn the_words_of_a_document_count_as_words() {
    let words = "name,size\nalpha,1\nbeta,2\n".repeat(40);
    let expected = exact().count(&words, TextKind::ToolOutput);
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
    let DocumentContent::Sized(Media { kind: MediaKind::Document, size }) = open_document(&Raw(file)) else {
        panic!("a PDF is no text")
    };
    size
}

const CATALOG: &str = "<< /PageMode /None /Type /Catalog /Pages 2 0 R >>";

#[test]
fn the_pages_of_a_pdf_are_those_that_its_root_states() {
    let large = format!("<< >> stream\n{}\nendstream", "/Type /Pages /Count 99 ".repeat(20_000));
    let kids = format!("<</Count 300/Kids[{}]/Type/Pages>>", "3 0 R ".repeat(300));
    // Three hundred pages are not drawn with less.
    let drawn = format!("<< >> stream\n{}\nendstream", "BT (a page) Tj ET ".repeat(1_000));
    let late = format!("<< /Type /Pages /Kids [{}] /Count 300 >>", "3 0 R ".repeat(300));
    for root in [&*kids, &late] {
        for filled in [&[CATALOG, root, &drawn][..], &[CATALOG, root, &large], &[CATALOG, root, &large, &large]] {
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
fn a_small_pdf_has_no_more_pages_than_it_has_room_for() {
    let file = pdf(&[CATALOG, "<</Type/Pages/Count 10000>>"]);
    let Size::Pages(pages) = pages(&file) else { panic!("a PDF has pages") };
    assert!((1..=10).contains(&pages), "{pages} pages in {} bytes", file.len());
}

#[test]
fn words_where_bytes_belong_count_as_words() {
    let prose = "The quick brown fox jumps over the lazy dog.\n".repeat(900);
    let late = format!("{}. And then: words.", "onewithoutaspace".repeat(200));
    let zeros = format!("{}{}!", "AAAA".repeat(300), "words and ".repeat(900));
    for words in [&*prose, &late, &zeros, "plain text!"] {
        let expected = exact().count(words, TextKind::ToolOutput);
        for (format, source) in [
            (Format::Bedrock, json!({ "bytes": words })),
            (Format::Anthropic, json!({ "type": "base64", "media_type": "text/plain", "data": words })),
        ] {
            let block = json!({ "type": "document", "source": source, "document": { "source": source } });
            assert_eq!(count(&exact(), format, &block), expected + 8, "{words:.60}");
        }
    }
    assert_eq!(open_document(&Base64::new(&zeros)), DocumentContent::Text(zeros.clone()));
}

#[test]
fn a_pdf_says_what_it_is_at_the_beginning_of_a_line() {
    let file = pdf(&[CATALOG, "<</Type/Pages/Count 3/Kids[3 0 R]>>"]);
    for before in [&b""[..], b"\r", b"From a mail:\r\n\r\n", b"@PJL ENTER LANGUAGE=PDF\n"] {
        assert!(matches!(pages(&[before, &file].concat()), Size::Pages(1..)));
    }
    for text in ["A file that begins with %PDF-1.4 is a PDF.", " %PDF-1.4", &format!("{}\n%PDF-1.4", "x".repeat(1_100))]
    {
        assert_eq!(open_document(&Raw(text.as_bytes())), DocumentContent::Text(text.to_owned()));
    }
}

#[test]
fn office_files_count_by_their_bytes() {
    for (bytes, tokens) in [(14_000, 700), (20_000_000, 70_000)] {
        let file = [&b"PK\x03\x04"[..], &vec![1; bytes - 4]].concat();
        let DocumentContent::Sized(media) = open_document(&Raw(&file)) else { panic!("an archive is no text") };
        assert_eq!(MediaRule::Tiles.tokens(media), tokens);
    }
}
