//! The plain ways of other systems: their numbers and their words.

use crate::support::generate::text;
use crate::support::{cases, engine, exact, small_policy};
use proptest::prelude::*;
use serde_json::{Value, json};
use ullage::compress::{Compressor, PlainContent};
use ullage::policy::Policy;
use ullage::store::{Storing, marked};

fn short(compressor: Compressor, text: &str) -> String {
    compressor.plain(text).unwrap().text
}

#[test]
fn cyber_autoagent_keeps_the_head_of_a_text() {
    assert_eq!(Compressor::CyberAutoagent.plain(&"é".repeat(9_999)), None);
    let text = format!("{}{}", "é".repeat(8_000), "b".repeat(2_000));
    let expected = format!("{}... [truncated from 10000 chars]", "é".repeat(8_000));
    assert_eq!(short(Compressor::CyberAutoagent, &text), expected);
}

#[test]
fn cyber_autoagent_samples_json() {
    let object: serde_json::Map<String, Value> =
        (0..200).map(|key| (format!("key{key}"), json!("v".repeat(150)))).collect();
    let text = Value::from(object).to_string();
    let plain = Compressor::CyberAutoagent.plain(&text).unwrap();
    assert_eq!(plain.content, PlainContent::Object(200));
    let (line, body) = plain.text.split_once('\n').unwrap();
    assert!(line.starts_with(&format!("[Compressed: {} → ", text.len())) && line.ends_with("200 keys, type: json]"));
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["key2"], json!(format!("{}...", "v".repeat(100))));
    assert!(body.get("key3").is_none() && body["_original_size"] == text.len() && body["_compressed"] == true);

    let list = json!((0..3_000).map(|id| json!({ "id": id })).collect::<Vec<_>>()).to_string();
    let plain = Compressor::CyberAutoagent.plain(&list).unwrap();
    let body: Value = serde_json::from_str(plain.text.split_once('\n').unwrap().1).unwrap();
    assert_eq!(body["_items"], json!([{ "id": 0 }, { "id": 1 }, { "id": 2 }]));
    assert_eq!(body["_n_original_items"], 3_000);
}

#[test]
fn supyagent_keeps_both_ends() {
    assert_eq!(Compressor::Supyagent.plain(&"x".repeat(2_000)), None);
    let text = format!("{}{}{}", "a".repeat(1_000), "b".repeat(501), "c".repeat(500));
    let expected = format!("{}\n...[truncated]...\n{}", "a".repeat(1_000), "c".repeat(500));
    assert_eq!(short(Compressor::Supyagent, &text), expected);
}

#[test]
fn amplifier_keeps_a_beginning_and_never_grows_a_text() {
    assert_eq!(Compressor::Amplifier.plain(&"x".repeat(260)), None);
    let expected = format!("[truncated: ~1,000 tokens - call tool again if needed] {}...", "x".repeat(250));
    assert_eq!(short(Compressor::Amplifier, &"x".repeat(4_000)), expected);
}

#[test]
fn sre_agent_guards_each_shape() {
    let guard = "\n\n... [TRUNCATED BY SRE AGENT SAFETY GUARD: Result too large for LLM context] ...";
    assert_eq!(Compressor::SreAgent.plain(&"x".repeat(200_000)), None);
    assert_eq!(short(Compressor::SreAgent, &"x".repeat(200_500)), format!("{}{guard}", "x".repeat(200_000)));

    let list: Vec<u32> = (0..501).collect();
    assert_eq!(Compressor::SreAgent.plain(&json!(list[..500]).to_string()), None);
    let long: Vec<String> = list.iter().map(|id| format!("{id:060}")).collect();
    let kept: Value = serde_json::from_str(&short(Compressor::SreAgent, &json!(long).to_string())).unwrap();
    assert_eq!((kept["result"].as_array().unwrap().len(), &kept["metadata"]["truncated_count"]), (500, &json!(1)));

    for large in [json!({ "a": "x".repeat(200_000) }), json!(vec!["x".repeat(100_000); 4])] {
        let kept: Value = serde_json::from_str(&short(Compressor::SreAgent, &large.to_string())).unwrap();
        assert_eq!(kept["truncated_preview"].as_str().unwrap().len(), 100_003);
        assert!(kept["message"].as_str().unwrap().contains("chars) exceeded safety limit"), "{}", kept["message"]);
    }
}

#[test]
fn sre_agent_samples_a_payload() {
    let rows =
        |count: usize| json!((0..count).map(|id| json!({ "id": id, "name": "n" })).collect::<Vec<_>>()).to_string();
    assert_eq!(Compressor::SreAgentPayload.plain(&rows(50)), None);
    let kept: Value = serde_json::from_str(&short(Compressor::SreAgentPayload, &rows(51))).unwrap();
    assert_eq!(kept["total_count"], 51);
    assert_eq!(kept["schema_hint"], json!({ "id": "number", "name": "string" }));
    assert_eq!(kept["sample_items"].as_array().unwrap().len(), 3);
}

#[test]
fn numbers_stay_as_they_were_written() {
    let list = format!("[{}]", vec!["123456789012345678901234567890.10"; 600].join(", "));
    assert!(short(Compressor::CyberAutoagent, &list).contains("[123456789012345678901234567890.10,"));
}

#[test]
fn an_engine_shrinks_the_way_its_policy_says() {
    let policy = Policy { compressor: Compressor::Supyagent, ..small_policy() };
    let engine = engine(&policy, &exact(), Storing::On);
    let result = json!("word ".repeat(2_000));
    let shrunk = engine.shrink_result("bash", &&result, 0, &[]).unwrap();
    let text = shrunk.result.as_ref().and_then(Value::as_str).unwrap();
    assert!(
        marked(text, Storing::On, &[]).is_some_and(|marked| marked.body.contains("\n...[truncated]...\n")),
        "{text}"
    );
    assert_eq!(shrunk.artifacts[0].1.as_bytes(), "word ".repeat(2_000).as_bytes());
    let small = json!("word ".repeat(390));
    assert_eq!(engine.shrink_result("bash", &&small, 0, &[]).unwrap().result, None, "its threshold is its own");
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn nothing_grows(text in text(9_000), times in 1_usize..40) {
        let text = text.repeat(times);
        for compressor in Compressor::ALL {
            if let Some(plain) = compressor.plain(&text) {
                prop_assert!(plain.text.len() < text.len());
                prop_assert_eq!(compressor.plain(&text), Some(plain), "twice");
            }
        }
    }
}
