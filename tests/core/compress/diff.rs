//! Changes of files, shortened.

use crate::support::shrinking::{KIND, LEAST_BUDGET, check_guarantees, request, saved, shrink};
use crate::support::{cases, estimate, exact};
use proptest::prelude::*;
use ullage::compress::{Aim, ContentKind, compress, is_gap_line};

/// A hunk with `changed` lines replaced, among three unchanged ones on each side.
fn hunk(file: usize, number: usize, changed: usize) -> String {
    let start = number * 40 + 1;
    let context = |from: usize| {
        (from..from + 3).map(|n| format!("     let value_{n} = self.read_value({n}, &options)?;\n")).collect::<String>()
    };
    let lines = |sign: char, word: &str| {
        (0..changed)
            .map(|n| format!("{sign}    self.{word}_{file}_{number}(input[{n}], limit)?;\n"))
            .collect::<String>()
    };
    format!(
        "@@ -{start},{count} +{start},{count} @@ impl Reader for File{file} {{\n{}{}{}{}",
        context(start),
        lines('-', "parse"),
        lines('+', "parse_checked"),
        context(start + 10),
        count = 6 + changed
    )
}

fn diff(files: usize, hunks: usize, changed: usize) -> String {
    let file = |file: usize| {
        let path = format!("src/readers/reader_{file}.rs");
        let hunks: String = (0..hunks).map(|number| hunk(file, number, changed)).collect();
        format!("diff --git a/{path} b/{path}\nindex 0a1b2c3..4d5e6f7 100644\n--- a/{path}\n+++ b/{path}\n{hunks}")
    };
    (0..files).map(file).collect()
}

#[test]
fn unchanged_lines_go_first() {
    for changed in [1, 2, 3, 5, 8, 40] {
        let text = diff(40, 60 / (changed + 5), changed);
        let short = shrink("bash", &text, Aim::Essence).unwrap();
        assert_eq!(short.kind, ContentKind::Diff);
        assert!(saved(&text, &short.text) > 40.0, "{changed}: {} {}", saved(&text, &short.text), short.text);
        assert!(short.text.contains("diff src/readers/reader_39.rs (+"), "{}", short.text);
        assert!(short.text.contains("\n+    self.parse_checked_39_0(input[0], limit)?;\n"), "{}", short.text);
        assert!(!short.text.contains("read_value"), "{}", short.text);
    }
}

#[test]
fn every_file_is_named_at_a_small_budget() {
    let short = shrink("", &diff(20, 10, 3), Aim::Tokens(1_500)).unwrap();
    for file in 0..20 {
        assert!(short.text.contains(&format!("diff src/readers/reader_{file}.rs (+30 -30)\n")), "{}", short.text);
    }
    assert!(short.text.contains("+    self.parse_checked_0_0"), "{}", short.text);
}

/// A diff of headers only, of which the form of its own is longer than the whole.
#[test]
fn a_diff_without_changes_keeps_no_less_with_a_bigger_budget() {
    let text = "diff --git a/tests/compress_plain.rs b/tests/compress_plain.rs\nindex 53d0198..5f29725 100644\n\
                --- a/tests/compress_plain.rs\n+++ b/tests/compress_plain.rs\n@@ -1,6 +1,12 @@";
    for counter in [exact(), estimate()] {
        let mut before = String::new();
        for budget in LEAST_BUDGET..counter.count(text, KIND) {
            let short = compress(text, &request("", Aim::Tokens(budget)), &*counter).unwrap().text;
            for line in before.lines().filter(|line| !is_gap_line(line)) {
                assert!(short.contains(line), "{budget}: {line:?} is lost: {short}");
            }
            before = short;
        }
    }
}

