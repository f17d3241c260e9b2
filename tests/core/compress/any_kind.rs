//! Shortening texts of any kind, and shrinking at arrival.

use crate::support::generate::text;
use crate::support::shrinking::{KIND, LEAST_BUDGET, check_guarantees};
use crate::support::{cases, engine, estimate, exact, small_policy};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::compress::{Aim, Request, compress};
use ullage::store::Storing;
use ullage::store::{marked, marked_reference};

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn any_text_is_shortened_as_promised(text in text(6_000)) {
        check_guarantees("", &text, &[]);
    }

    #[test]
    fn any_lines_are_shortened_as_promised(lines in vec(line(), 1..200)) {
        check_guarantees("", &lines.join("\n"), &[]);
    }

    #[test]
    fn a_text_within_the_budget_stays_whole(text in text(2_000)) {
        let aim = Aim::Tokens(4 * text.len() + 200);
        let short = compress(&text, &Request::of("", aim), &*exact());
        // Only text that a terminal would not show is lost.
        prop_assert!(short.is_none_or(|short| short.left_out.is_empty()), "{:?}", text);
    }
}

/// Lines of every sort, so that rooms meet what is not theirs.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,60}",
        "[a-z/]{1,12}\\.[a-z]{1,3}:[0-9]{1,3}:[ -~]{0,40}",
        "[+ @-][ -~]{0,40}",
        "\\{\"[a-z]{1,5}\": ?[0-9]{1,6}\\},?",
        "(test_|PASSED |ok |FAILED )[a-z_:.]{1,20}( PASSED| FAILED| ok)?",
        "(  |\t)*(File|at|def|fn|class|<p>|</div>) ?[a-z<>()\"]{0,30}:?",
        "[a-z0-9,;|\t ]{0,80}",
        "[-rwxd]{10} +[0-9] root root +[0-9]{1,7} Nov 21 18:00 [a-z.]{1,12}",
        Just("[... lines 3-9 left out, 2 of them errors ...]".to_owned()),
    ]
}

#[test]
fn texts_at_the_edges() {
    let wide = "語".repeat(500);
    for (name, text, budget) in [
        ("nothing", "", 0),
        ("one character", "x", 0),
        ("line ends only", &*"\n".repeat(5_000), 10),
        ("no line end", &"word ".repeat(1_000), 60),
        ("wide characters", &wide, 100),
        ("wide characters off the slices", &format!("x{wide}"), 100),
        ("a family of code points", &"👨\u{200d}👩\u{200d}👧".repeat(200), 100),
        ("special tokens", &"<|endoftext|>".repeat(400), 60),
        ("carriage returns", &"a\r\n\r\n".repeat(400), 60),
        ("zeros", &"\0".repeat(1_000), 30),
        ("one letter", &"x".repeat(1 << 20), 100),
        ("progress", &(0..9_999).map(|done| format!("\r{done} of 9,999")).collect::<String>(), 60),
    ] {
        for counter in [exact(), estimate()] {
            if let Some(short) = compress(text, &Request::of("", Aim::Tokens(budget)), &*counter) {
                assert!(short.text.len() < text.len(), "{name}");
                assert!(counter.count(&short.text, KIND) <= budget.max(LEAST_BUDGET), "{name}: {}", short.text);
            }
        }
    }
}

#[test]
fn the_end_of_a_text_is_kept_as_well_as_its_beginning() {
    let words = ["apple", "pear", "plum", "fig", "quince", "cherry", "grape", "lemon", "lime", "mango"];
    let text: String = (0..200).map(|line| format!("{} {}\n", words[line / 10 % 10], words[line % 10])).collect();
    let text = text.replacen("apple apple", "first line", 1) + "the last line\n";
    let short = compress(&text, &Request::of("", Aim::Tokens(80)), &*exact()).unwrap().text;
    assert!(short.starts_with("first line") && short.ends_with("the last line\n"), "{short}");
}

fn shrunk(result: &Value) -> Option<Value> {
    engine(&small_policy(), &exact(), Storing::On).shrink_result("bash", &result, 0, &[]).unwrap().result
}

