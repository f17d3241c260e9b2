//! Surveys of large results: every row counts, nothing is lost, and no JSON is too odd.

use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::compress::{Payload, PayloadKind, Whole};

fn payload(value: &Value) -> Payload {
    Payload::of(value.to_string()).unwrap()
}

fn survey(value: &Value) -> Value {
    serde_json::from_str(&payload(value).survey(None)).unwrap()
}

fn any_json() -> impl Strategy<Value = Value> {
    const KEYS: [&str; 24] = [
        "severity",
        "message",
        "timestamp",
        "span_id",
        "name",
        "startTime",
        "endTime",
        "duration_ms",
        "status",
        "points",
        "values",
        "value",
        "metric",
        "labels",
        "result",
        "rows",
        "spans",
        "scopeSpans",
        "stream",
        "attributes",
        "key",
        "error",
        "processes",
        "traceId",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        "2026-11-2[0-9]T09:00:0[0-9]Z".prop_map(Value::from),
        r#"[\[{]("a":[0-9])?[\]}]"#.prop_map(Value::from),
        r#"[\\"\u{0}-\u{1f}äß🦀]{0,6}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 160, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
            prop::collection::vec((prop::sample::select(&KEYS[..]), inner), 0..6)
                .prop_map(|members| members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_can_be_surveyed_as_any_kind_and_stored_whole(value in any_json()) {
        let payload = payload(&value);
        // Once read, a number is what it stays.
        let value: Value = serde_json::from_str(&value.to_string()).unwrap();
        for kind in PayloadKind::ALL.map(Some).into_iter().chain([None]) {
            let said: Value = serde_json::from_str(&payload.survey(kind)).unwrap();
            prop_assert!(PayloadKind::ALL.iter().any(|known| said["kind"] == known.name()));
            prop_assert_eq!(payload.survey(kind), payload.survey(kind));
        }
        prop_assert!(serde_json::from_str::<Value>(&payload.sample()).is_ok());
        prop_assert_eq!(&serde_json::from_str::<Value>(payload.json()).unwrap(), &value);
        let (stored, whole) = payload.to_store();
        if whole == Whole::Stored {
            prop_assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), value);
        }
    }
}

