//! Results of a search, shortened.

use crate::support::cases;
use crate::support::shrinking::{check_guarantees, saved, shrink};
use proptest::prelude::*;
use ullage::compress::{Aim, ContentKind};

fn results(files: usize, each: usize) -> String {
    let line = |file: usize, line: usize| {
        format!(
            "src/module_{file}/handlers/request.rs:{}:    let value_{line} = parse_request(&input[{line}])?;\n",
            line * 7
        )
    };
    (0..files).flat_map(|file| (0..each).map(move |number| line(file, number))).collect()
}

#[test]
fn files_are_named_once() {
    let text = results(20, 30);
    let short = shrink("grep", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Search);
    assert_eq!(short.text.matches("src/module_7/").count(), 1);
    assert!(
        short.text.contains("src/module_7/handlers/request.rs (30 matches)\n  0:    let value_0"),
        "{}",
        short.text
    );
    assert!(saved(&text, &short.text) > 40.0);
}

/// `rg --heading -C1`
fn headed(files: usize, each: usize) -> String {
    let line = |line: usize| {
        format!(
            "{}:    let value_{line} = parse_request(&input[{line}])?;\n{}-    // next\n--\n",
            line * 7 + 1,
            line * 7 + 2
        )
    };
    (0..files)
        .map(|file| format!("src/module_{file}/handlers/request.rs\n{}\n", (0..each).map(line).collect::<String>()))
        .collect()
}

#[test]
fn files_may_be_named_by_lines_of_their_own() {
    let text = headed(20, 15);
    let short = shrink("rg", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Search);
    for file in 0..20 {
        let kept = format!("src/module_{file}/handlers/request.rs (15 matches)\n  1:    let value_0");
        assert!(short.text.contains(&kept), "{}", short.text);
    }
    assert!(saved(&text, &short.text) > 40.0, "{}", saved(&text, &short.text));
    // A file with numbers in front of its lines is none.
    let file: String = (1..200).map(|line| format!("{line}: let a = {line};\n")).collect();
    assert_ne!(shrink("", &file, Aim::Tokens(200)).unwrap().kind, ContentKind::Search);
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn guarantees(files in 1_usize..40, each in 1_usize..60) {
        check_guarantees("", &results(files, each), &[]);
        check_guarantees("", &headed(files, each), &[]);
    }
}