#[test]
fn results_of_every_shape_are_shrunk_at_arrival() {
    let long = "all is well\n".repeat(500);
    let blob: Vec<Value> = (0..400).map(|row| json!({ "row": row })).collect();
    let image = json!({ "image": { "format": "png" } });
    for (name, result, text_at) in [
        ("a string", json!(long), ""),
        (
            "a block of Bedrock",
            json!({ "toolUseId": "a", "status": "success", "content": [image, { "text": long }] }),
            "/content/1/text",
        ),
        ("a JSON item", json!({ "toolUseId": "a", "content": [{ "json": { "rows": blob } }] }), "/content/0/text"),
        ("a block of Anthropic", json!({ "type": "tool_result", "tool_use_id": "a", "content": long }), "/content"),
        ("items", json!([{ "type": "text", "text": long, "cache_control": {} }]), "/0/text"),
        ("a value", json!({ "rows": blob }), "/result"),
        ("a text that a host has wrapped", json!({ "output": long }), "/output"),
        ("a list of values", json!(blob), ""),
        (
            "a wrapped block of Bedrock",
            json!({ "toolResult": { "toolUseId": "a", "content": [image, { "text": long }] } }),
            "/toolResult/content/1/text",
        ),
        ("blocks", json!([{ "type": "tool_result", "tool_use_id": "a", "content": long }]), "/0/content"),
        ("a message of Chat", json!({ "role": "tool", "tool_call_id": "a", "content": long }), "/content"),
        ("an item of Responses", json!({ "type": "function_call_output", "call_id": "a", "output": long }), "/output"),
        (
            "a response of Gemini",
            json!({ "functionResponse": { "name": "t", "response": { "result": long } } }),
            "/functionResponse/response/result",
        ),
        (
            "a map of Gemini",
            json!({ "functionResponse": { "name": "t", "response": { "rows": blob } } }),
            "/functionResponse/response/result",
        ),
        (
            "a result of the AI SDK",
            json!({ "type": "tool-result", "toolCallId": "a", "output": { "type": "json", "value": { "rows": blob } } }),
            "/output/value",
        ),
    ] {
        let after = shrunk(&result).unwrap_or_else(|| panic!("{name} stays"));
        let text = after.pointer(text_at).and_then(Value::as_str).unwrap_or_else(|| panic!("{name}: {after}"));
        if let Some(fields) = result.as_object().filter(|fields| !fields.contains_key("rows")) {
            assert!(fields.keys().eq(after.as_object().unwrap().keys()), "{name} has another shape: {after}");
        }
        assert!(marked(text, Storing::On, &[]).is_some() && exact().count(text, KIND) <= 120 + 96, "{name}: {text}");
        assert_eq!(shrunk(&after), None, "{name} is shrunk again");
    }
    for small in [json!("ok"), json!(null), json!(7), json!([]), json!({ "a": 1 }), json!([image, "ok"])] {
        assert_eq!(shrunk(&small), None);
    }
}

#[test]
fn what_has_grown_behind_a_mark_is_stored_too() {
    let long = "all is well\n".repeat(500);
    let shrunk_before = shrunk(&json!(long)).unwrap();
    let grown = json!([shrunk_before.as_str().unwrap(), &"and more of it\n".repeat(500)].concat());
    let engine = engine(&small_policy(), &exact(), Storing::On);
    let shrunk = engine.shrink_result("bash", &&grown, 0, &[]).unwrap();
    assert_eq!(shrunk.artifacts[0].1.as_bytes(), grown.as_str().unwrap().as_bytes());
}

#[test]
fn blocks_of_any_depth_are_taken() {
    let mut block = json!("x");
    for _ in 0..200 {
        block = json!({ "toolResult": { "toolUseId": "a", "content": [block] } });
    }
    assert_eq!(shrunk(&block), None);
}

#[test]
fn what_is_shrunk_is_to_be_stored_whole() {
    let engine = engine(&small_policy(), &exact(), Storing::On);
    let rows = json!({ "rows": (0..400).collect::<Vec<_>>() });
    let (one, two) = ("first\n".repeat(500), "second\n".repeat(500));
    let result = json!([{ "text": one }, { "text": "short" }, { "json": rows }, { "text": two }]);
    let shrunk = engine.shrink_result("Read File", &&result, 0, &[]).unwrap();
    let output = shrunk.result.unwrap();
    let contents: Vec<&[u8]> = shrunk.artifacts.iter().map(|(_, content)| content.as_bytes()).collect();
    assert_eq!(contents, [one.as_bytes(), rows.to_string().as_bytes(), two.as_bytes()]);
    for ((reference, _), item) in shrunk.artifacts.iter().zip([0, 2, 3]) {
        let text = output[item]["text"].as_str().unwrap();
        assert_eq!(marked_reference(text).as_ref(), Some(reference));
    }
    assert_eq!(output[1], result[1]);
    assert!(shrunk.saved > 1_000);
    assert_eq!(engine.stats().shrinks, 0, "nothing has entered a history yet");
    engine.record_shrink(shrunk.saved);
    assert_eq!((engine.stats().shrinks, engine.stats().saved["shrink"]), (1, shrunk.saved));
}