#[test]
fn files_that_tools_write_are_counted() {
    let versions: String = (0..900).map(|n| format!("-version = \"1.{n}\"\n+version = \"2.{n}\"\n")).collect();
    let text = format!(
        "diff --git a/Cargo.lock b/Cargo.lock\nindex 1..2 100644\n--- a/Cargo.lock\n+++ b/Cargo.lock\n@@ -1,900 +1,900 @@\n{versions}\
         diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n\
         diff --git a/old.rs b/new.rs\nsimilarity index 98%\nrename from old.rs\nrename to new.rs\n\
         diff --git a/run b/run\nold mode 100644\nnew mode 100755\n\
         diff --git a/q.sql b/q.sql\nindex 1..2 100644\n--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- was a comment\n+++ is none\n  select 1\n"
    );
    let short = shrink("", &text, Aim::Essence).unwrap().text;
    for kept in [
        "diff Cargo.lock (+900 -900, written by tools)\ndiff",
        "Binary files a/logo.png and b/logo.png differ\n",
        "rename from old.rs\nrename to new.rs\n",
        "old mode 100644\nnew mode 100755\n",
        "diff q.sql (+1 -1)\n",
        "--- was a comment\n+++ is none\n",
    ] {
        assert!(short.contains(kept), "{kept} is lost: {short}");
    }
}

#[test]
fn a_plain_diff_and_a_log_of_commits_are_diffs_too() {
    let plain: String =
        (0..30).map(|n| format!("--- old/a{n}.c\t2026-01-01\n+++ new/a{n}.c\t2026-01-02\n{}", hunk(n, 1, 4))).collect();
    let log: String = (0..30)
        .map(|n| {
            format!(
                "commit {n:040}\nAuthor: Ann <ann@example.com>\nDate:   Mon\n\n    Check what is read {n}\n\n{}\n",
                diff(1, 2, n % 4 + 1)
            )
        })
        .collect();
    for (name, text, kept) in
        [("plain", &plain, "diff new/a29.c (+4 -4)\n"), ("log", &log, "    Check what is read 17\n")]
    {
        let short = shrink("", text, Aim::Essence).unwrap();
        assert_eq!(short.kind, ContentKind::Diff, "{name}");
        assert!(short.text.contains(kept), "{name}: {}", short.text);
        assert!(saved(text, &short.text) > 30.0, "{name}: {}", saved(text, &short.text));
    }
}

fn history(commits: usize, files: usize) -> String {
    let commit = |number: usize| {
        let author = if number % 10 == 9 { "Bob <bob@example.com>" } else { "Ann <ann@example.com>" };
        let counts: String =
            (0..files).map(|file| format!(" src/part_{file}/reader.rs | {} ++--\n", file * 7 % 50 + 1)).collect();
        format!(
            "commit {number:040x}\nAuthor: {author}\nDate:   Sat Nov 21 19:42:25 2026 +0000\n\n    Read part {number}\n\n    As it was \
             asked for by those who write it.\n\n{counts} {files} files changed, 33 insertions(+), 3 deletions(-)\n\n"
        )
    };
    (0..commits).map(commit).collect()
}

#[test]
fn a_history_with_counts_keeps_its_subjects() {
    let text = history(120, 8);
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Diff);
    for commit in 0..120 {
        assert!(short.text.contains(&format!("    Read part {commit}\n")), "{commit}: {}", short.text);
    }
    for kept in [
        "commit 000000000000, 8 files\n",
        "Author: Bob",
        " src/part_7/reader.rs | 50 ++--\n",
        " 8 files changed, 33 insertions",
    ] {
        assert!(short.text.contains(kept), "{kept} is lost: {}", short.text);
    }
    assert!(saved(&text, &short.text) > 40.0, "{}", saved(&text, &short.text));
    let counts =
        history(1, 300).lines().filter(|line| line.contains(" | ")).fold(String::new(), |all, line| all + line + "\n");
    assert_eq!(shrink("", &counts, Aim::Essence).unwrap().kind, ContentKind::Diff);
    let table: String = (0..200).map(|row| format!(" {row:4} | user{row} | {:6}\n", row * 7)).collect();
    assert_ne!(shrink("", &table, Aim::Tokens(200)).unwrap().kind, ContentKind::Diff);
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn guarantees(files in 1_usize..12, hunks in 1_usize..8, changed in 0_usize..30) {
        check_guarantees("", &diff(files, hunks, changed), &[]);
        check_guarantees("", &history(files * 4, hunks), &[]);
    }
}
