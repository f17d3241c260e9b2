//! Exact counts of what is long: words, runs, whole megabytes, and the limits inside them.

use crate::support::published::{count, merged_by_the_book, oracle};
use proptest::prelude::*;
use ullage::tokens::{CountTokens, Encoding, Exact, TextKind};

/// Long pieces of few letters, where the windows of the merge meet.
fn long_word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]{1,600}",
        "[a-z]{100,900}",
        "[etaoin]{100,900}",
        "[=-]{100,500}",
        "[а-я]{50,300}",
        "[一-丕]{50,300}",
        "[ก-ฮะ-ู]{50,200}",
        "[😀-😏]{30,100}",
    ]
}

/// Runs of a few characters, one after the other, with now and then something between.
fn runs() -> impl Strategy<Value = String> {
    let unit =
        prop::sample::select(&["=", "-", "#", " ", "a", "A", "─", "中", "é", "😀", "\u{301}", "0", "ab", "/", "\n"]);
    prop::collection::vec((unit, 1_usize..200), 1..6)
        .prop_map(|runs| runs.into_iter().map(|(unit, times)| unit.repeat(times)).collect())
}

fn assert_counts(text: &str) {
    for encoding in Encoding::ALL {
        let tokens = oracle(encoding).encode_ordinary(text).len();
        assert_eq!(count(encoding, text), tokens, "{}: {text:?}", encoding.name());
    }
}

fn assert_limits(text: &str, limits: &[usize]) {
    for encoding in Encoding::ALL {
        let counter = Exact::new(encoding);
        let tokens = counter.count(text, TextKind::Prose);
        for &limit in limits.iter().chain(&[tokens.saturating_sub(1), tokens, tokens + 1]) {
            let fits = counter.fits(text, TextKind::Prose, limit);
            assert_eq!(fits, tokens <= limit, "{}: {tokens} in {limit}", encoding.name());
        }
    }
}

/// Text that is one piece or little more, of `length` bytes or somewhat less, which every algorithm that is not linear
/// gives away.
fn megabytes(length: usize) -> Vec<(&'static str, String)> {
    let mut state = 0x9E37_79B9_u32;
    let mut random = move |letters: &[u8], length: usize| -> String {
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            char::from(letters[state as usize % letters.len()])
        };
        (0..length).map(|_| next()).collect()
    };
    let lower = random(b"abcdefghijklmnopqrstuvwxyz", length);
    let base64 = random(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", length);
    let hex = random(b"0123456789abcdef", length);
    let of = |unit: &str| unit.repeat(length / unit.len());
    vec![
        ("one letter", of("a")),
        ("spaces", of(" ")),
        ("newlines", of("\n")),
        ("spaces and a letter", of(" ") + "b"),
        ("two letters", of("ab")),
        ("rules", of("=-")),
        ("slashes", of("!/")),
        ("Chinese", of("中文字符")),
        ("Thai", of("ภาษาไทยกับการพัฒนา")),
        ("emoji", of("😀👍🏽")),
        ("marks", of("\u{301}")),
        ("marks on capitals", of("A\u{301}")),
        ("random letters", lower),
        ("base64", base64),
        ("hex", hex),
    ]
}

proptest! {
    #![proptest_config(crate::support::cases(300))]

    #[test]
    fn counts_equal_the_published_ones_on_long_words(text in long_word()) {
        assert_counts(&text);
    }

    #[test]
    fn counts_equal_the_published_ones_on_runs(text in runs()) {
        assert_counts(&text);
    }

    #[test]
    fn fits_agrees_with_count_inside_long_pieces(text in prop_oneof![long_word(), runs()], limit in 0_usize..400) {
        assert_limits(&text, &[limit]);
    }
}

#[test]
fn counts_equal_the_published_ones_on_long_runs() {
    // Long enough for many windows, short enough for the oracle's backtracking.
    for length in [1, 2, 3, 15, 16, 17, 31, 33, 62, 63, 64, 127, 128, 129, 255, 256, 257, 1_000, 4_999] {
        for unit in [
            "a", "A", " ", "\n", "\t", "=", "-", "/", "ab", "中", "的", "é", "\u{301}", "0", "😀", "\r\n", " \n", "─",
            "ก",
        ] {
            assert_counts(&unit.repeat(length));
        }
    }
}

#[test]
fn counts_of_spaces_that_tiktoken_rs_cannot_take_are_those_of_the_definition() {
    // Its regex gives up on white space of this length. All but the last is one piece, where a letter follows.
    for encoding in Encoding::ALL {
        for length in [20_000, 20_011] {
            let spaces = " ".repeat(length);
            assert_eq!(count(encoding, &spaces), merged_by_the_book(encoding, &spaces));
            let followed = count(encoding, &format!("{spaces}b"));
            assert_eq!(followed, merged_by_the_book(encoding, &spaces[1..]) + merged_by_the_book(encoding, " b"));
        }
    }
}

#[test]
fn a_megabyte_of_anything_is_counted_whole() {
    for (name, text) in megabytes(1_000_000) {
        for encoding in Encoding::ALL {
            let tokens = count(encoding, &text);
            assert!(tokens > 0 && tokens <= text.len(), "{name}");
            let pieces = Exact::new(encoding).pieces(&text);
            assert_eq!(
                pieces.map(|(piece, tokens)| (piece.len(), tokens)).fold((0, 0), add),
                (text.len(), tokens),
                "{name}"
            );
        }
    }
}

fn add(one: (usize, usize), other: (usize, usize)) -> (usize, usize) {
    (one.0 + other.0, one.1 + other.1)
}

#[test]
fn a_limit_holds_inside_a_megabyte_of_anything() {
    for (name, text) in megabytes(300_000) {
        assert!(!text.is_empty(), "{name}");
        assert_limits(&text, &[0, 1, 10, 1_000, 10_000, text.len() / 128, text.len()]);
    }
}

#[test]
fn a_limit_stops_inside_one_huge_piece() {
    let (_, text) = megabytes(300_000).swap_remove(12);
    for encoding in Encoding::ALL {
        let whole = count(encoding, &text);
        let limit = whole / 20;
        let counted = Exact::new(encoding).count_until(&text, limit);
        assert!(counted > limit && counted < whole / 2, "{counted} of {whole}");
    }
}
