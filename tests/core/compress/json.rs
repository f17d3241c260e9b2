//! JSON that is no table, shortened.

use crate::support::cases;
use crate::support::shrinking::{check_guarantees, saved, shrink, tokens};
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use ullage::compress::{Aim, ContentKind};

/// Output of `kubectl get pods -o json`; every `failing`-th pod has failed.
fn pods(count: usize, failing: usize) -> Value {
    let pod = |i: usize| {
        let container = |j: usize| {
            let environment = |k: usize| json!({ "name": format!("KEY_{k}"), "value": format!("value {k}") });
            json!({
                "name": format!("c{j}"), "image": format!("registry.example.com/web:{i}"),
                "env": (0..8).map(environment).collect::<Vec<_>>(),
                "resources": { "limits": { "cpu": "500m", "memory": "1Gi" } },
            })
        };
        let phase = if i % failing == failing - 1 { failure(i) } else { "Running".to_owned() };
        json!({
            "kind": "Pod", "metadata": { "name": format!("web-{i}"), "namespace": "prod", "labels": { "app": "web", "rev": i } },
            "spec": { "containers": [container(0), container(1)], "nodeName": format!("node-{}", i % 5) },
            "status": { "phase": phase, "podIP": format!("10.0.0.{i}"), "conditions": [{ "type": "Ready", "status": "True" }] },
        })
    };
    json!({ "kind": "List", "items": (0..count).map(pod).collect::<Vec<_>>(), "metadata": {} })
}

fn failure(pod: usize) -> String {
    format!("Failed: pod {pod} was evicted")
}

fn failures(count: usize, failing: usize) -> Vec<String> {
    (0..count).filter(|i| i % failing == failing - 1).map(failure).collect()
}

/// A tree in which every value has `width` others down to `depth`.
fn even(depth: usize, width: usize) -> Value {
    match depth {
        0 => json!(width * 37 % 101),
        _ => (0..width)
            .map(|i| (format!("level{depth}_{i}"), even(depth - 1, width)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

#[test]
fn what_is_left_is_json_and_says_how_much_is_gone() {
    let text = serde_json::to_string_pretty(&pods(40, 18)).unwrap();
    let short = shrink("kubectl", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Json);
    let value: Value = serde_json::from_str(&short.text).unwrap();
    assert_eq!(value["items"][0]["spec"]["containers"][0]["resources"]["limits"]["memory"], "1Gi");
    for (pod, name) in [(17, "web-17"), (35, "web-35")] {
        let items = value["items"].as_array().unwrap();
        let failed = items.iter().find(|item| item["status"]["phase"] == failure(pod)).unwrap();
        assert_eq!(failed["metadata"]["name"], name, "a failure says where it is");
    }
    assert!(short.text.contains(" more items\""), "{}", short.text);
    assert_eq!(value["metadata"], json!({}));
}

#[test]
fn half_is_saved_of_every_tree() {
    for value in [pods(25, 9), pods(40, 100), even(6, 5), even(4, 9), json!({ "a": vec![[1.5, 2.25]; 9_000] })] {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let short = shrink("", &text, Aim::Essence).unwrap();
            assert!(saved(&text, &short.text) > 50.0, "{} of {}: {}", short.text.len(), text.len(), short.text);
            assert_eq!(shrink("", &short.text, Aim::Essence), None, "twice");
        }
    }
}

#[test]
fn numbers_and_duplicate_keys_stay_as_they_are() {
    let text = format!(
        r#"{{"a": 1.10, "a": 12345678901234567890123, "e": 1E+05, "s": "\u00e9\/\ud800", "long": [{}null]}}"#,
        "0.10, ".repeat(500)
    );
    let short = shrink("", &text, Aim::Tokens(120)).unwrap().text;
    assert!(
        short.starts_with(r#"{"a":1.10,"a":12345678901234567890123,"e":1E+05,"s":"\u00e9\/\ud800","long":[0.10,0.10,"#),
        "{short}"
    );
}

#[test]
fn long_strings_are_cut_between_characters() {
    for filler in ["\\\\", "\\ud83d\\ude00", "é", "\\u00e9x", "\\\"", "日本"] {
        for shift in 0..13 {
            let body = format!("{}{}", "x".repeat(shift), filler.repeat(400));
            let text = format!(r#"{{"out": "{body}, error: one {body}, error: two {body}", "code": 0}}"#);
            let short = shrink("", &text, Aim::Tokens(tokens(&text).min(900) - 1)).unwrap().text;
            let value: Value = serde_json::from_str(&short).unwrap_or_else(|error| panic!("{error}: {short}"));
            let out = value["out"].as_str().unwrap();
            assert!(out.contains("error: one") && out.contains("error: two") && out.contains(" more bytes"), "{short}");
        }
    }
}

#[test]
fn depth_costs_no_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"key\": ", "}]")] {
        let text = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        for aim in [Aim::Essence, Aim::Tokens(50), Aim::Tokens(5_000)] {
            let short = shrink("", &text, aim).unwrap();
            assert_eq!(short.kind, ContentKind::Json);
            serde_json::from_str::<IgnoredAny>(&short.text).unwrap();
        }
    }
}

#[test]
fn what_is_not_json_is_taken_by_another_room() {
    let good = pods(20, 100).to_string();
    for text in
        [&good[..good.len() - 1], &format!("{good}}}"), &good.replacen("1Gi", "1\nGi", 1), &good.replacen(':', "", 1)]
    {
        assert_ne!(shrink("", text, Aim::Tokens(200)).unwrap().kind, ContentKind::Json);
    }
}

#[test]
fn what_is_named_in_place_of_data_leaves_json() {
    let data = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0NTY3ODk".repeat(6);
    for before in ["", "\\n", "\\u00e9", "\\\\", "\\\\n", "\\/"] {
        let text = format!(r#"{{"image": "{before}{data}", "code": 0}}"#);
        let short = shrink("", &text, Aim::Tokens(100)).unwrap();
        let value: Value = serde_json::from_str(&short.text).unwrap_or_else(|error| panic!("{error}: {}", short.text));
        assert!(value["image"].as_str().unwrap().contains("base64"), "{}", short.text);
    }
}

/// Any JSON with words that report failures, and the texts of these.
fn trees() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zé\"\\\\ \n]{0,12}".prop_map(Value::from),
        (0_u32..1_000_000).prop_map(|i| json!(format!("error {i:06} in step"))),
        "[a-z ]{200,400}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 300, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,6}", inner), 0..12)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
    .prop_filter("a tree", |value| value.is_object() || value.is_array())
}

