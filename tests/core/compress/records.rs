//! Records of JSON, as an array or a line each, shortened.

use crate::support::cases;
use crate::support::shrinking::{check_guarantees, saved, shrink};
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::compress::{Aim, ContentKind};

/// A list of records from a service: every `failing`-th record reports a failure.
fn records(count: usize, failing: usize) -> Vec<Value> {
    let record = |i: usize| {
        let error = if i % failing == failing - 1 { json!(failure(i)) } else { Value::Null };
        json!({
            "id": i, "name": format!("worker-{i}"), "region": "eu-west-1",
            "state": if i.is_multiple_of(7) { "idle" } else { "active" },
            "latency_ms": 100.5 + (i * 37 % 20) as f64,
            "created_at": format!("2026-03-{:02}T10:{:02}:00Z", i % 28 + 1, i % 60),
            "error": error, "owner": { "team": "core", "mail": format!("owner{i}@example.com") },
        })
    };
    (0..count).map(record).collect()
}

fn failure(record: usize) -> String {
    format!("connection refused by host-{record}.internal")
}

fn failures(count: usize, failing: usize) -> Vec<String> {
    (0..count).filter(|i| i % failing == failing - 1).map(failure).collect()
}

fn array(records: &[Value], indent: bool) -> String {
    if indent { serde_json::to_string_pretty(records) } else { serde_json::to_string(records) }.unwrap()
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

#[test]
fn keys_are_said_once_and_values_stay_as_they_are() {
    let mut all = records(500, 100);
    all[250]["latency_ms"] = serde_json::from_str("12345.50e2").unwrap();
    all[300]["state"] = json!("draining");
    let text = array(&all, false).replace("1234550.0", "12345.50e2");
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Records);
    for said in [
        "500 records: id | name | state | latency_ms | created_at | error | owner\n",
        "id: integer, 0 to 499\n",
        "region: eu-west-1 in all\n",
        "state: active (427), idle (72), draining (1)\n",
        "latency_ms: number, 100.5 to 12345.50e2, median 109.5, p95 119.5, total 1289440\n",
        "created_at: time, 2026-03-01T10:00:00Z to 2026-03-28T10:59:00Z\n",
        "\n0 | worker-0 | idle | 100.5 | 2026-03-01T10:00:00Z | null | {\"team\":\"core\",\"mail\":\"owner0@example.com\"}\n",
        "\n250 | worker-250 | active | 12345.50e2 | ",
        "\n300 | worker-300 | draining | ",
        "\n499 | worker-499 | ",
        "connection refused by host-399.internal",
        " records left out ...]\n",
    ] {
        assert!(short.text.contains(said), "{said} is missing:\n{}", short.text);
    }
    assert_eq!(short.text.matches("latency_ms").count(), 2);
}

#[test]
fn what_tells_a_failure_without_a_word_is_kept() {
    let mut all = records(200, 1_000);
    all[50]["state"] = json!(503);
    for (record, key, value) in
        [(60, "status", json!(502)), (70, "success", json!(false)), (80, "exit_code", json!(137))]
    {
        for record in &mut all {
            record[key] = if key == "success" { json!(true) } else { json!(0) };
        }
        all[record][key] = value;
    }
    // A count of errors in every record is a measure.
    all.iter_mut().enumerate().for_each(|(i, record)| record["errors"] = json!(i + 1));
    let short = shrink("", &array(&all, false), Aim::Tokens(900)).unwrap().text;
    for record in [60, 70, 80] {
        assert!(short.contains(&format!("\n{record} | worker-{record} |")), "{short}");
    }
    assert!(!short.contains("of them error"), "{short}");
}

#[test]
fn most_of_an_output_is_saved() {
    for count in [250, 700] {
        let all = records(count, 100);
        for text in [array(&all, false), array(&all, true), lines(&all)] {
            let short = shrink("", &text, Aim::Essence).unwrap();
            assert!(saved(&text, &short.text) > 85.0, "{} of {} bytes", short.text.len(), text.len());
        }
    }
}

