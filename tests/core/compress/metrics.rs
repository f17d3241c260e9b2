//! Metrics and time series, shortened to statistics.

use crate::support::cases;
use crate::support::shrinking::{check_guarantees, saved, shrink};
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::compress::{Aim, ContentKind};

/// Prometheus's answer to a query over a range; each series jumps once.
fn range(series: usize, points: usize) -> Value {
    let one = |i: usize| {
        let point = |t: usize| {
            let value = if t == points / 2 { "9000.5".to_owned() } else { format!("{}.25", 10 + (t * 7 + i) % 5) };
            json!([1_772_000_000 + t * 60, value])
        };
        json!({ "metric": { "job": "web", "pod": format!("web-{i}") }, "values": (0..points).map(point).collect::<Vec<_>>() })
    };
    json!({ "status": "success", "data": { "resultType": "matrix", "result": (0..series).map(one).collect::<Vec<_>>() } })
}

fn exposition(families: usize, series: usize) -> String {
    let mut text = String::new();
    for family in 0..families {
        text += &["# HELP http_requests_", &family.to_string(), " Requests served.\n"].concat();
        text += &["# TYPE http_requests_", &family.to_string(), " counter\n"].concat();
        for i in 0..series {
            let labels = format!("{{path=\"/api/{i}\",code=\"{}\"}}", if i == 3 { "error" } else { "200" });
            text += &format!("http_requests_{family}{labels} {}\n", i * 37 % 1_000);
        }
    }
    text
}

#[test]
fn series_are_what_can_be_said_of_them() {
    let text = range(6, 200).to_string();
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Json);
    let value: Value = serde_json::from_str(&short.text).unwrap();
    assert_eq!(value["data"]["result"][1]["metric"]["pod"], "web-1");
    assert_eq!(
        value["data"]["result"][0]["values"],
        "... 200 points from 1772000000 to 1772011940: first 10.25, last 13.25, min 10.25 at 1772000000, \
         max 9000.5 at 1772006000, mean 57.2012, p50 12.25, p95 14.25, jumps from 13.25 to 9000.5 at 1772006000, \
         from 9000.5 to 12.25 at 1772006060"
    );
    assert!(saved(&text, &short.text) > 90.0);
    let plain = json!({ "a": (0..500).collect::<Vec<_>>(), "b": vec![[1.0, 2.0]; 50] }).to_string();
    let short = shrink("", &plain, Aim::Essence).unwrap().text;
    assert!(
        short.starts_with(
            r#"{"a":"... 500 numbers: first 0, last 499, min 0, max 499, mean 249.5, p50 249, p95 474","b":[[1.0,"#
        ),
        "{short}"
    );
}

#[test]
fn families_are_summed_up() {
    let text = exposition(20, 60);
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Metrics);
    for said in [
        "# http_requests_7 counter, 60 series: first 0, last 183, min 0, max 999, mean 474.833, p50 444, p95 961\n",
        "http_requests_7{path=\"/api/0\",code=\"200\"} 0\n",
        "http_requests_7{path=\"/api/3\",code=\"error\"} 111\n",
    ] {
        assert!(short.text.contains(said), "{said} is missing:\n{}", short.text);
    }
    assert!(saved(&text, &short.text) > 80.0);
}

#[test]
fn spans_say_what_took_long_and_what_failed() {
    let span = |i: usize| {
        json!({
            "span_id": format!("{:08x}", i * 2_654_435_761 % 4_294_967_296), "name": (["GET /", "query", "render"])[i % 3],
            "duration_ms": if i == 150 { 70.0 } else { 10.5 + f64::from(u32::try_from(i * 7 % 50).unwrap()) },
            "status": if i % 90 == 89 { "ERROR" } else { "OK" },
        })
    };
    let text = Value::from((0..400).map(span).collect::<Vec<_>>()).to_string();
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Records);
    for said in [
        "name: \"GET /\" (134), query (133), render (133)\n",
        "duration_ms: number, 10.5 to 70.0",
        "total ",
        " | 70.0 | OK\n",
        "status: OK (396), ERROR (4)\n",
    ] {
        assert!(short.text.contains(said), "{said} is missing:\n{}", short.text);
    }
    assert_eq!(short.text.matches("| ERROR\n").count(), 4);
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn guarantees(series in 1_usize..30, points in 1_usize..60) {
        check_guarantees("", &range(series, points).to_string(), &[]);
        check_guarantees("", &exposition(points, series), &[]);
    }

    #[test]
    fn any_numbers_are_no_matter(numbers in prop::collection::vec((any::<f64>(), any::<i64>()), 1..120)) {
        let numbers: Vec<Value> = numbers.into_iter().map(|(a, b)| json!([b, if a.is_finite() { json!(a) } else { json!("NaN") }])).collect();
        check_guarantees("", &json!({ "points": numbers, "code": 0 }).to_string(), &[]);
    }
}
