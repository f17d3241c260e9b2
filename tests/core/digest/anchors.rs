//! The words of a text that are anchors.

use proptest::prelude::*;
use ullage::anchors::{Anchor, AnchorKind, LONGEST_ANCHOR, anchors, strip_line_number};

/// The anchors of a text, as text.
fn found(text: &str) -> Vec<&str> {
    all(text).into_iter().map(|anchor| &text[anchor.range]).collect()
}

fn all(text: &str) -> Vec<Anchor> {
    let mut found = Vec::new();
    anchors(text, |anchor| found.push(anchor));
    found
}

fn kind(text: &str) -> Option<AnchorKind> {
    let found = all(text);
    assert!(found.iter().all(|anchor| anchor.range == (0..text.len())), "{text}: {found:?}");
    found.first().map(|anchor| anchor.kind)
}

#[test]
fn each_kind_is_known() {
    for (expected, words) in [
        (AnchorKind::Path, "src/lib.rs ./run ../up/x ~/notes /etc/hosts .github/workflows read-me.md src/wire /a.txt"),
        (AnchorKind::Dotted, "lib.rs os.path self.x v1.2 archive.tar.gz größe.wert"),
        (AnchorKind::Name, "read_file readFile ReadFile HTTPServer __init__ _private MAX_SIZE größe_neu straßeÄndern"),
        (AnchorKind::Id, "3f9a0b1 123e4567-e89b-12d3-a456-426614174000 0x7ffe12 HAT271 sha256 DEADBEEF01"),
        (AnchorKind::Number, "8080 3.14 1500ms 192.168.0.1 100 1_000 0.25s"),
    ] {
        for word in words.split(' ') {
            assert_eq!(kind(word), Some(expected), "{word}");
        }
    }
}