fn failures_in(text: &str) -> Vec<String> {
    text.match_indices("error ").map(|(at, _)| text[at..at + 12].to_owned()).collect()
}

/// Without a budget too.
#[test]
fn failures_that_are_alike_are_counted() {
    let job = |i: usize| match i {
        1_500 => ("job_1500".to_owned(), json!({ "error": { "message": "disk full" } })),
        _ => (
            format!("job_{i}"),
            json!({ "error": { "code": i, "message": format!("no answer after {i} s") }, "host": "b" }),
        ),
    };
    let text = json!({ "jobs": (0..3_000).map(job).collect::<serde_json::Map<_, _>>() }).to_string();
    let short = shrink("", &text, Aim::Essence).unwrap().text;
    assert!(short.contains("disk full") && short.contains("job_1500"), "{short}");
    let counted: usize = short
        .split(" of them ")
        .filter_map(|front| front.rsplit(' ').next()?.replace(',', "").parse::<usize>().ok())
        .sum();
    let kept = short.matches("\"error\":").count();
    assert!(kept > 10 && kept + counted == 3_000, "{kept} kept, {counted} counted: {short}");
    assert!(saved(&text, &short) >= 60.0, "{:.1} % saved", saved(&text, &short));
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn guarantees(value in trees(), indent: bool) {
        let text = if indent { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let failures = failures_in(&text);
        check_guarantees("", &text, &failures);
    }

    #[test]
    fn guarantees_of_lists(count in 1_usize..60, failing in 2_usize..40) {
        check_guarantees("", &pods(count, failing).to_string(), &failures(count, failing));
    }
}

#[test]
fn the_essence_of_spacious_json_is_json() {
    let row = |row: usize| json!({ "b": { "c": format!("x{row}"), "d": row } });
    let rows: Vec<Value> = (0..6).map(|place| json!({ "k0": row(place), "k1": row(place) })).collect();
    let text = serde_json::to_string_pretty(&json!({ "rows": rows, "m": { "z": { "y": 0 } } })).unwrap();
    let short = shrink("", &text.replace("  ", &" ".repeat(30)), Aim::Essence).unwrap();
    serde_json::from_str::<Value>(&short.text).expect(&short.text);
    assert_eq!(shrink("", &short.text, Aim::Essence), None);
}

#[test]
fn one_that_is_left_out_is_named_in_the_singular() {
    let text = json!({ "rows": (0..40).map(|row| json!({ "a": row, "b": [row] })).collect::<Vec<_>>() }).to_string();
    let cut: Vec<String> =
        (20..400).filter_map(|budget| shrink("", &text, Aim::Tokens(budget))).map(|short| short.text).collect();
    assert!(cut.iter().any(|short| short.contains("\"1 more key\"")), "{cut:?}");
    assert!(!cut.iter().any(|short| short.contains(" 1 more keys") || short.contains("\"1 more keys")));
}

#[test]
fn words_like_a_mark_do_not_keep_a_text_whole() {
    let text: String = (0..400).map(|row| format!("[{row}] took \"... a while, {row} more bytes\n")).collect();
    assert!(shrink("", &text, Aim::Essence).is_some());
}
