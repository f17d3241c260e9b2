//! The head and the tail of a text, and shrinking at arrival.

#![allow(clippy::format_collect, clippy::unwrap_used, reason = "a helper of a test fails the test, and may be slow")]

mod support;

use proptest::prelude::*;
use serde_json::{Value, json};
use support::generate::{counter, text};
use support::{cases, engine, estimate, exact, small_policy};
use ullage::compress::head_and_tail;
use ullage::store::Storing;
use ullage::store::{marked, marked_reference};
use ullage::tokens::{CountTokens, TextKind};

const KIND: TextKind = TextKind::ToolOutput;

/// Bytes of the head and of the tail that are kept; everything if nothing is left out.
fn kept(text: &str, budget: usize, counter: &dyn CountTokens) -> (usize, usize) {
    let Some(short) = head_and_tail(text, budget, KIND, counter) else { return (text.len(), text.len()) };
    let gap = format!("[... {} characters left out ...]", ullage::numbers::thousands(short.left_out));
    let at = short.text.find(&gap).unwrap();
    let (head, tail) = (&short.text[..at], &short.text[at + gap.len()..]);
    // The line in between stands by itself; the line ends around it may be its own.
    let head = if text.starts_with(head) { head } else { head.strip_suffix('\n').unwrap() };
    let tail = tail.strip_prefix('\n').unwrap_or(tail);
    assert!(text.starts_with(head) && text.ends_with(tail));
    let left_out = text.chars().count() - head.chars().count() - tail.chars().count();
    assert_eq!(left_out, short.left_out);
    (head.len(), tail.len())
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn rule_7_a_bigger_budget_never_keeps_less_of_a_text(text in text(4_000), counter in counter()) {
        let (mut least_head, mut least_tail) = (0, 0);
        for budget in (0..800).step_by(23) {
            let (head, tail) = kept(&text, budget, &*counter);
            prop_assert!(head >= least_head, "head of {} after {} at {}", head, least_head, budget);
            prop_assert!(tail >= least_tail || head + tail >= text.len(), "tail of {} after {} at {}", tail, least_tail, budget);
            (least_head, least_tail) = (head, tail);
        }
    }

    #[test]
    fn what_is_kept_fits_the_budget(text in text(4_000), counter in counter(), budget in 0_usize..800) {
        let (head, tail) = kept(&text, budget, &*counter);
        if head < text.len() {
            let tokens = counter.count(&text[..head], KIND) + counter.count(&text[text.len() - tail..], KIND);
            prop_assert!(tokens <= budget, "{} tokens kept of {}", tokens, budget);
        }
    }

    #[test]
    fn a_text_within_the_budget_stays_whole(text in text(2_000)) {
        prop_assert!(head_and_tail(&text, 4 * text.len() + 8, KIND, &*exact()).is_none());
    }
}

#[test]
fn head_and_tail_at_the_edges() {
    let lines = "one\n".repeat(100);
    let wide = "語".repeat(500);
    for (name, text, budget, whole) in [
        ("nothing", "", 0, true),
        ("nothing of nothing", "", 10, true),
        ("one character", "x", 1, true),
        ("one character, no room", "x", 0, false),
        ("one wide character, no room", "語", 0, false),
        ("no room", &lines, 0, false),
        ("room for one token", &lines, 1, false),
        ("line ends only", &"\n".repeat(5_000), 10, false),
        ("no line end", &"word ".repeat(1_000), 30, false),
        ("wide characters", &wide, 100, false),
        ("wide characters off the slices", &format!("x{wide}"), 100, false),
        ("a family of code points", &"👨\u{200d}👩\u{200d}👧".repeat(200), 100, false),
        ("special tokens", &"<|endoftext|>".repeat(400), 60, false),
        ("carriage returns", &"a\r\n\r\n".repeat(400), 60, false),
        ("zeros", &"\0".repeat(1_000), 30, false),
    ] {
        for counter in [exact(), estimate()] {
            let (head, tail) = kept(text, budget, &*counter);
            assert_eq!(head + tail >= text.len() && head == text.len(), whole, "{name}: {head} and {tail}");
        }
    }
}

#[test]
fn the_end_of_a_text_is_kept_as_well_as_its_beginning() {
    let text: String = (1..=200).map(|line| format!("line {line}\n")).collect();
    let short = head_and_tail(&text, 20, KIND, &*exact()).unwrap();
    assert_eq!(short.text, "line 1\nline 2\nline 3\n[... 1,653 characters left out ...]\nline 199\nline 200\n");
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
    ] {
        let after = shrunk(&result).unwrap_or_else(|| panic!("{name} stays"));
        let text = after.pointer(text_at).and_then(Value::as_str).unwrap_or_else(|| panic!("{name}: {after}"));
        assert!(marked(text, Storing::On, &[]).is_some() && exact().count(text, KIND) <= 120 + 96, "{name}: {text}");
        assert_eq!(shrunk(&after), None, "{name} is shrunk again");
    }
    for small in [json!("ok"), json!(null), json!(7), json!([]), json!({ "a": 1 }), json!([image, "ok"])] {
        assert_eq!(shrunk(&small), None);
    }
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
