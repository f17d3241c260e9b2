//! Exact counts against independent oracles: tiktoken-rs for tokens, the published patterns for boundaries, a merge by the
//! book for each piece.

use crate::support::published::{assert_exact, count, published_pieces};
use proptest::prelude::*;
use ullage::tokens::Encoding;

/// Texts that have broken splitters and merges: every class of character beside every other, and text like syntax.
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

/// Characters of the random texts: every class, at the edges of the tables, and text like syntax.
#[rustfmt::skip]
const ALPHABET: &[&str] = &[
    // Letters: small, capital, titlecase, modifiers, without case, and those that are others without regard to case.
    "a", "b", "s", "e", "l", "A", "B", "S", "T", "R", "E", "ǅ", "ʰ", "ª", "ß", "ſ", "\u{212a}", "é", "É", "ơ", "ế",
    "Ж", "ж", "中", "文", "か", "カ", "ー", "가", "각", "ש", "ا", "ب", "ก", "ร", "क", "ष", "𝒜", "𐐨",
    // Marks of each kind.
    "\u{301}", "\u{20dd}", "\u{903}", "\u{345}", "\u{64e}", "\u{e33}", "\u{94d}", "\u{93f}", "\u{fe0f}",
    // Numbers.
    "1", "2", "3", "٣", "Ⅷ", "½", "²",
    // Apostrophes.
    "'", "'s", "'LL", "'ve", "'ſ", "’s",
    // White space.
    " ", " ", "  ", "    ", "\t", "\n", "\r", "\r\n", "\n\n", "\u{b}", "\u{a0}", "\u{85}", "\u{2028}", "\u{3000}",
    // Others.
    "/", "//", "!", "-", ".", "_", "—", "“", "。", "─", "😀", "\u{200d}", "\u{ad}", "\u{10ffff}", "\0", "\u{7f}",
    "<|endoftext|>",
];

fn nasty_text() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(prop::sample::select(ALPHABET), 0..60);
    parts.prop_map(|parts| parts.concat())
}

/// Text of one or two scripts, where a word goes on in the next window, and no boundary is far.
fn words_of_one_script() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-zA-Z]{1,14}",
        "[à-ÿÀ-ÝĀ-ž]{1,9}",
        "[Ѐ-ӿ]{1,12}",
        "[Ͱ-Ͽἀ-῾]{1,12}",
        "[\u{590}-\u{6ff}]{1,12}",
        "[\u{900}-\u{d7f}]{1,12}",
        "[\u{e00}-\u{eff}]{1,20}",
        "[\u{1e00}-\u{1eff}a-z]{1,9}",
        "[\u{2010}-\u{2040}]{1,3}",
        "[ぁ-ヿ一-鿿]{1,12}",
        "[가-힣]{1,6}",
        "[0-9٠-٩]{1,9}",
    ];
    let gap = prop::sample::select(&["", " ", " ", " ", ", ", "\n", "\n\n  ", "'", "/", "-", "\u{a0}"]);
    prop::collection::vec((word, gap), 0..24)
        .prop_map(|words| words.into_iter().map(|(word, gap)| word + gap).collect())
}

/// Sentences without spaces, where a piece is cut into words and characters: real neighbours and chance ones, letters of
/// other scripts, and characters that are no token.
fn sentences() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        8 => prop::sample::select(&["的", "中国", "我们", "是一", "こと", "です", "する", "ます", "カード", "ประเทศ", "การ", "ที่"]).prop_map(str::to_owned),
        4 => "[一-丕的中国人大]{1,3}",
        4 => "[ぁ-んァ-ヶー]{1,4}",
        2 => "[ก-ฮะ-ูเ-์]{1,6}",
        1 => "[가-각한국어]{1,4}",
        1 => "[㐀-㐐龐-龥豈-豐]{1,2}",
        1 => "[a-z]{1,8}",
        1 => "[à-ÿж]{1,2}",
        1 => "[𠀀-𠀐😀👍]",
        1 => "[、。・，“]",
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
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
    // From plane 4 on, all are unassigned or for private use but for a few in plane 14: of the others, a sample will do.
    let sampled = ('\u{40000}'..='\u{dffff}').chain('\u{f0000}'..=char::MAX).step_by(101);
    let characters: Vec<char> = ('\0'..='\u{3ffff}').chain('\u{e0000}'..='\u{effff}').chain(sampled).collect();
    for group in characters.chunks(64) {
        let text: String = group.iter().flat_map(|&c| [c, 'a', c, 'A', c, ' ', c, '.', '\'', c, '1']).collect();
        for encoding in Encoding::ALL {
            let pieces: Vec<&str> = encoding.pieces(&text).collect();
            assert_eq!(pieces, published_pieces(encoding, &text));
        }
    }
}

proptest! {
    #![proptest_config(crate::support::cases(2_000))]

    #[test]
    fn counts_and_boundaries_equal_the_published_ones_on_random_nasty_text(text in nasty_text()) {
        assert_exact(&text);
    }

    #[test]
    fn counts_and_boundaries_equal_the_published_ones_on_words_of_every_script(text in words_of_one_script()) {
        assert_exact(&text);
    }

    #[test]
    fn counts_and_boundaries_equal_the_published_ones_on_sentences_without_spaces(text in sentences()) {
        assert_exact(&text);
    }

    #[test]
    fn counts_and_boundaries_equal_the_published_ones_on_any_text(text in ".{0,80}") {
        assert_exact(&text);
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