#[test]
fn words_and_small_numbers_are_none() {
    for text in [
        "",
        "The quick brown fox. It ran - again - to the end...",
        "ERROR FAILED Warning: fatal",
        "I/O w/o 1/2 24/7 </div> // ---- *** ___",
        "12 0.5 e.g. i.e. URLs GPUs 99% 3x utf8 a_b a.b 10ms",
        "well-known pre-commit --verbose",
        "变量 函数 größe straße",
        "deadbeef 0x 0x1 12T14 0o750 dT",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}

#[test]
fn what_stands_around_an_anchor_is_no_part_of_it() {
    for (text, expected) in [
        ("(see src/lib.rs:120).", &["src/lib.rs", "120"][..]),
        ("\"path\":\"/etc/hosts\",", &["/etc/hosts"]),
        ("foo_bar(readFile)->os.path.", &["foo_bar", "readFile", "os.path"]),
        ("https://example.com/a/b?id=12345", &["example.com/a/b", "12345"]),
        ("main..release_2", &["release_2"]),
        ("cd ~/notes/ && ls -l", &["~/notes"]),
        ("session-0a1b2c3 2026-11-21", &["0a1b2c3", "2026"]),
        ("read_file-3f9a0b12c4d5e6f7", &["read_file", "3f9a0b12c4d5e6f7"]),
        ("2026/11/21", &["2026"]),
        ("//github.com/x/y .../tail/end", &["github.com/x/y", "tail/end"]),
        ("\u{1b}[31mfoo_bar\u{1b}[0m", &["foo_bar"]),
        ("-I/usr/include", &["I/usr/include"]),
        ("src/lib.rs-120-foo_bar", &["src/lib.rs", "120", "foo_bar"]),
        ("lib.rs-9-\tfoo", &["lib.rs"]),
    ] {
        assert_eq!(found(text), expected, "{text}");
    }
}

#[test]
fn numbers_of_lines_are_none() {
    let text = "  1234→let a_b_c = 1;\n1235\tfoo_bar\n1236: os.path\n1237:\n  1238→\nat 1239: x";
    assert_eq!(found(text), ["a_b_c", "foo_bar", "os.path", "1239"]);
    // In a string of JSON too.
    assert_eq!(found(r#"{"content":"  1234→foo_bar\n  1235→readFile\n1236\tend"}"#), ["1234", "foo_bar", "readFile"]);
    // Times, ids and dates number no line.
    for text in ["1234:56:07", "12345678: x", "1234 x", "1234-x", "1234|x"] {
        assert_eq!(found(text).len(), 1, "{text}");
    }
}

#[test]
fn a_line_loses_its_number_and_nothing_else() {
    for (line, rest) in [
        ("  12→\tlet x", "\tlet x"),
        ("12:    let x", "    let x"),
        ("    12\tlet x", "let x"),
        ("12→", ""),
        ("12:34:56 done", "12:34:56 done"),
        ("let x", "let x"),
        ("  12", "  12"),
        ("→", "→"),
        ("", ""),
    ] {
        assert_eq!(strip_line_number(line), rest, "{line:?}");
    }
}

#[test]
fn what_is_escaped_in_json_parts_words() {
    let text = "foo_bar\n\treadFile \"os.path\" C:\\src/lib.rs";
    let written = serde_json::to_string(&[serde_json::to_string(text).unwrap()]).unwrap();
    assert_eq!(found(&written), found(text));
    assert_eq!(found(r"\u001b[31mfoo_bar \x1b[0m \\\\nreadFile"), ["foo_bar", "readFile"]);
}

#[test]
fn names_stand_alone_among_scripts_without_spaces() {
    assert_eq!(found("使用foo_bar函数来读取src/lib.rs文件"), ["foo_bar", "src/lib.rs"]);
    assert_eq!(found("“foo_bar” → readFile…"), ["foo_bar", "readFile"]);
    assert_eq!(found("naïve_name e\u{301}tat_neuf"), ["naïve_name", "e\u{301}tat_neuf"]);
}

#[test]
fn data_is_no_anchor() {
    let longest = ["a_".repeat(LONGEST_ANCHOR / 2), "a_".repeat(LONGEST_ANCHOR / 2 + 1)];
    assert_eq!([found(&longest[0]).len(), found(&longest[1]).len()], [1, 0]);
}

/// Texts of all that the rules look at, and anything.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("src/lib.rs".to_owned()),
        Just("\\n".to_owned()),
        Just("\n  12→".to_owned()),
        "[a-zA-Z0-9_./~\\\\ :\t\n-]{0,12}",
        "[é界Ä_.→\u{301}\u{1b}\\[0-9a-f]{0,6}",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn anchors_stand_in_order_and_between_characters(text in texts()) {
        let mut end = 0;
        for Anchor { range, .. } in all(&text) {
            prop_assert!(range.start >= end && range.end > range.start && range.len() <= LONGEST_ANCHOR);
            end = range.end;
            let anchor = text.get(range).expect("between characters");
            prop_assert!(!anchor.contains(|c: char| c.is_whitespace() || c == '"' || c == '\\'), "{anchor}");
        }
        prop_assert_eq!(all(&text), all(&text));
    }

    #[test]
    fn an_anchor_by_itself_is_the_same_anchor(text in texts()) {
        for Anchor { range, kind } in all(&text) {
            let anchor = &text[range];
            prop_assert_eq!(all(anchor), [Anchor { range: 0..anchor.len(), kind }], "{}", anchor);
        }
    }

    #[test]
    fn lines_have_the_anchors_of_their_text(text in "[a-z_./0-9→:\t\\\\ -]{0,20}(\n[ 0-9]{0,4}[→:\t]?[a-zA-Z_./]{0,12}){0,6}") {
        let lines: Vec<&str> = text.split('\n').flat_map(found).collect();
        prop_assert_eq!(lines, found(&text));
    }

    #[test]
    fn a_stripped_line_is_the_end_of_the_line(line in "[ ]{0,3}[0-9]{0,9}[→:\t]?.{0,8}") {
        prop_assert!(line.ends_with(strip_line_number(&line)));
    }
}
