//! Tables of text, shortened.

use crate::support::cases;
use crate::support::shrinking::{check_guarantees, saved, shrink};
use proptest::prelude::*;
use ullage::compress::{Aim, ContentKind};

fn csv(rows: usize, separator: char, failing: usize) -> String {
    let row = |i: usize| {
        let state = if i % failing == failing - 1 { failure(i) } else { "shipped".to_owned() };
        let amount = if i == 77 { 99_999 } else { 100 + i * 37 % 50 };
        [i.to_string(), format!("\"Customer {i}, Ltd\""), amount.to_string(), state, "EUR".to_owned()]
            .join(&separator.to_string())
    };
    let header = ["id", "name", "amount", "state", "currency"].join(&separator.to_string());
    (0..rows).map(row).fold(header, |text, row| text + "\n" + &row) + "\n"
}

fn failure(row: usize) -> String {
    format!("failed at step {row}")
}

fn failures(rows: usize, failing: usize) -> Vec<String> {
    (0..rows).filter(|i| i % failing == failing - 1).map(failure).collect()
}

fn pods(rows: usize) -> String {
    let mut text = format!("{:<24}{:<8}{:<20}{:<10}AGE\n", "NAME", "READY", "STATUS", "RESTARTS");
    for i in 0..rows {
        let state = if i % 50 == 49 { "CrashLoopBackOff" } else { "Running" };
        text += &format!("{:<24}{:<8}{state:<20}{:<10}{}d\n", format!("web-{i:05}-abcde"), "1/1", i % 3, i % 40);
    }
    text
}

#[test]
fn a_row_that_stands_out_is_kept_with_the_header() {
    for separator in [',', '\t', ';'] {
        let text = csv(1_500, separator, 400);
        let short = shrink("", &text, Aim::Essence).unwrap();
        assert_eq!(short.kind, ContentKind::Table, "{separator}");
        let lines: Vec<&str> = text.lines().collect();
        for line in [0, 1, 78, 400, 800, 1_500] {
            assert!(short.text.contains(&format!("{}\n", lines[line])), "{line}: {}", short.text);
        }
        assert!(short.text.contains("amount: integer, 100 to 99999, median 124, p95 147\n"), "{}", short.text);
        assert!(short.text.contains("currency: EUR in all\n"), "{}", short.text);
        assert!(saved(&text, &short.text) > 90.0);
        let least = shrink("", &text, Aim::Tokens(60)).unwrap().text;
        assert!(least.contains(lines[0]), "{least}");
    }
}

#[test]
fn columns_in_line_are_a_table() {
    let text = pods(800);
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Table);
    assert_eq!(short.text.matches("CrashLoopBackOff").count() - 1, 16, "{}", short.text);
    assert!(short.text.contains("STATUS: Running (784), CrashLoopBackOff (16)\n"), "{}", short.text);
    assert!(saved(&text, &short.text) > 85.0);
    for table in [
        "Filesystem     1K-blocks     Used Available Use% Mounted on\n".to_owned()
            + &"/dev/sda1       41152736 12345678  28790674  31% /data\n".repeat(60),
        "USER       PID %CPU COMMAND\n".to_owned()
            + &"root      1234  0.5 /usr/bin/python3 -m worker --queue a\n".repeat(60),
        "| name | size |\n|------|------|\n".to_owned() + &"| some file | 12 |\n".repeat(60),
    ] {
        let short = shrink("", &table, Aim::Tokens(150)).unwrap();
        assert_eq!(short.kind, ContentKind::Table, "{table}");
        assert!(short.text.contains(table.lines().next().unwrap()), "{}", short.text);
    }
}

#[test]
fn a_quoted_cell_may_have_lines() {
    let mut text = csv(300, ',', 1_000);
    text = text.replace("\"Customer 2, Ltd\"", "\"Customer\n2, \"\"Ltd\"\"\"");
    let short = shrink("", &text, Aim::Essence).unwrap().text;
    assert!(short.contains("2,\"Customer\n2, \"\"Ltd\"\"\",124,shipped,EUR\n"), "{short}");
}

#[test]
fn wide_rows_are_a_table_too() {
    let row = |i: usize| (0..60).map(|column| format!("cell{}", column * i)).collect::<Vec<_>>().join(",") + "\n";
    let text: String = (1..200).map(row).collect();
    assert_eq!(shrink("", &text, Aim::Essence).unwrap().kind, ContentKind::Table);
}

#[test]
fn prose_is_no_table() {
    let text = "It was, as ever, late.\nNobody spoke, not even he, for a while.\nThen it rained.\n".repeat(40);
    assert_ne!(shrink("", &text, Aim::Tokens(60)).unwrap().kind, ContentKind::Table);
}

#[test]
fn a_failure_in_a_line_of_a_cell_is_whole() {
    let note = |i: usize| {
        let words = "one of many words that were said about it ".repeat(9);
        if i == 40 {
            format!("{words}\n{}\n{words}", &words[..words.len() - 4]) + "\nfatal: no such branch qq7\n" + &words
        } else {
            words
        }
    };
    let rows: String = (0..90).map(|i| format!("{i},Ann,\"{}\",EUR\n", note(i))).collect();
    for pad in (0..160).step_by(5) {
        let text =
            format!("id,name,note,currency\n{}", rows.replace("\nfatal", &format!("{}\nfatal", "x".repeat(pad))));
        let short = shrink("", &text, Aim::Tokens(400)).unwrap();
        assert_eq!(short.kind, ContentKind::Table);
        assert!(short.text.contains("fatal: no such branch qq7\n"), "{}", short.text);
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn guarantees(rows in 1_usize..300, failing in 2_usize..60) {
        check_guarantees("", &csv(rows, ',', failing), &failures(rows, failing));
        check_guarantees("", &pods(rows), &[]);
    }

    #[test]
    fn broken_quotes_are_no_matter(text in "([a-c\",\n]{0,9},x,y\n){1,80}") {
        check_guarantees("", &text, &[]);
    }
}

#[test]
fn a_text_that_begins_with_much_empty_space_is_read() {
    let text = "\n".repeat(20_000) + &"1,2,three\n".repeat(300);
    assert!(shrink("", &text, Aim::Essence).is_some());
}

#[test]
fn a_cell_that_is_no_number_is_no_extreme() {
    let rows: String =
        (1..200).map(|row| format!("{row},{}\n", if row == 1 { "NaN".to_owned() } else { row.to_string() })).collect();
    let short = shrink("", &format!("id,load,host\n{}", rows.replace('\n', ",a\n")), Aim::Essence).unwrap();
    assert!(short.text.contains("load: integer, 2 to 199"), "{}", short.text);
}