#[test]
fn strings_that_could_be_mistaken_keep_their_quotes() {
    let record = |i: usize| json!({ "a": "5", "b": 5, "c": "x | y", "d": "", "e": "null", "f": null, "g": i });
    let mut all: Vec<Value> = (0..40).map(record).collect();
    for key in ["a", "b", "c", "d", "e", "f"] {
        all[20][key] = json!("other");
    }
    let short = shrink("", &array(&all, false), Aim::Essence).unwrap().text;
    assert!(short.contains("\n\"5\" | 5 | \"x | y\" | \"\" | \"null\" | null | 0\n"), "{short}");
}

#[test]
fn lines_between_records_stay() {
    let mut text = String::from("starting up\n");
    text.push_str(&lines(&records(100, 1_000)));
    text.push_str("\npanic: stopped\n");
    text.push_str(&lines(&records(100, 1_000)));
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::JsonLines);
    assert!(short.text.contains("starting up\n") && short.text.contains("panic: stopped\n"), "{}", short.text);
    check_guarantees("", &text, &["panic: stopped".to_owned()]);
}

#[test]
fn what_is_no_table_is_no_table() {
    let different: Vec<Value> = (0..200).map(|i| json!({ format!("key{i}"): i })).collect();
    let mixed = format!("{}, 5]", array(&records(50, 100), false).trim_end_matches(']'));
    for text in [array(&different, false), mixed, array(&records(3, 100), true)] {
        let short = shrink("", &text, Aim::Tokens(60));
        assert!(short.is_some_and(|short| short.kind == ContentKind::Json));
    }
    let broken = format!("{},", array(&records(50, 100), false).trim_end_matches(']'));
    assert_ne!(shrink("", &broken, Aim::Tokens(100)).unwrap().kind, ContentKind::Records);
}

#[test]
fn spans_without_a_duration_tell_how_long_they_took() {
    let nanos = |i: u64| {
        let start = 1_700_000_000_000_000_000_u64 + i * 1_000_003;
        let length = if i == 250 { 9_000_000_001 } else { 1_000 + i };
        json!({ "name": "query", "startTimeUnixNano": start.to_string(), "endTimeUnixNano": (start + length).to_string() })
    };
    let times = |i: u64| {
        let length = if i == 250 { 9 } else { 1 };
        json!({ "name": "query", "start_time": format!("2026-02-28T23:59:{:02}.250Z", i % 50), "end_time": format!("2026-02-28T23:59:{:02}.500Z", i % 50 + length) })
    };
    let short = |record: &dyn Fn(u64) -> Value| {
        let records: Vec<Value> = (0..500).map(record).collect();
        let short = shrink("", &Value::from(records).to_string(), Aim::Essence).unwrap();
        assert_eq!(short.kind, ContentKind::Records);
        short.text
    };
    let said = short(&nanos);
    assert!(
        said.contains(
            "endTimeUnixNano - startTimeUnixNano: 1000 to 9000000000, median 1249, p95 1475, total 9000620000\n"
        ),
        "{said}"
    );
    assert!(said.contains("1700000009250000751"), "the longest is shown: {said}");
    let said = short(&times);
    assert!(said.contains("end_time - start_time: 1.25 to 9.25, median 1.25, p95 1.25, total 633\n"), "{said}");
}

/// Without a budget too.
#[test]
fn records_that_fail_alike_are_counted_exactly() {
    let record = |i: usize| match i {
        1_500 => json!({ "id": i, "error": "disk full", "host": "a" }),
        _ => {
            json!({ "id": i, "error": format!("connection to 10.0.0.{} refused after {} s", i % 99, i % 30), "host": "b" })
        }
    };
    let records: Vec<Value> = (0..3_000).map(record).collect();
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    for text in [Value::from(records).to_string(), lines] {
        let short = shrink("", &text, Aim::Essence).unwrap();
        assert!(short.text.contains("disk full"), "{}", short.text);
        let counted: usize = short.left_out.iter().map(|left_out| left_out.failure_words).sum();
        let kept = short.text.matches(" refused after").count() + short.text.matches("| disk full").count();
        assert!(kept >= 10 && counted + kept == 3_000, "{kept} kept, {counted} counted: {}", short.text);
        assert!(saved(&text, &short.text) >= 97.0, "{:.1} % saved", saved(&text, &short.text));
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn guarantees(count in 1_usize..250, failing in 2_usize..60, indent: bool) {
        let all = records(count, failing);
        let failures = failures(count, failing);
        check_guarantees("", &array(&all, indent), &failures);
        check_guarantees("", &lines(&all), &failures);
    }
}
