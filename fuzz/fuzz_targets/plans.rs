//! Any JSON, and any change of a real plan, as a plan: refused with the key that is wrong, or shown and replayed.

#![no_main]

use std::sync::LazyLock;

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use ullage::engine::{apply, check, content};
use ullage::error::Error;
use ullage::planner::{Plan, Urgency};
use ullage::policy::{Policy, StageName};
use ullage::store::Storing;
use ullage::wire::Format;

#[path = "../../tests/core/support/mod.rs"]
mod support;

use support::{Message, ask, engine, exact, render, small_policy};

/// A plan that stores, shortens and removes, and its messages.
static PLAN: LazyLock<(Value, Value)> = LazyLock::new(|| {
    let mut messages = vec![Message::text("user", "Read all of it.")];
    for step in 0..8 {
        let id = format!("t-{step}");
        messages.push(Message::call(&id, "read_file"));
        messages.push(Message::result(&id, &format!("{step} of many words ").repeat(200)));
    }
    let messages = render(&messages, Format::Bedrock);
    let policy = Policy { stages: vec![StageName::Offload, StageName::Window], ..small_policy() };
    let engine = engine(&policy, &exact(), Storing::On);
    let reading = engine.read(&&messages, Some(Format::Bedrock), &[]).expect("these are messages");
    let plan = engine.plan(&reading, ask(900, Urgency::Hard)).expect("it fits");
    (plan.to_json(), messages)
});

fuzz_target!(|bytes: &[u8]| {
    let (real, messages) = &*PLAN;
    let data = match bytes.first() {
        Some(b'{') => match serde_json::from_slice(bytes) {
            Ok(data) => data,
            Err(_) => return,
        },
        _ => {
            let mut data = real.clone();
            let mut bytes = Unstructured::new(bytes);
            while !bytes.is_empty() {
                change(&mut data["replay"], &mut bytes);
            }
            data
        }
    };
    match Plan::from_json(&data) {
        Err(error) => assert!(matches!(error, Error::Policy { .. }), "{error}"),
        Ok(plan) => {
            let _ = (plan.report(), plan.explain());
            assert_eq!(Plan::from_json(&plan.to_json()).as_ref(), Ok(&plan));
            let Ok(conversation) = check(&plan, &messages) else { return };
            for artifact in &plan.artifacts {
                let _ = content(&plan, &conversation, &artifact.source, &messages);
            }
            let _ = apply(&plan, &messages);
        }
    }
});

/// Puts another value somewhere into this one.
fn change(value: &mut Value, bytes: &mut Unstructured<'_>) {
    let goes_in = bytes.ratio(7, 8).unwrap_or_default();
    let length = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    let at = bytes.choose_index(length.max(1)).unwrap_or_default();
    match value {
        Value::Array(items) if goes_in && at < items.len() => change(&mut items[at], bytes),
        Value::Array(items) if at < items.len() => {
            let item = items.remove(at);
            let times = bytes.int_in_range(0..=2).unwrap_or_default();
            items.extend(std::iter::repeat_n(item, times));
        }
        Value::Object(fields) if at < fields.len() => {
            change(fields.values_mut().nth(at).expect("OK because there are so many"), bytes);
        }
        leaf => {
            *leaf = match bytes.int_in_range(0_u8..=9).unwrap_or_default() {
                0 => Value::Null,
                1 => json!([]),
                2 => json!({}),
                3 => json!(u64::MAX),
                4 => json!(-1),
                5 => json!(0.5),
                6 => json!(bytes.arbitrary::<&str>().unwrap_or_default()),
                _ => json!(bytes.int_in_range(0_u16..=4_000).unwrap_or_default()),
            }
        }
    }
}