#[test]
fn each_row_is_a_line_of_what_is_stored() {
    let rows: Vec<Value> = (0..100).map(|i| json!({ "id": i, "name": "x" })).collect();
    let (stored, whole) = payload(&json!({ "ok": true, "result": rows })).to_store();
    assert_eq!(whole, Whole::Stored);
    assert_eq!(stored.lines().count(), 101);
    assert_eq!(stored.lines().nth(8), Some(r#"{"id":7,"name":"x"},"#));
}

#[test]
fn numbers_that_json_does_not_have_become_strings_and_texts_keep_them() {
    let payload = Payload::of(r#"{"NaN":[NaN,-Infinity,Infinity,-1.5,"NaN \" NaN"]}"#.to_owned()).unwrap();
    assert_eq!(payload.json(), r#"{"NaN":["NaN","-Infinity","Infinity",-1.5,"NaN \" NaN"]}"#);
    for broken in ["", "{", "[1,", "\"a", "nul", "[1]x"] {
        assert!(Payload::of(broken.to_owned()).is_none(), "{broken}");
    }
}

#[test]
fn a_frame_around_json_in_a_text_is_taken_off() {
    let rows: Vec<Value> = (0..60).map(|i| json!({ "severity": "ERROR", "message": format!("failed {i}") })).collect();
    let framed = json!({ "content": [{ "type": "text", "text": Value::from(rows.clone()).to_string() }] });
    assert_eq!(payload(&framed).kind(), PayloadKind::Logs);
    assert_eq!(payload(&framed).items(), 60);
    let (stored, whole) = payload(&framed).to_store();
    assert_eq!(whole, Whole::Framed);
    assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), Value::from(rows));
}

#[test]
fn keys_are_no_items() {
    let settings: Value = (0..200).map(|i| (format!("key {i}"), json!(i))).collect::<serde_json::Map<_, _>>().into();
    assert_eq!(payload(&settings).items(), 0);
    assert_eq!(payload(&json!({ "a": { "b": [1, 2, 3] }, "c": [1] })).items(), 3);
}

#[test]
fn the_pointer_leads_to_the_rows() {
    let value = json!({ "a/b": { "c~d": [{ "x": 1 }, { "x": 2 }, { "x": 3 }, { "x": 4 }] }, "e": 1 });
    let said = survey(&value);
    let pointer = said["shape"]["pointer"].as_str().unwrap();
    assert_eq!(value.pointer(pointer).unwrap().as_array().unwrap().len(), 4);
}

#[test]
fn spans_are_measured_in_milliseconds_whatever_says_how_long() {
    let forms = [
        json!({ "startTime": "2026-11-21T09:00:00.000Z", "endTime": "2026-11-21T09:00:00.250Z" }),
        json!({ "startTimeUnixNano": "1795600000000000000", "endTimeUnixNano": "1795600000250000000" }),
        json!({ "start": 1_795_600_000_000_u64, "end": 1_795_600_000_250_u64 }),
        json!({ "start_time": 1_795_600_000.0, "end_time": 1_795_600_000.25 }),
        json!({ "duration_ms": 250 }),
        json!({ "durationNanos": 250_000_000 }),
        json!({ "duration": "0.25s" }),
        json!({ "latency": "250ms" }),
    ];
    for form in forms {
        let mut span = json!({ "spanId": "a", "name": "GET /" });
        span.as_object_mut().unwrap().extend(form.as_object().unwrap().clone());
        let said = survey(&json!(vec![span; 5]));
        assert_eq!(said["kind"], "traces", "{form}");
        assert_eq!(said["duration_ms"]["max"], 250, "{form}");
    }
    let unknown = json!(vec![json!({ "spanId": "a", "name": "x", "duration": 7 }); 5]);
    assert_eq!(survey(&unknown)["duration"]["max"], 7, "no unit is made up");
}

/// Spans with what is given, of which a survey says how many failed and what the first says of it.
fn failures(more: &Value) -> (u64, Value) {
    let mut span = json!({ "spanId": "a", "name": "x", "duration_ms": 1 });
    span.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let said = survey(&json!(vec![span; 3]));
    (said["failures"].as_u64().unwrap(), said["failed"][0]["failed_by"].clone())
}

#[test]
fn a_span_fails_by_what_its_status_means_where_it_comes_from() {
    let failures = |status: &Value| failures(&json!({ "status": status })).0;
    for failed in [
        json!("ERROR"),
        json!("STATUS_CODE_ERROR"),
        json!("INTERNAL"),
        json!("DEADLINE_EXCEEDED"),
        json!("Failed"),
        json!(2),
        json!({ "code": 13 }),
        json!({ "code": "STATUS_CODE_ERROR" }),
        json!({ "statusCode": "Error" }),
        json!(503),
        json!("503"),
    ] {
        assert_eq!(failures(&failed), 3, "{failed}");
    }
    for fine in [
        json!("OK"),
        json!("Unset"),
        json!("NO_ERROR"),
        json!("UNKNOWN"),
        json!(0),
        json!(1),
        json!(200),
        json!(404),
        json!(17),
        json!({ "code": 0 }),
        json!({}),
        json!(["ERROR"]),
        json!(true),
        Value::Null,
    ] {
        assert_eq!(failures(&fine), 0, "{fine}");
    }
}

#[test]
fn a_span_fails_by_its_labels_whatever_they_are_called_and_says_which() {
    for (labels, by) in [
        (json!({ "labels": { "/http/status_code": "503" } }), json!({ "/http/status_code": "503" })),
        (json!({ "labels": { "error": "true" } }), json!({ "error": "true" })),
        (json!({ "labels": { "/error/message": "no route" } }), json!({ "/error/message": "no route" })),
        (json!({ "tags": [{ "key": "error", "type": "bool", "value": true }] }), json!({ "error": true })),
        (json!({ "tags": { "otel.status_code": "ERROR" } }), json!({ "otel.status_code": "ERROR" })),
        (
            json!({ "attributes": [{ "key": "http.response.status_code", "value": { "intValue": "500" } }] }),
            json!({ "http.response.status_code": "500" }),
        ),
        (json!({ "attributes": { "http.status_code": 502 } }), json!({ "http.status_code": 502 })),
        (json!({ "attributes": { "rpc.grpc.status_code": 14 } }), json!({ "rpc.grpc.status_code": 14 })),
        (json!({ "attributes": { "error.type": "timeout" } }), json!({ "error.type": "timeout" })),
        (
            json!({ "attributes": { "attributeMap": { "/error/name": { "stringValue": { "value": "Timeout" } } } } }),
            json!({ "/error/name": "Timeout" }),
        ),
        (json!({ "status": "OK", "labels": {}, "tags": [{ "key": "error", "value": 1 }] }), json!({ "error": 1 })),
    ] {
        assert_eq!(failures(&labels), (3, by), "{labels}");
    }
    for own in [json!({ "error": true }), json!({ "status.code": 2 }), json!({ "http.status_code": 500 })] {
        assert_eq!(failures(&own), (3, Value::Null), "{own}");
    }
    for fine in [
        json!({ "labels": { "/http/status_code": "404", "error": "false" } }),
        json!({ "labels": { "code": 500, "status": "error budget" } }),
        json!({ "tags": [{ "key": "error", "value": false }, { "key": "error" }, "error", null] }),
        json!({ "attributes": [{ "key": "http.status_code", "value": { "intValue": "200" } }] }),
        json!({ "attributes": { "error": "", "rpc.grpc.status_code": 1, "otel.status_code": "OK" } }),
        json!({ "labels": "error", "tags": null, "attributes": true }),
        json!({ "error": null, "is_error": false, "error_message": "none" }),
    ] {
        assert_eq!(failures(&fine).0, 0, "{fine}");
    }
}

#[test]
fn a_status_as_deep_as_it_gets_is_read() {
    let deep = format!("{}2{}", r#"{"code":"#.repeat(100_000), "}".repeat(100_000));
    let span = format!(r#"{{"spanId":"a","name":"x","status":{deep},"labels":{{"error":{deep}}}}}"#);
    let rows = format!("[{}]", [span.as_str(); 5].join(","));
    let said: Value = serde_json::from_str(&Payload::of(rows).unwrap().survey(None)).unwrap();
    assert_eq!(said["kind"], "traces");
}

fn many_spans(count: usize, trace: usize) -> Vec<Value> {
    let span = |i: usize| {
        json!({
            "spanID": format!("{trace}-{i}"),
            "operationName": "GET",
            "processID": format!("p{}", i % 2),
            "duration": 1 + i,
            "tags": [{ "key": "error", "value": i == 0 }],
        })
    };
    (0..count).map(span).collect()
}

/// The containers of groups of spans, in each of the forms in which they come.
fn forms(traces: &[Vec<Value>]) -> Vec<(&'static str, Value)> {
    let each = |of: &dyn Fn(usize, &Vec<Value>) -> Value| -> Value {
        traces.iter().enumerate().map(|(i, spans)| of(i, spans)).collect()
    };
    let attributes = |i: usize| json!([{ "key": "service.name", "value": { "stringValue": format!("s{}", i % 2) } }]);
    let service = |name: &str| json!({ "serviceName": name });
    vec![
        ("Cloud Trace", json!({ "traces": each(&|i, spans| json!({ "traceId": format!("t{i}"), "spans": spans })) })),
        (
            "Jaeger",
            json!({ "errors": null, "data": each(&|i, spans| json!({
                "traceID": format!("t{i}"), "spans": spans, "processes": { "p0": service("s0"), "p1": service("s1") },
            })) }),
        ),
        (
            "OTLP",
            json!({ "resourceSpans": each(&|i, spans| json!({
                "resource": { "attributes": attributes(i) },
                "scopeSpans": [{ "scope": {}, "spans": spans }, { "spans": [] }],
            })) }),
        ),
        (
            "Tempo, formerly",
            json!({ "batches": each(&|i, spans| json!({
                "resource": { "attributes": attributes(i) }, "instrumentationLibrarySpans": [{ "spans": spans }],
            })) }),
        ),
    ]
}

#[test]
fn spans_in_traces_and_resources_are_all_counted() {
    for sizes in [vec![40], vec![200, 3], vec![1, 1], vec![3; 30], vec![0, 5, 0, 5, 5, 400]] {
        let traces: Vec<_> = sizes.iter().enumerate().map(|(i, size)| many_spans(*size, i)).collect();
        let (all, failed) = (sizes.iter().sum::<usize>(), sizes.iter().filter(|size| **size > 0).count());
        for (form, value) in forms(&traces) {
            let said = survey(&value);
            assert_eq!(said["kind"], "traces", "{form} of {sizes:?}");
            assert_eq!((&said["spans"], &said["failures"]), (&json!(all), &json!(failed)), "{form} of {sizes:?}");
            assert_eq!(said["duration"]["count"], all, "{form} of {sizes:?}");
            let payload = payload(&value);
            assert!(payload.items() >= all, "{form} of {sizes:?}");
            let (stored, whole) = payload.to_store();
            assert_eq!((whole, serde_json::from_str(&stored).unwrap()), (Whole::Stored, value.clone()));
            assert_eq!(stored.lines().filter(|line| line.starts_with(r#"{"spanID""#)).count(), all);
            let pointed = value.pointer(said["shape"]["pointer"].as_str().unwrap()).unwrap();
            assert_eq!(said["shape"]["length"], pointed.as_array().unwrap().len(), "{form} of {sizes:?}");
        }
    }
}

#[test]
fn spans_have_the_trace_and_the_service_of_what_they_are_in() {
    let traces: Vec<_> = (0..10).map(|i| many_spans(6, i)).collect();
    for (form, value) in forms(&traces) {
        let said = survey(&value);
        if form != "Cloud Trace" {
            assert_eq!(said["services"], json!({ "s0": 30, "s1": 30 }), "{form}");
        }
        if ["Cloud Trace", "Jaeger"].contains(&form) {
            assert_eq!((&said["traces"], &said["failed"][3]["trace_id"]), (&json!(10), &json!("t3")), "{form}");
        }
    }
}

#[test]
fn a_span_that_holds_others_and_a_record_with_a_few_spans_are_no_groups() {
    let tree: Vec<_> =
        (0..20).map(|i| json!({ "spanId": i, "name": "x", "duration_ms": 1, "spans": many_spans(9, i) })).collect();
    assert_eq!(survey(&json!(tree))["spans"], 20);
    let record = json!({ "spans": many_spans(2, 0), "rows": many_spans(90, 1) });
    assert_eq!(survey(&record)["spans"], 90);
    let other = json!({ "spans": ["a", "b", "c"] });
    assert_eq!(survey(&other)["kind"], "other");
}

fn streams(count: usize, lines: usize) -> Value {
    let streams: Vec<Value> = (0..count)
        .map(|i| {
            let values: Vec<Value> = (0..lines)
                .map(|n| json!([format!("{}", 1_795_600_000_000_000_000_u64 + n as u64), format!("{n}")]))
                .collect();
            let level = if i % 2 == 0 { "error" } else { "info" };
            json!({ "stream": { "level": level, "app": format!("a{}", i % 3) }, "values": values })
        })
        .collect();
    let stats = json!({ "summary": { "note": "x".repeat(3_000) } });
    json!({ "status": "success", "data": { "resultType": "streams", "result": streams, "stats": stats } })
}

#[test]
fn lines_of_streams_are_entries_of_a_log_be_they_numbers() {
    for (count, lines) in [(1, 7), (2, 400), (12, 50)] {
        let said = survey(&streams(count, lines));
        let failed = count.div_ceil(2) * lines;
        assert_eq!(said["kind"], "logs");
        assert_eq!((&said["entries"], &said["failures"]), (&json!(count * lines), &json!(failed)));
        assert_eq!(said["severities"]["ERROR"], failed);
        assert_eq!(said["sources"]["a0"], count.div_ceil(3) * lines);
        assert_eq!(said["time"]["first"], "1795600000000000000");
    }
    let own = json!(["1", "disk full", { "detected_level": "error" }]);
    let said = survey(&json!([{ "stream": {}, "values": [own, ["2", "ok"]] }]));
    assert_eq!((&said["entries"], &said["failures"]), (&json!(2), &json!(1)));
    assert_eq!(said["patterns"][0]["example"], "disk full");
}

#[test]
fn a_series_is_told_in_the_order_of_its_times() {
    let points: Vec<Value> = (0..20)
        .rev()
        .map(|i| json!({ "interval": { "endTime": format!("2026-11-21T09:{i:02}:00Z") }, "value": { "doubleValue": i } }))
        .collect();
    let said = survey(&json!({ "timeSeries": [{ "metric": { "type": "cpu" }, "points": points }] }));
    let digest = said["by_series"][0]["points"].as_str().unwrap();
    assert!(
        digest.starts_with("20 points from 2026-11-21T09:00:00Z to 2026-11-21T09:19:00Z: first 0, last 19"),
        "{digest}"
    );
}

#[test]
fn a_survey_is_bounded_whatever_the_rows() {
    let wide: Value =
        (0..3_000).map(|i| (format!("field {i}"), json!("v".repeat(190)))).collect::<serde_json::Map<_, _>>().into();
    let rows = json!(vec![wide; 3]);
    assert!(payload(&rows).survey(None).len() < 40_000);
    let logs: Vec<Value> = (0..3_000)
        .map(|i| json!({ "level": "error", "message": format!("{} failed", "word ".repeat(i % 300)) }))
        .collect();
    assert!(payload(&json!(logs)).survey(None).len() < 20_000);
}

#[test]
fn lines_of_json_and_rows_that_are_lists_are_rows_too() {
    let lines: String =
        (0..60).map(|i| format!("{}\n", json!({ "level": "error", "message": format!("failed {i}") }))).collect();
    let payload = payload(&json!({ "result": lines }));
    assert_eq!((payload.kind(), payload.items()), (PayloadKind::Logs, 60));
    assert_eq!(payload.to_store().1, Whole::Framed);
    let rows: Vec<Value> = (0..60).map(|i| json!([i, format!("host-{}", i % 3), true])).collect();
    let said = survey(&json!({ "columns": ["id", "host", "up"], "rows": rows }));
    assert_eq!(said["fields"]["[0]"]["numbers"]["max"], 59);
    assert_eq!(said["fields"]["[1]"]["distinct"], 3);
}

#[test]
fn rows_are_what_all_of_their_fields_say() {
    let kind = |row: fn(usize) -> Value| payload(&(0..80).map(row).collect()).kind();
    assert_eq!(kind(|i| json!({ "trace_id": format!("t{i}"), "project_id": "p" })), PayloadKind::Traces);
    assert_eq!(kind(|i| json!({ "traceId": i, "message": "x" })), PayloadKind::Other);
    assert_eq!(kind(|i| json!({ "trace": format!("at line {i}"), "user": "u" })), PayloadKind::Other);
    assert_eq!(kind(|i| json!({ "id": i, "name": "n", "value": i, "owner": "o", "region": "eu" })), PayloadKind::Other);
    assert_eq!(
        kind(|i| json!({ "name": "cpu", "value": i, "unit": "%", "labels": { "pod": "a" } })),
        PayloadKind::Metrics
    );
    assert_eq!(kind(|i| json!({ "metric": "cpu", "value": i, "owner": "o" })), PayloadKind::Metrics);
}
