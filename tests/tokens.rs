//! Exact counts against two independent oracles: tiktoken-rs for tokens, the published patterns for boundaries.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test")]

use std::sync::LazyLock;

use fancy_regex::Regex;
use proptest::prelude::*;
use tiktoken_rs::CoreBPE;
use ullage::tokens::{CountTokens, Encoding, Exact, TextKind};

const O200K_PATTERN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const CL100K_PATTERN: &str = concat!(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+",
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
);

/// What has tripped splitters and merges: every class of character beside every other, and what looks like syntax.
const NASTY: &[&str] = &[
    "",
    " ",
    "a",
    "\0",
    "\0\0\0",
    "'",
    "''s",
    "'S 'ſ 'LL 'Ve 'rE 'D 'l 'r 'v",
    "don't DON'T doN'ſ we'LL I'Ve they'rE he'D O'Reilly rock'n'roll",
    "fooBarBAZQuux HTTPServer iPhone XMLHttpRequest",
    "ǅungla ǅǅ Aǅa ǅA aǅ",
    "ʰʰA Aʰ Aʰʰ AʰB aʰB ʰ",
    "中文字A A中 a中B 中's",
    "\u{301}",
    "\u{301}A \u{301}\u{301} A\u{301}B a\u{301}B \u{301}AB\u{301}A !\u{301} \u{301}! \u{301}'s",
    " \u{301}A \u{301}ABC's",
    "1234567 ١٢٣٤ Ⅷ½x 1a2b ²³",
    "\u{212a}elvin \u{212b}ngstrom ſ",
    "a\u{a0}b\u{a0}\u{a0}c \u{85}x\u{85}\u{85} \u{2028}y\u{2028}\n",
    "a  b   c\t\td \t e",
    " \n \n  x",
    "x \r\n\r\n \r y\n",
    "trailing   ",
    "trailing \n  ",
    "trailing\n\n",
    "   ",
    "\n\n\n",
    "/// a/b\n/c //\n//\n x",
    "!!\r\n/\n/a ?!/ \n",
    "<|endoftext|> <|fim_prefix|><|im_start|>user<|endofprompt|>",
    "👨\u{200d}👩\u{200d}👧\u{200d}👦 🇩🇪 👍🏽",
    "{\"key\": [1, 2.5, null], \"a\\nb\": \"\\u00e9\"}",
    "https://example.org/a?b=c&d=%20#frag",
    "Привет, мир! שלום עולם مرحبا नमस्ते สวัสดี 한국어 こんにちは",
    "\u{feff}bom \u{200b}zero\u{ad}width",
    "𝒜𝒷𝟙 𐐀𐐨 \u{1f1e6}\u{10ffff}",
    "aGVsbG8gd29ybGQsIHRoaXMgaXMgYmFzZTY0IQ==",
];

/// Characters that the random texts are made of.
const ALPHABET: &[&str] = &[
    "a",
    "b",
    "s",
    "e",
    "l",
    "A",
    "B",
    "S",
    "T",
    "R",
    "E",
    "ǅ",
    "ʰ",
    "ª",
    "中",
    "文",
    "ß",
    "ſ",
    "\u{212a}",
    "é",
    "Ж",
    "ж",
    "\u{301}",
    "\u{20dd}",
    "\u{903}",
    "1",
    "2",
    "٣",
    "Ⅷ",
    "½",
    "'",
    "'s",
    "'LL",
    "'ve",
    "'ſ",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\u{a0}",
    "\u{85}",
    "\u{2028}",
    "\u{3000}",
    "/",
    "!",
    "-",
    ".",
    "_",
    "😀",
    "\u{200d}",
    "\u{fe0f}",
    "\u{10ffff}",
    "\0",
];

fn nasty_text() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(prop::sample::select(ALPHABET), 0..60);
    parts.prop_map(|parts| parts.concat())
}

/// Long pieces of few letters, where the windows of the merge meet.
fn long_word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]{1,600}",
        "[a-z]{100,900}",
        "[etaoin]{100,900}",
        "[=-]{100,500}",
        "[а-я]{50,300}",
        "[一-丕]{50,300}"
    ]
}

fn oracle(encoding: Encoding) -> &'static CoreBPE {
    match encoding {
        Encoding::O200kBase => tiktoken_rs::o200k_base_singleton(),
        Encoding::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
    }
}

fn published_pieces(encoding: Encoding, text: &str) -> Vec<&str> {
    static O200K: LazyLock<Regex> = LazyLock::new(|| Regex::new(O200K_PATTERN).unwrap());
    static CL100K: LazyLock<Regex> = LazyLock::new(|| Regex::new(CL100K_PATTERN).unwrap());
    let pattern = match encoding {
        Encoding::O200kBase => &O200K,
        Encoding::Cl100kBase => &CL100K,
    };
    (pattern.find_iter(text)).map(|found| found.unwrap().as_str()).collect()
}

fn count(encoding: Encoding, text: &str) -> usize {
    Exact::new(encoding).count(text, TextKind::Prose)
}

