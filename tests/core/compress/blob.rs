//! Encoded data in lines, named.

use crate::support::cases;
use crate::support::shrinking::{check_guarantees, saved, shrink};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use ullage::compress::{Aim, ContentKind};

fn data(mark: &[u8], length: usize) -> Vec<u8> {
    let noise = (0..length as u64).map(|i| (i.wrapping_mul(6_364_136_223_846_793_005) >> 33) as u8);
    mark.iter().copied().chain(noise).collect()
}

fn wrapped(data: &[u8]) -> String {
    let encoded = STANDARD.encode(data);
    encoded.as_bytes().chunks(76).map(|line| String::from_utf8_lossy(line).into_owned() + "\n").collect()
}

fn xxd(data: &[u8]) -> String {
    let line = |(place, bytes): (usize, &[u8])| {
        let hex: Vec<String> =
            bytes.chunks(2).map(|pair| pair.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
        let text: String =
            bytes.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' }).collect();
        format!("{:08x}: {:<39}  {text}\n", place * 16, hex.join(" "))
    };
    data.chunks(16).enumerate().map(line).collect()
}

fn hexdump(data: &[u8]) -> String {
    let line = |(place, bytes): (usize, &[u8])| {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:08x}  {:<48}  |{}|\n", place * 16, hex.join(" "), ".".repeat(bytes.len()))
    };
    data.chunks(16).enumerate().map(line).collect()
}

#[test]
fn data_is_named_by_its_first_bytes() {
    for (mark, name) in
        [(&b"\x89PNG\r\n\x1a\n"[..], "PNG image"), (b"%PDF-1.7", "PDF document"), (b"\x01\x02", "binary data")]
    {
        let data = data(mark, 30_000);
        for (text, how) in
            [(wrapped(&data), "base64"), (xxd(&data), "a hexadecimal dump"), (hexdump(&data), "a hexadecimal dump")]
        {
            let short = shrink("", &text, Aim::Essence).unwrap();
            assert_eq!(short.kind, ContentKind::Data);
            assert!(short.text.starts_with(&format!("[{name} as {how}, about 30,0")), "{}", short.text);
            assert!(saved(&text, &short.text) > 95.0);
            assert_eq!(short.text.lines().count(), 4, "{}", short.text);
        }
    }
}

#[test]
fn a_certificate_keeps_its_borders() {
    let text =
        format!("-----BEGIN CERTIFICATE-----\n{}-----END CERTIFICATE-----\n", wrapped(&data(b"\x30\x82", 3_000)));
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert!(
        short.text.contains("certificate or key") && short.text.ends_with("-----END CERTIFICATE-----\n"),
        "{}",
        short.text
    );
}

#[test]
fn words_and_numbers_are_no_data() {
    let text =
        (0..200).map(|i| format!("{i:08} {i:04} 1234 5678\n")).collect::<String>() + &"some more words\n".repeat(100);
    assert_ne!(shrink("", &text, Aim::Tokens(60)).unwrap().kind, ContentKind::Data);
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn guarantees(data in prop::collection::vec(any::<u8>(), 1..4_000)) {
        check_guarantees("", &wrapped(&data), &[]);
        check_guarantees("", &xxd(&data), &[]);
    }
}
