//! Results of a search, shortened.

#![allow(
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::unwrap_used,
    reason = "a helper of a test fails the test, and may be slow"
)]

mod support;

use proptest::prelude::*;
use support::cases;
use support::shrinking::{check_guarantees, saved, shrink};
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

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn guarantees(files in 1_usize..40, each in 1_usize..60) {
        check_guarantees("", &results(files, each), &[]);
    }
}