fn assert_exact(text: &str) {
    for encoding in Encoding::ALL {
        let name = encoding.name();
        let pieces: Vec<&str> = encoding.pieces(text).collect();
        assert_eq!(pieces, published_pieces(encoding, text), "{name}: {text:?}");
        assert_eq!(pieces.concat(), text, "{name}: {text:?}");
        let tokens = oracle(encoding).encode_ordinary(text).len();
        assert_eq!(count(encoding, text), tokens, "{name}: {text:?}");
        // The memo has it by now; the second answer must be the first.
        assert_eq!(count(encoding, text), tokens, "{name}, again: {text:?}");
        let by_piece: usize = Exact::new(encoding).pieces(text).map(|(_, tokens)| tokens).sum();
        assert_eq!(by_piece, tokens, "{name}, by piece: {text:?}");
    }
}

#[test]
fn counts_and_boundaries_equal_the_published_ones_on_nasty_text() {
    for text in NASTY {
        assert_exact(text);
    }
    for first in NASTY {
        for second in NASTY {
            assert_exact(&format!("{first}{second}"));
        }
    }
}

#[test]
fn counts_and_boundaries_equal_the_published_ones_on_every_two_characters_of_the_alphabet() {
    for first in ALPHABET {
        for second in ALPHABET {
            assert_exact(&format!("{first}{second}"));
            assert_exact(&format!("A{first}{second}B"));
        }
    }
}

#[test]
fn every_character_has_the_class_that_the_published_patterns_give_it() {
    // Each character stands where its class decides the boundaries: at the start, after a letter, in white space.
    let characters: Vec<char> = ('\0'..=char::MAX).collect();
    for group in characters.chunks(64) {
        let text: String = group.iter().flat_map(|&c| [c, 'a', c, 'A', c, ' ', c, '.', '\'', c, '1']).collect();
        for encoding in Encoding::ALL {
            let pieces: Vec<&str> = encoding.pieces(&text).collect();
            assert_eq!(pieces, published_pieces(encoding, &text));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn counts_and_boundaries_equal_the_published_ones_on_random_nasty_text(text in nasty_text()) {
        assert_exact(&text);
    }

    #[test]
    fn counts_and_boundaries_equal_the_published_ones_on_any_text(text in ".{0,80}") {
        assert_exact(&text);
    }

    #[test]
    fn fits_agrees_with_count(text in nasty_text(), limit in 0_usize..80) {
        for encoding in Encoding::ALL {
            let counter = Exact::new(encoding);
            let tokens = counter.count(&text, TextKind::Prose);
            for limit in [limit, tokens.saturating_sub(1), tokens, tokens + 1] {
                prop_assert_eq!(counter.fits(&text, TextKind::Prose, limit), tokens <= limit);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn counts_equal_the_published_ones_on_long_words(text in long_word()) {
        for encoding in Encoding::ALL {
            prop_assert_eq!(count(encoding, &text), oracle(encoding).encode_ordinary(&text).len());
        }
    }
}

#[test]
fn counts_equal_the_published_ones_on_long_runs() {
    // Long enough for many windows, short enough for the oracle's backtracking.
    for length in [127, 128, 129, 255, 256, 257, 1_000, 4_999] {
        for unit in
            ["a", "A", " ", "\n", "\t", "=", "-", "/", "ab", "中", "的", "é", "\u{301}", "0", "😀", "\r\n", " \n"]
        {
            let text = unit.repeat(length);
            for encoding in Encoding::ALL {
                let tokens = oracle(encoding).encode_ordinary(&text).len();
                assert_eq!(count(encoding, &text), tokens, "{}: {length} of {unit:?}", encoding.name());
            }
        }
    }
}

#[test]
fn no_run_is_too_long() {
    const LENGTH: usize = 100_000;
    let texts = [
        " ".repeat(LENGTH),
        "\n".repeat(LENGTH),
        "\r\n".repeat(LENGTH),
        " \n".repeat(LENGTH),
        "a".repeat(LENGTH),
        "A".repeat(LENGTH),
        "\u{301}A".repeat(LENGTH),
        "\u{301}".repeat(LENGTH),
        "中".repeat(LENGTH),
        "!/".repeat(LENGTH),
        "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo".repeat(LENGTH / 32),
        format!("a{}b", " ".repeat(LENGTH)),
        format!("{}'s", "A".repeat(LENGTH)),
    ];
    for text in &texts {
        for encoding in Encoding::ALL {
            let tokens = count(encoding, text);
            assert!(tokens > 0 && tokens <= text.len());
            assert_eq!(encoding.pieces(text).map(str::len).sum::<usize>(), text.len());
        }
    }
}

#[test]
fn text_of_special_tokens_is_ordinary() {
    for encoding in Encoding::ALL {
        for text in ["<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>"] {
            assert!(count(encoding, text) > 1, "{text} was read as one token");
        }
    }
}

#[test]
fn a_name_finds_its_encoding() {
    for encoding in Encoding::ALL {
        assert_eq!(Encoding::from_name(encoding.name()), Some(encoding));
    }
    assert_eq!(Encoding::from_name("p50k_base"), None);
}
